# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Quantised base weights, made as from_pretrained with a BitsAndBytesConfig makes them. Imported only where a plan has them."""

from __future__ import annotations

import sys

import bitsandbytes as bnb
import torch
from transformers import BitsAndBytesConfig
from transformers.integrations.bitsandbytes import replace_with_bnb_linear
from transformers.quantizers.base import HfQuantizer

from .. import precision
from ..plan import Plan
from .model import DTYPES


def quantize(plan: Plan, model, device: str, fill) -> None:
    """Replaces the Linear layers of a model on the host, and moves it to the device one parameter after the other.

    Follows transformers/integrations/bitsandbytes.py and, in bitsandbytes/nn/modules.py, Params4bit._quantize and
    Int8Params._quantize. `fill` draws a weight's values in place before it is quantised.
    """
    kind = plan["method.quantization"]
    resolved = precision.resolve(plan)
    if kind == "int8":
        config = BitsAndBytesConfig(load_in_8bit=True)
    else:
        config = BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_compute_dtype=DTYPES[resolved.compute],
            bnb_4bit_quant_type=kind[:3],
            bnb_4bit_use_double_quant=kind == "nf4-double",
        )
    kept = HfQuantizer.get_modules_to_not_convert(model, config.llm_int8_skip_modules, getattr(model, "_keep_in_fp32_modules", None))
    replace_with_bnb_linear(model, modules_to_not_convert=kept, quantization_config=config)
    tied = getattr(model.config, "tie_word_embeddings", False)
    for module in model.modules():
        if tied and module is model.get_output_embeddings():
            module.weight = model.get_input_embeddings().weight
            continue
        for name, parameter in list(module._parameters.items()):
            if parameter is not None:
                _move(module, name, parameter, DTYPES[resolved.weights], device, fill)
        for name, buffer in module._buffers.items():
            if buffer is not None:
                module._buffers[name] = buffer.to(device)
    model.is_loaded_in_8bit, model.is_loaded_in_4bit = kind == "int8", kind != "int8"


def _move(module, name: str, parameter, dtype, device: str, fill) -> None:
    weight = torch.empty(parameter.shape, dtype=dtype if parameter.device.type == "meta" else parameter.dtype, device=device)
    fill(weight, name)
    if name == "weight" and isinstance(module, bnb.nn.Linear4bit):
        packed, state = bnb.functional.quantize_4bit(
            weight,
            blocksize=parameter.blocksize,
            compress_statistics=parameter.compress_statistics,
            quant_type=parameter.quant_type,
            quant_storage=parameter.quant_storage,
        )
        module.weight = bnb.nn.modules.Params4bit(
            packed,
            requires_grad=False,
            quant_state=state,
            blocksize=parameter.blocksize,
            compress_statistics=parameter.compress_statistics,
            quant_type=parameter.quant_type,
            quant_storage=parameter.quant_storage,
            module=module,
            bnb_quantized=True,
        )
        module.quant_state = state
    elif name == "weight" and isinstance(module, bnb.nn.Linear8bitLt):
        codes, scales, _ = bnb.functional.int8_vectorwise_quant(weight.to(torch.float16))
        module.weight = bnb.nn.modules.Int8Params(codes, requires_grad=False, has_fp16_weights=False, CB=codes, SCB=scales)
    else:
        trained = parameter.requires_grad and not isinstance(module, (bnb.nn.Linear4bit, bnb.nn.Linear8bitLt))
        module._parameters[name] = torch.nn.Parameter(weight, trained)
    module._parameters[name].original_elements = parameter.numel()


def state_tensors(model) -> list:
    """Every tensor of quantisation state, the tables that bitsandbytes keeps for itself included."""
    found = list(bnb.functional.name2qmap.values())
    for module in model.modules():
        weight, state = module._parameters.get("weight"), getattr(module, "state", None)
        if getattr(weight, "quant_state", None) is not None:
            found += tensors_of(weight.quant_state)
        found += [
            t for owner in (weight, state) for t in (getattr(owner, "CB", None), getattr(owner, "SCB", None)) if isinstance(t, torch.Tensor)
        ]
    return found


def tensors_of(state) -> list:
    """The tensors of one QuantState."""
    inner = [] if state.state2 is None else [state.state2.absmax, state.state2.code]
    return [t for t in [state.absmax, state.code, state.offset, *inner] if t is not None]


def paged_bytes() -> int:
    """Optimizer state in managed memory, outside PyTorch's allocator."""
    if "bitsandbytes" not in sys.modules:
        return 0
    return sum(t.untyped_storage().nbytes() for t in bnb.functional.GlobalPageManager.get_instance().paged_tensors)
