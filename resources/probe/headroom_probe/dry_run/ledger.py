# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts the storages that operators make on the fake GPU, and their ends."""

from __future__ import annotations

import weakref
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from ..training.memory import round512
from .kernel_buffers import KERNEL_BUFFERS

aten = torch.ops.aten

# Gradient formulas that write into zeros in place, but out of place for tensor subclasses
# (torch/csrc/autograd/FunctionsManual.cpp: index_backward, value_selecting_reduction_backward, gather_backward).
_IN_PLACE_GRADIENTS = {
    aten.index_put.default: aten.index_put_.default,
    aten.scatter.src: aten.scatter_.src,
    aten.scatter_add.default: aten.scatter_add_.default,
}


class Ledger(TorchDispatchMode):
    """The bytes alive on the fake GPU: a gauge for phases.PhaseMeter, and the order in which storages were born."""

    timed = False

    def __init__(self, phase_of: Callable[[], str | None] = lambda: None):
        super().__init__()
        self.live = 0
        self.born = 0  #: number of births so far; a storage's number is the count at its birth
        self.alive: dict[int, tuple[int, int]] = {}  #: storage -> (number, bytes)
        #: operator -> the Python code of its CUDA kernel, whose allocations are then counted
        self.bodies: dict = {}
        #: answers operators that read a value from the device
        self.assumes_values = False
        self.phase_of = phase_of
        self._peak = 0
        self._inside = False
        self._watched: dict[int, weakref.ref] = {}
        self._tensor_references, self._storage_references = _references_of_a_sole_gradient()

    # -- the gauge
    def synchronize(self) -> None:
        pass

    def reset_peaks(self) -> None:
        self._peak = self.live

    def peaks(self) -> dict:
        return self._figures(self._peak)

    def now(self) -> dict:
        return self._figures(self.live)

    @staticmethod
    def _figures(allocated: int) -> dict:
        return {"allocated": allocated, "active": None, "reserved": None, "device": None}

    def number_of(self, tensor) -> int | None:
        found = self.alive.get(tensor.untyped_storage()._cdata)
        return found[0] if found else None

    def born_since(self, number: int) -> dict[int, int]:
        """Storages alive that were born with this number or later: number -> bytes."""
        return {n: size for n, size in self.alive.values() if n >= number}

    # -- births and deaths
    def _grow(self, size: int) -> None:
        self.live += size
        self._peak = max(self._peak, self.live)

    def _see(self, tensor) -> None:
        if not isinstance(tensor, torch.Tensor) or tensor.device.type != "cuda":
            return
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self.alive or storage.nbytes() == 0:
            return
        size = round512(storage.nbytes())
        self.alive[key] = (self.born, size)
        self.born += 1
        self._grow(size)

        def gone(_, key=key):
            self.live -= self.alive.pop(key)[1]
            del self._watched[key]

        self._watched[key] = weakref.ref(storage, gone)

    # -- the mode
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is torch.ops.prim.device.default:
            return func(*args, **kwargs)
        if func in _IN_PLACE_GRADIENTS and self._in_engine():
            return _IN_PLACE_GRADIENTS[func](*args, **kwargs)
        if func is aten.add.Tensor and not kwargs and self._in_engine() and self._sums_into_first(*args[:2]):
            return aten.add_.Tensor(args[0], args[1])
        if func in self.bodies:
            return self._run_body(func, args, kwargs)
        if self._inside and func.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeImplicitAutograd):
            with self:  # autograd takes such an operator apart; inside a body it comes here whole
                return func.decompose(*args, **kwargs)
        if func is aten._local_scalar_dense.default:
            if self.phase_of() == "optimizer" and not self._inside:
                return 2.0 if args[0].dtype.is_floating_point else 2  # a step count, read on the host
            if args[0].device.type == "cuda" and (self._inside or self.assumes_values):
                return 0
        if func is aten.equal.default and self.assumes_values:
            return True
        buffers = [round512(size) for size in KERNEL_BUFFERS[func](args)] if func in KERNEL_BUFFERS else []
        self._grow(sum(buffers))
        out = func(*args, **kwargs)
        for leaf in tree_flatten(out)[0]:
            self._see(leaf)
        self.live -= sum(buffers)
        return out

    def _run_body(self, func, args, kwargs):
        outside, self._inside = self._inside, True
        try:
            with self:
                return self.bodies[func](*args, **kwargs)
        finally:
            self._inside = outside

    def _in_engine(self) -> bool:
        return self.phase_of() == "backward" and not torch.is_grad_enabled() and torch._C._current_autograd_node() is not None

    def _sums_into_first(self, first, second) -> bool:
        """Whether the engine would add two gradients of one tensor into the first, of which it holds the last reference.

        It never does so for tensor subclasses or under a dispatch mode (torch/csrc/autograd/input_buffer.cpp), so it is done here.
        """
        if not isinstance(second, torch.Tensor) or first.shape != second.shape or first.dtype != second.dtype:
            return False
        storage = first.untyped_storage()
        return (
            torch._prims_common.is_non_overlapping_and_dense_or_false(first)
            and first._use_count() <= self._tensor_references
            and torch._C._storage_Use_Count(storage._cdata) <= self._storage_references
        )


def _references_of_a_sole_gradient() -> tuple[int, int]:
    """The use counts of a gradient's tensor and storage that nothing but the engine's buffer holds, as seen from a dispatch mode."""
    seen = []

    class Peek(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func is aten.add.Tensor and not torch.is_grad_enabled():
                seen.append((args[0]._use_count(), torch._C._storage_Use_Count(args[0].untyped_storage()._cdata)))
            return func(*args, **(kwargs or {}))

    x = torch.empty(8, 8, device="cuda", requires_grad=True)
    w = torch.empty(8, 8, device="cuda", requires_grad=True)
    h = x * 1.0
    y = (F.linear(h, w) + F.linear(h, w)).sum()
    with Peek():
        y.backward()
    return seen[0]
