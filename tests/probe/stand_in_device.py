# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for gpu.cuda_device.CudaDevice: the host plays the GPU, and its storages are counted as a GPU's would be."""

from __future__ import annotations

import pathlib
import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten


class OutOfMemory(RuntimeError):
    pass


class StandInDevice(TorchDispatchMode):
    """Every storage that an operator makes on the host, each rounded up to 512 bytes. `capacity`: more is out of memory."""

    timed = True
    backend = "gloo"
    name = "cpu"
    index = 0
    source = "device figures: stand-in"

    def __init__(self, capacity: int | None = None):
        super().__init__()
        self.capacity, self.live, self.peak, self.calls = capacity, 0, 0, []
        self._alive: dict[int, weakref.ref] = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for leaf in tree_flatten(out)[0]:
            if isinstance(leaf, torch.Tensor) and leaf.device.type == "cpu":
                self._see(leaf.untyped_storage())
        return out

    def _see(self, storage) -> None:
        key, size = storage._cdata, -(-storage.nbytes() // 512) * 512
        if key in self._alive or not size:
            return
        if self.capacity is not None and self.live + size > self.capacity:
            raise OutOfMemory(f"CUDA out of memory. Tried to allocate {size} bytes. GPU 0 has a total capacity of {self.capacity} bytes")

        def gone(_):
            del self._alive[key]
            self.live -= size

        self._alive[key] = weakref.ref(storage, gone)
        self.live += size
        self.peak = max(self.peak, self.live)

    def synchronize(self) -> None:
        self.calls.append("synchronize")

    def reset_peaks(self) -> None:
        self.calls.append("reset_peaks")
        self.peak = self.live

    def peaks(self) -> dict:
        self.calls.append("peaks")
        return {"allocated": self.peak, "active": self.peak, "reserved": 2 * self.peak, "device": 3 * self.peak}

    def now(self) -> dict:
        return {"allocated": self.live, "active": self.live, "reserved": 2 * self.live, "device": 3 * self.live}

    def allocated(self) -> int:
        return self.live

    def describe(self) -> dict:
        return {"name": "stand-in", "capacity": self.capacity, "compute_capability": "8.0", "used_by_others": 0}

    def versions(self) -> dict:
        return {"cuda": None, "driver": None}

    def is_out_of_memory(self, error: BaseException) -> bool:
        return isinstance(error, OutOfMemory)

    def record_history(self, stacks: bool) -> None:
        self.calls.append(f"record_history {stacks}")

    def write_snapshot(self, path: pathlib.Path) -> None:
        path.write_bytes(b"snapshot")

    def close(self) -> None:
        self.calls.append("close")
