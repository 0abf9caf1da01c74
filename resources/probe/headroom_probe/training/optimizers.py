# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan's optimizer, or one for each parameter that steps inside backward."""

from __future__ import annotations

import torch

from ..errors import Unsupported
from ..plan import Plan
from ..scope import BITSANDBYTES_OPTIMIZERS

_FLAGS = {"fused": {"fused": True}, "foreach": {"foreach": True}, "for-loop": {"foreach": False}}


def make(plan: Plan, parameters):
    kind, implementation = plan["optimizer.kind"], plan["optimizer.implementation"]
    flags = _FLAGS[implementation]
    if kind in ("adamw", "adam"):
        return (torch.optim.AdamW if kind == "adamw" else torch.optim.Adam)(parameters, lr=1e-5, **flags)
    if kind in ("sgd", "sgd-momentum"):
        return torch.optim.SGD(parameters, lr=1e-5, momentum=0.9 if kind == "sgd-momentum" else 0.0, **flags)
    if kind == "adafactor":
        return _torch_class("Adafactor", "2.5")(parameters, foreach=implementation != "for-loop")
    if kind == "muon":
        return _torch_class("Muon", "2.9")([p for p in parameters if p.ndim == 2])
    import bitsandbytes

    return getattr(bitsandbytes.optim, BITSANDBYTES_OPTIMIZERS[kind])(parameters, lr=1e-5)


def step_in_backward(plan: Plan, parameters) -> list:
    """An optimizer for each parameter, which steps and frees the gradient as soon as it is there."""
    optimizers = {parameter: make(plan, [parameter]) for parameter in parameters}

    def step(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad(set_to_none=True)

    for parameter in parameters:
        parameter.register_post_accumulate_grad_hook(step)
    return list(optimizers.values())


def _torch_class(name: str, since: str):
    if not hasattr(torch.optim, name):
        raise Unsupported("optimizer.kind", f"torch {torch.__version__} has no torch.optim.{name}", f"it came with {since}")
    return getattr(torch.optim, name)
