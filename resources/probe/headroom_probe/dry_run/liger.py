# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Liger without a GPU: its own autograd functions, which allocate, over a Triton that launches nothing."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.abc
import importlib.machinery
import logging
import sys
import types

import torch

from ..errors import EnvironmentFault


class Nothing:
    """A Triton name: a decorator leaves nothing of a kernel, a launch does nothing."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()

    def __getitem__(self, grid):
        return self

    def __call__(self, *args, **kwargs):
        return self


class Constant:
    def __init__(self, value=None):
        self.value = value


class NoTriton(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.partition(".")[0] == "triton" else None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__getattr__ = lambda name: getattr(Nothing(), name)
        module.__version__ = "3.6.0"
        module.constexpr = Constant
        module.cdiv = lambda a, b: -(-a // b)
        module.next_power_of_2 = lambda n: 1 << max(n - 1, 0).bit_length()
        return module

    def exec_module(self, module):
        pass


@functools.cache
def prepare() -> None:
    """Imports liger_kernel as on a machine with a GPU. Only then is Triton pretended; a real one is set aside for that time."""
    for name in ("peft", "transformers.trainer"):  # Liger imports these; they must not see a GPU
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    logging.getLogger("liger_kernel").setLevel(logging.ERROR)  # it warns of each implementation other than Triton's
    finder, available = NoTriton(), torch.cuda.is_available
    real = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "triton"}
    sys.meta_path.insert(0, finder)
    torch.cuda.is_available = lambda: True
    try:
        import liger_kernel.transformers.monkey_patch  # noqa: F401
        from liger_kernel.backends import capability, registry

        capability.Capability._evaluate = lambda self, device=None: (
            self.modules == ["triton"] and self.predicate is None,
            "only Triton is pretended",
        )
        for operation in list(registry._DISCOVERY_MAP):
            registry.list_registered(operation)
    except ImportError as error:
        raise EnvironmentFault("", f"liger-kernel cannot be imported: {error}", "a dry run was tested with liger-kernel 0.8.5") from error
    finally:
        torch.cuda.is_available = available
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] == "triton"]:
            del sys.modules[name]
        sys.modules.update(real)
    _lift_nothing_in_engine_threads()


def _lift_nothing_in_engine_threads() -> None:
    """torch.tensor(1.0, device="cuda") in backward: fake mode sets for its own thread alone that nothing is moved to a device."""
    from liger_kernel.ops.fused_linear_cross_entropy import LigerFusedLinearCrossEntropyFunction as fused

    backward = fused.backward

    def in_engine_thread(*args):
        torch._C._set_only_lift_cpu_tensors(True)
        return backward(*args)

    fused.backward = staticmethod(in_engine_thread)
