# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""PEFT's adapters. Imported only where a plan has them."""

from __future__ import annotations

import peft

from ..errors import BadInput, Unsupported
from ..plan import Plan
from .model import DTYPES, in_one_line


def add(plan: Plan, model):
    wanted = plan["method.adapter_dtype"]
    config = peft.LoraConfig(
        task_type="CAUSAL_LM",
        r=plan["method.rank"],
        lora_alpha=2 * plan["method.rank"],
        lora_dropout=plan["method.dropout"],
        target_modules=plan["method.targets"],
        use_dora=plan["method.dora"],
        modules_to_save=plan["method.modules_to_save"] or None,
    )
    try:
        model = peft.get_peft_model(model, config, autocast_adapter_dtype=wanted == "float32")
    except (ValueError, KeyError, AttributeError) as error:  # no such module, or one that takes no adapter
        raise BadInput("method", f"PEFT refuses it: {in_one_line(error)}", "check method.targets and method.modules_to_save") from error
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and parameter.dtype is not DTYPES[wanted] and ("lora_" in name or "magnitude" in name):
            raise Unsupported(
                "method.adapter_dtype",
                f"PEFT makes {name} {str(parameter.dtype).removeprefix('torch.')}",
                "set it to float32 or to the dtype of the weights",
            )
    return model


def prepare_for_kbit_training(plan: Plan, model) -> None:
    peft.prepare_model_for_kbit_training(
        model,
        use_gradient_checkpointing=plan["checkpointing"] == "full",
        gradient_checkpointing_kwargs={"use_reentrant": plan["reentrant_checkpointing"]},
    )
