# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan's steps on a GPU."""

from __future__ import annotations

import contextlib
import os
import pathlib

import torch

from .. import environment
from ..errors import EnvironmentFault
from ..phases import PhaseMeter
from ..plan import Plan
from ..training import inventory, model as models, one_device
from ..training.loop import Loop
from ..training.memory import round512
from . import engines
from .cuda_device import CudaDevice


def make(plan: Plan, options) -> GpuRun:
    return GpuRun(plan, options, CudaDevice(options.local_rank))


class GpuRun:
    """`device` is a CudaDevice, or a stand-in for one."""

    def __init__(self, plan: Plan, options, device):
        self._plan, self._options, self._device = plan, options, device
        self._engine = environment.engine_of(plan)
        self._stack = contextlib.ExitStack()
        self._loop: Loop | None = None
        self._before_forward = 0
        self._saved: int | None = None
        self._steady: dict | None = None
        self._parameters: dict | None = None
        self._recorded = False
        self.gauge = device
        torch.manual_seed(1234 + options.rank)
        if self._engine != "none":
            self._stack.enter_context(engines.process_group(device, options))

    def describe(self) -> dict:
        return {
            "versions": environment.versions() | self._device.versions(),
            "gpu": self._device.describe(),
            "notes": environment.notes_of(self._plan) + engines.NOTES.get(self._engine, []) + self._notes(),
        }

    def _notes(self) -> list[str]:
        notes = [self._device.source]
        if self._plan["compile"]:
            notes.append("compiled: the loss is part of the phase forward")
        if self._plan["precision.recipe"].startswith("fp16"):
            notes.append("no gradient scaler: the plan's loop has none")
        return notes

    def load(self) -> None:
        device = self._device.name
        if self._engine == "none":
            self._loop = one_device.make_loop(self._plan, device, self._stack, empty=True)
            if self._plan["compile"]:
                self._loop.meter_loss = False  # entering a phase would break the graph
                self._loop.model = torch.compile(self._loop.model)
        else:
            self._loop = engines.make_loop(self._engine, self._plan, self._device, self._stack)
        self._parameters = self._loop.counts or models.parameter_counts(self._loop.module)
        self._loop.forward_began = self._forward_began
        self._loop.backward_begins = self._backward_begins

    def step(self, step: int, meter: PhaseMeter, last: bool) -> None:
        if last and self._options.snapshot is not None:
            self._device.record_history(self._options.history)
            self._recorded = True
        self._loop.step(meter)

    def after_step(self) -> None:
        self._steady = self._components() | {"allocated": self._device.allocated()}

    def _components(self) -> dict:
        if self._loop.components is not None:
            return self._loop.components()
        return inventory.of_loop(self._loop)

    def _forward_began(self) -> None:
        self._before_forward = self._device.allocated()

    def _backward_begins(self) -> None:
        if self._engine in engines.GATHERING:
            return  # gathered parameters cannot be told from activations
        self._saved = self._device.allocated() - self._before_forward - self._gradient_made_in_forward()

    def _gradient_made_in_forward(self) -> int:
        """Liger's fused loss makes the head's gradient in forward. It is no activation, unless it is added to one that is there."""
        if self._plan["loss"] != "fused-linear":
            return 0
        head = models.inner_model(self._loop.module).get_output_embeddings().weight
        return round512(head.numel() * head.element_size()) if head.requires_grad and head.grad is None else 0

    def figures(self) -> dict:
        return {"parameters": self._parameters, "steady": self._steady, "saved_activations": self._saved if self._steady else None}

    def alive(self) -> dict:
        """When memory ran out: what of it was what."""
        found = self._components() if self._loop is not None else {}
        return found | {"allocated": self._device.allocated()}

    def is_out_of_memory(self, error: BaseException) -> bool:
        return self._device.is_out_of_memory(error)

    def write_snapshot(self, path: pathlib.Path) -> None:
        """Whole or not at all, as every file."""
        if not self._recorded:
            return  # memory ran out before the step that is recorded
        partial = path.with_name(f".{path.name[:100]}.{os.getpid()}.part")
        try:
            self._device.write_snapshot(partial)
            os.replace(partial, path)
        except OSError as error:
            raise EnvironmentFault("", f"cannot be written: {error.strerror or error}", "choose another folder", file=str(path)) from None
        finally:
            with contextlib.suppress(OSError):
                partial.unlink()

    def close(self, failed: bool) -> None:
        self._loop = None
        if failed and self._options.ranks > 1:
            return  # the other ranks may wait in a collective call, and an orderly end of the group would wait for them
        self._stack.close()
        self._device.close()
