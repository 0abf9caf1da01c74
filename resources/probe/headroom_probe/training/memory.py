# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts tensors: bytes of storages, each rounded up to the 512 bytes of the caching allocator's blocks, views once."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch.utils._pytree import tree_flatten


def round512(size: int) -> int:
    return -(-size // 512) * 512


def local(tensor):
    """What of a DTensor lies on this rank."""
    return getattr(tensor, "_local_tensor", tensor)


def storages(tensors: Iterable, device: str = "cuda") -> dict[int, int]:
    """Each storage on the device, with its bytes."""
    found = {}
    for tensor in tensors:
        tensor = local(tensor)
        if isinstance(tensor, torch.Tensor) and tensor.device.type == device:
            storage = tensor.untyped_storage()
            if storage.nbytes():
                found[storage._cdata] = round512(storage.nbytes())
    return found


def state_tensors(optimizers: Iterable) -> list:
    return [
        tensor
        for optimizer in optimizers
        for state in optimizer.state.values()
        for tensor in tree_flatten(state)[0]
        if isinstance(tensor, torch.Tensor)
    ]


def gradients(model) -> list:
    return [p.grad for p in model.parameters() if p.grad is not None]


def original_elements(parameter) -> int:
    """Elements of the weight that a quantised parameter stands for."""
    return getattr(parameter, "original_elements", parameter.numel())
