# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The dtypes that a plan's precision comes to (docs/plan-format.md, "Precision recipes"), as names of PyTorch's dtypes."""

from __future__ import annotations

import dataclasses

from .errors import Unsupported
from .plan import Plan


@dataclasses.dataclass(frozen=True)
class Precision:
    weights: str
    autocast: str | None
    #: fp32 master weights, kept by DeepSpeed
    master: bool

    @property
    def compute(self) -> str:
        return self.autocast or self.weights


_RECIPES = {
    "fp32": Precision("float32", None, False),
    "bf16": Precision("bfloat16", None, False),
    "fp16": Precision("float16", None, False),
    "bf16-autocast": Precision("float32", "bfloat16", False),
    "fp16-autocast": Precision("float32", "float16", False),
    "bf16-master": Precision("bfloat16", None, True),
    "fp16-master": Precision("float16", None, True),
}


def resolve(plan: Plan) -> Precision:
    recipe = _RECIPES.get(plan["precision.recipe"])
    if recipe is None:
        raise Unsupported("precision.recipe", f"the probe does not run {plan['precision.recipe']}", "it runs " + ", ".join(_RECIPES))
    weights = plan["precision.weights"] or recipe.weights
    autocast = plan["precision.autocast"] or recipe.autocast
    # What PyTorch, or DeepSpeed for the recipes with a master copy, makes of these anyway is no override.
    own = {"gradients": weights, "moments": "float32" if recipe.master else weights, "master": "float32" if recipe.master else "none"}
    for name, made in own.items():
        if plan[f"precision.{name}"] not in (None, made):
            raise Unsupported(
                f"precision.{name}", "the probe runs the loop with the dtypes that PyTorch itself gives", f'set it to "{made}" or null'
            )
    return Precision(weights, None if autocast == "none" else autocast, recipe.master)
