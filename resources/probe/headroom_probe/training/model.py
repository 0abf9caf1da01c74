# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan's model, with random weights from its config."""

from __future__ import annotations

import contextlib

import torch
import transformers
from transformers import modeling_utils

from .. import precision
from ..environment import numbers_of
from ..errors import BadInput, ProbeError, Unsupported
from ..plan import DROPPED_CONFIG_KEYS, Plan
from .memory import original_elements

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
#: Its place changed with PyTorch 2.5.
OutOfMemory = getattr(torch, "OutOfMemoryError", None) or torch.cuda.OutOfMemoryError
_ATTENTION = {"eager": "eager", "sdpa": "sdpa", "flash-attention-2": "flash_attention_2"}


def config_of(plan: Plan):
    """The model's configuration; what only transformers can find wrong with it is said as its own words have it."""
    kind = plan.config["model_type"]
    if kind not in transformers.CONFIG_MAPPING:
        raise Unsupported(
            "model.config.model_type", f'transformers {transformers.__version__} knows no "{kind[:80]}"', "update transformers"
        )
    known = {key: value for key, value in plan.config.items() if key not in DROPPED_CONFIG_KEYS and not key.startswith("_")}
    try:
        config = transformers.CONFIG_MAPPING[kind](**known)
    except Exception as error:  # each class checks in its own way
        raise BadInput("model.config", f"transformers refuses it: {in_one_line(error)}", "mend the config.json") from error
    if type(config) not in transformers.MODEL_FOR_CAUSAL_LM_MAPPING:
        raise Unsupported(
            "model.config.model_type", f"{kind[:80]} is no causal language model of transformers", "take a decoder's config.json"
        )
    config.use_cache = False
    return config


def in_one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"


def build(plan: Plan, config, device: str, attention: str | None = None):
    """The model as from_pretrained leaves it in memory, tensor by tensor in module order; its weights are not filled yet."""
    attention = attention or _ATTENTION[plan["attention"]]
    dtype = DTYPES[precision.resolve(plan).weights]
    # The keyword was torch_dtype before transformers 4.56.
    keyword = "dtype" if numbers_of(transformers.__version__) >= (4, 56) else "torch_dtype"
    try:
        with torch.device(device), unfilled():
            return transformers.AutoModelForCausalLM.from_config(config, attn_implementation=attention, **{keyword: dtype})
    except (ProbeError, OutOfMemory):
        raise
    except (
        ValueError,
        TypeError,
        RuntimeError,
        AttributeError,
        KeyError,
        IndexError,
        OverflowError,
        ZeroDivisionError,
        AssertionError,
    ) as error:
        if "CUDA" in str(error):
            raise  # the device's fault, not the config's
        raise BadInput("model.config", f"transformers cannot build the model: {in_one_line(error)}", "mend the config.json") from error


@contextlib.contextmanager
def unfilled():
    """Keeps transformers from drawing initial values, which from_pretrained does not do either; weights are tied all the same."""
    owner = modeling_utils.PreTrainedModel
    drawn = owner.init_weights
    owner.init_weights = lambda self, *_, **__: self.tie_weights() if hasattr(self, "tie_weights") else None
    try:
        yield
    finally:
        owner.init_weights = drawn


@contextlib.contextmanager
def parameters_on_meta():
    """Parameters are registered without memory, each as soon as it is made; buffers are made as always."""
    register = torch.nn.Module.register_parameter

    def without_memory(self, name, parameter):
        register(self, name, parameter)
        if parameter is not None and parameter.device.type != "meta":  # a tied one is there already
            self._parameters[name] = torch.nn.Parameter(parameter.to("meta"), parameter.requires_grad)

    torch.nn.Module.register_parameter = without_memory
    try:
        yield
    finally:
        torch.nn.Module.register_parameter = register


def fill(parameter, name: str) -> None:
    """Random values, in place: training then runs on ordinary numbers."""
    if not parameter.dtype.is_floating_point or parameter.device.type == "meta":
        return
    with torch.no_grad():
        if parameter.ndim > 1:
            parameter.normal_(0.0, 0.02)
        else:
            parameter.fill_(0.0 if name.endswith("bias") else 1.0)


def inner_model(model):
    """The model of transformers inside PEFT's."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def decoder_layers(model):
    """The list of the model's layers: the longest list of modules that are all of one class."""
    config = inner_model(model).config
    for module in inner_model(model).modules():
        if isinstance(module, torch.nn.ModuleList) and len(module) == config.num_hidden_layers:
            return module
    raise Unsupported("model.config.model_type", "its list of layers was not found", "choose another model")


def use_checkpointing(plan: Plan, model) -> None:
    if plan["checkpointing"] == "none":
        return
    model, reentrant = inner_model(model), plan["reentrant_checkpointing"]
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": reentrant})
    if reentrant and plan["method.kind"] != "full":
        model.enable_input_require_grads()
    if plan["checkpointing"] == "selective":
        # As transformers' every_n_layers does (modeling_utils.py, activation_checkpointing_enable): layers 0, n, 2n ...
        for index, layer in enumerate(decoder_layers(model)):
            if not hasattr(layer, "gradient_checkpointing"):
                raise Unsupported(
                    "selective", f"layers of transformers {transformers.__version__} are not checkpointed one by one", "update transformers"
                )
            layer.gradient_checkpointing = index % int(plan.selective["every"]) == 0


def parameter_counts(model) -> dict:
    """Elements; quantised weights by their original count, a tied tensor once, buffers never."""
    return {
        "total": sum(original_elements(p) for p in model.parameters()),
        "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
    }
