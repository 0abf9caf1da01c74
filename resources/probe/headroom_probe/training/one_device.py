# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan made ready to run on one device: the plan format's `load` phase."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable

import torch

from ..plan import Plan
from . import losses, model as models, optimizers
from .loop import Loop, autocast_of


def build_model(
    plan: Plan,
    device: str,
    stack: contextlib.ExitStack,
    begin_loss: Callable,
    *,
    attention: str | None = None,
    fill: Callable | None = models.fill,
    empty: bool = False,
):
    """The model in its training form: quantised, with Liger, with adapters, checkpointed.

    The stack keeps what must last as long as the model. `fill` None: fake tensors have no values. `empty`: weights that will
    be quantised are not made on the host first.
    """
    config = models.config_of(plan)
    quantised = plan["method.kind"] == "qlora"
    with models.parameters_on_meta() if quantised and empty else contextlib.nullcontext():
        model = models.build(plan, config, "cpu" if quantised else device, attention)
    if quantised:
        from . import quantization

        quantization.quantize(plan, model, device, fill or (lambda *_: None))
    elif fill is not None:
        for name, parameter in model.named_parameters():
            fill(parameter, name)
    return _trainable(plan, model, stack, begin_loss)


def _trainable(plan: Plan, model, stack: contextlib.ExitStack, begin_loss: Callable):
    if plan["method.kind"] == "qlora" and plan["method.kbit_preparation"]:
        from . import adapters

        adapters.prepare_for_kbit_training(plan, model)
    if plan["kernels"] == "liger" or plan["loss"] == "fused-linear":
        from . import liger

        stack.enter_context(liger.applied(plan, model, begin_loss))
    if plan["loss"] == "chunked":
        losses.use_chunked_loss(model, begin_loss)
    if plan["method.kind"] != "full":
        from . import adapters

        model = adapters.add(plan, model)
    model.train()
    models.use_checkpointing(plan, model)
    return model


def batch(plan: Plan, device: str, vocabulary: int | None):
    """One full sequence a row, and its labels; empty where there are no values (vocabulary None)."""
    shape = plan["batch.micro_batch"], plan["batch.sequence_length"]
    if vocabulary is None:
        return tuple(torch.empty(*shape, dtype=torch.int64, device=device) for _ in range(2))
    return tuple(torch.randint(0, vocabulary, shape, dtype=torch.int64, device=device) for _ in range(2))


def make_loop(
    plan: Plan,
    device: str,
    stack: contextlib.ExitStack,
    *,
    attention: str | None = None,
    fill: Callable | None = models.fill,
    values: bool = True,
    empty: bool = False,
    start: str | None = None,
    wrap: Callable | None = None,
) -> Loop:
    """Everything that lives before the first step, in the order in which it is made.

    An engine's `wrap` takes the loop with its model, built on the device `start`, and puts what is called in loop.model.
    """
    loop = Loop(plan, None, [], [], None, None, autocast=autocast_of(plan), device_type=torch.device(device).type)
    loop.module = build_model(plan, start or device, stack, loop.begin_loss, attention=attention, fill=fill, empty=empty)
    if not plan["compile"]:  # a hook would break the graph
        losses.watch_head(loop.module, loop.begin_loss)
    loop.model = loop.module
    if wrap is not None:
        loop.counts = models.parameter_counts(loop.module)
        wrap(loop)
    loop.parameters = [p for p in loop.model.parameters() if p.requires_grad]
    if plan["optimizer.in_backward"]:
        loop.optimizers = optimizers.step_in_backward(plan, loop.parameters)
    elif not loop.optimizers:
        loop.optimizers = [optimizers.make(plan, loop.parameters)]
    gc.collect()
    vocabulary = models.inner_model(loop.module).config.vocab_size if values else None
    loop.input_ids, loop.labels = batch(plan, device, vocabulary)
    return loop
