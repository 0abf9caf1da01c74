# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loop that a plan means (docs/plan-format.md).

Which variable holds what for how long decides the memory: `outputs` and `loss` live here as long as in the format's loop.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
from collections.abc import Callable

import torch

from .. import precision
from ..phases import PhaseMeter
from ..plan import Plan
from .model import DTYPES


def _nothing(*_) -> None:
    pass


@dataclasses.dataclass
class Loop:
    """What is run; an engine replaces what it does in its own way."""

    plan: Plan
    model: object  #: what is called
    parameters: list  #: the trainable ones
    optimizers: list
    input_ids: torch.Tensor
    labels: torch.Tensor
    meter: PhaseMeter | None = None
    #: autocast's dtype in the forward call
    autocast: torch.dtype | None = None
    device_type: str = "cuda"
    before_micro: Callable = _nothing  #: (last micro-batch?)
    backward: Callable | None = None  #: (loss, last micro-batch?)
    optimizer_step: Callable | None = None
    #: whether the loop divides the loss by the number of micro-batches
    divides_loss: bool = True
    #: whether the loss is a phase of its own
    meter_loss: bool = True
    #: the model inside an engine's wrapper
    module: object = None
    #: elements, counted before an engine cuts parameters up
    counts: dict | None = None
    #: bytes of weights, gradients and optimizer state where an engine keeps them elsewhere
    components: Callable | None = None
    forward_began: Callable = _nothing
    backward_begins: Callable = _nothing
    backward_ended: Callable = _nothing

    def begin_loss(self) -> None:
        if self.meter_loss and self.meter is not None and self.meter.phase == "forward":
            self.meter.enter("loss")

    def step(self, meter: PhaseMeter) -> None:
        self.meter = meter
        accumulation, held = self.plan["batch.gradient_accumulation"], self.plan["loop.outputs_held"]
        for micro in range(accumulation):
            last = micro == accumulation - 1
            self.before_micro(last)
            meter.enter("forward")
            self.forward_began()
            with torch.autocast(self.device_type, dtype=self.autocast) if self.autocast else contextlib.nullcontext():
                outputs = self.model(input_ids=self.input_ids, labels=self.labels, use_cache=False)
                loss = outputs.loss
            if not held:
                del outputs
            if accumulation > 1 and self.divides_loss:
                loss = loss / accumulation
            self.backward_begins()
            meter.enter("backward")
            if self.backward is None:
                loss.backward()
            else:
                self.backward(loss, last)
            self.backward_ended()
            loss = outputs = None
        meter.enter("optimizer")
        if self.optimizer_step is not None:
            self.optimizer_step()
        elif not self.plan["optimizer.in_backward"]:
            self._optimizer_step()
        # Reference cycles would be collected at any moment; here it is always the same one.
        gc.collect()
        meter.enter("idle")

    def _optimizer_step(self) -> None:
        if self.plan["loop.clip_grad_norm"]:
            if hasattr(self.model, "clip_grad_norm_"):  # FSDP 1 has its own
                self.model.clip_grad_norm_(1.0)
            else:
                torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        for optimizer in self.optimizers:
            optimizer.step()
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=self.plan["loop.zero_grad"] == "to-none")


def autocast_of(plan: Plan):
    name = precision.resolve(plan).autocast
    return DTYPES[name] if name else None
