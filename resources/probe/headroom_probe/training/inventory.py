# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a training state is weights, gradients and optimizer state, counted tensor by tensor."""

from __future__ import annotations

from ..plan import Plan
from .memory import gradients, state_tensors, storages


def weight_tensors(plan: Plan, model) -> list:
    found = [*model.parameters(), *model.buffers()]
    if plan["method.kind"] == "qlora":
        from . import quantization

        found += quantization.state_tensors(model)
    return found


def bytes_by_component(weights: list, grads: list, states: list, device: str) -> dict:
    """A storage that is found twice counts as the first of weights, gradients, optimizer."""
    counted: set[int] = set()
    made = {}
    for name, tensors in (("weights", weights), ("gradients", grads), ("optimizer", states)):
        found = storages(tensors, device)
        made[name] = sum(size for key, size in found.items() if key not in counted)
        counted |= found.keys()
    return made


def of_loop(loop) -> dict:
    return bytes_by_component(
        weight_tensors(loop.plan, loop.module), gradients(loop.module), state_tensors(loop.optimizers), loop.device_type
    )
