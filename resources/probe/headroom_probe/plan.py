# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a plan (docs/plan-format.md). Nothing that stands in it is executed, and no name in it is looked up in a network."""

from __future__ import annotations

import copy
import pathlib

from . import strict_json
from .errors import BadInput
from .fields import BY_PATH, FIELDS, keys_below, type_name, unknown_key

PLAN_FORMAT = 1
MOST_LAYERS = 512

#: Keys of a config.json that could fetch or run something, or that the plan decides.
DROPPED_CONFIG_KEYS = frozenset(
    (
        "architectures",
        "attn_implementation",
        "auto_map",
        "custom_pipelines",
        "dtype",
        "experts_implementation",
        "model_type",
        "quantization_config",
        "torch_dtype",
        "trust_remote_code",
        "use_cache",
        "use_kernels",
    )
)


class Plan:
    """A plan with every field set: plan["batch.micro_batch"]."""

    def __init__(self, values: dict, model: dict, config: dict, selective):
        self._values = values
        self.model = model  #: as the plan names it: {"preset": ...}, {"config": ...} or {"config_path": ...}
        self.config = config  #: the model's config.json
        self.selective = selective

    def __getitem__(self, path: str):
        return self._values[path]

    def document(self) -> dict:
        """The complete plan, as Headroom writes it."""
        made: dict = {"headroom_plan": PLAN_FORMAT}
        for field in FIELDS:
            group, _, key = field.path.rpartition(".")
            (made.setdefault(group, {}) if group else made)[key] = copy.deepcopy(self[field.path])
            if field.path == "name":
                made["model"] = copy.deepcopy(self.model)
            if field.path == "checkpointing":
                made["selective"] = copy.deepcopy(self.selective)
        return made

    @property
    def ranks(self) -> int:
        return self["parallel.data"] * self["parallel.tensor"] * self["parallel.pipeline"] * self["parallel.context"]

    @property
    def tokens(self) -> int:
        """Tokens of one micro-batch on one rank."""
        return self["batch.micro_batch"] * self["batch.sequence_length"]


def read_plan(path: pathlib.Path, config_path: pathlib.Path | None = None) -> Plan:
    """The plan in a file; `config_path` is the config.json of the preset that it names."""
    file = str(path)
    document = strict_json.parse(strict_json.read_file(path), file)
    try:
        return _plan_of(document, path.parent, config_path)
    except BadInput as error:
        error.file = error.file or file
        raise


def _plan_of(document, folder: pathlib.Path, config_path: pathlib.Path | None) -> Plan:
    if not isinstance(document, dict):
        raise BadInput("", f"a plan is an object, not {type_name(document)}", 'a plan begins with {"headroom_plan": 1, ...')
    _check_format(document)
    values = {field.path: copy.deepcopy(field.default) for field in FIELDS}
    groups = {path.rpartition(".")[0] for path in BY_PATH} - {""}
    for key, value in document.items():
        if key in ("headroom_plan", "model", "selective"):
            continue
        if key in groups:
            if not isinstance(value, dict):
                raise BadInput(key, f"must be an object, not {type_name(value)}", "known in it: " + ", ".join(keys_below(key)))
            for inner, inner_value in value.items():
                path = f"{key}.{inner}"
                if path not in BY_PATH:
                    raise unknown_key(key, inner)
                values[path] = BY_PATH[path].check(inner_value)
        elif key in BY_PATH and "." not in key:
            values[key] = BY_PATH[key].check(value)
        else:
            raise unknown_key("", key)
    model, config = _model_of(document.get("model"), folder, config_path)
    plan = Plan(values, model, config, _selective_of(document.get("selective")))
    _check_together(plan)
    return plan


def _check_format(document: dict) -> None:
    number = document.get("headroom_plan")
    if number is None:
        what = "this looks like a model's config.json" if "model_type" in document else 'a plan begins with {"headroom_plan": 1, ...'
        raise BadInput("headroom_plan", "missing", what)
    if isinstance(number, bool) or not isinstance(number, (int, float)) or number != int(number) or number < 1:
        raise BadInput("headroom_plan", "must be the number of the plan format", f"write {PLAN_FORMAT}")
    if number > PLAN_FORMAT:
        raise BadInput(
            "headroom_plan", f"plan format {int(number)} is newer than this probe, which reads up to {PLAN_FORMAT}", "update the probe"
        )


def _model_of(model, folder: pathlib.Path, config_path: pathlib.Path | None) -> tuple[dict, dict]:
    hint = 'write {"config": {...}} with the model\'s config.json, or {"config_path": "config.json"}'
    if not isinstance(model, dict):
        raise BadInput("model", "missing" if model is None else f"must be an object, not {type_name(model)}", hint)
    for key in model:
        if key not in keys_below("model"):
            raise unknown_key("model", key)
    # A preset may come with the config that it stands for, inlined by whoever knows the presets.
    if not model or len(model) - (set(model) == {"preset", "config"}) != 1:
        raise BadInput("model", "names no model" if not model else "names more than one model", hint)
    for key in ("preset", "config_path"):
        if key in model and (not isinstance(model[key], str) or not model[key] or "\0" in model[key] or len(model[key]) > 4096):
            raise BadInput("model." + key, "must be a string of at most 4096 characters", "name a preset or a file")
    named = {"preset": model["preset"]} if "preset" in model else dict(model)
    if config_path is not None and "config" not in model:
        return named, _config_of(strict_json.parse(strict_json.read_file(config_path), str(config_path)), str(config_path))
    if "config" in model:
        return named, _config_of(model["config"], "")
    if "config_path" in model:
        file = folder / model["config_path"]
        return named, _config_of(strict_json.parse(strict_json.read_file(file), str(file)), str(file))
    raise BadInput(
        "model.preset",
        f'the probe knows no presets, so not "{model["preset"][:80]}"',
        "let headroom-probe or headroom-cli write the plan, which puts the config in; or give its config.json with --config",
    )


def _config_of(config, file: str) -> dict:
    where = "" if file else "model.config"
    if not isinstance(config, dict):
        raise BadInput(where, f"a config.json is an object, not {type_name(config)}", "take the model's own config.json", file=file)
    if not isinstance(config.get("model_type"), str):
        raise BadInput(f"{where}.model_type".lstrip("."), "missing or not a string", "take the model's own config.json", file=file)
    for key in ("num_hidden_layers", "n_layer"):
        layers = config.get(key, 1)
        if isinstance(layers, bool) or not isinstance(layers, (int, float)) or not 1 <= layers <= MOST_LAYERS:
            raise BadInput(
                f"{where}.{key}".lstrip("."),
                f"must be a whole number from 1 to {MOST_LAYERS}",
                "take the model's own config.json",
                file=file,
            )
    for key in ("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads", "vocab_size"):
        size = config.get(key)
        if isinstance(size, (int, float)) and size < 1:  # of another kind it is transformers' to judge
            raise BadInput(f"{where}.{key}".lstrip("."), "must be at least 1", "take the model's own config.json", file=file)
    return config


def _selective_of(selective):
    hint = 'write null, {"every": 2}, {"operators": ["attention", "mlp"]} or {"policy": "torchtitan"}'
    if selective is None:
        return None
    if not isinstance(selective, dict) or len(selective) != 1:
        raise BadInput("selective", "must be null or an object that says one thing", hint)
    ((key, value),) = selective.items()
    good = {
        "every": lambda: isinstance(value, (int, float)) and not isinstance(value, bool) and value == int(value) and 1 <= value <= 10_000,
        "operators": lambda: (
            isinstance(value, list) and 0 < len(value) <= 1000 and all(isinstance(v, str) and 0 < len(v) <= 200 for v in value)
        ),
        "policy": lambda: value in ("torchtitan", "megatron"),
    }
    if key not in good:
        raise BadInput(f"selective.{key[:80]}", "unknown key", "known here: " + ", ".join(good))
    if not good[key]():
        raise BadInput(f"selective.{key}", "is none of its values", hint)
    return selective


def _check_together(plan: Plan) -> None:
    """What each field allows, but all of them together do not."""
    if plan["optimizer.in_backward"]:
        if plan["batch.gradient_accumulation"] > 1:
            raise BadInput(
                "optimizer.in_backward",
                "a step inside backward frees each gradient before the next micro-batch could add to it",
                "set batch.gradient_accumulation to 1 or optimizer.in_backward to false",
            )
        if plan["loop.clip_grad_norm"]:
            raise BadInput(
                "loop.clip_grad_norm",
                "a step inside backward frees each gradient before the norm of all is known",
                "set loop.clip_grad_norm or optimizer.in_backward to false",
            )
    if plan["parallel.engine"] == "none":
        if plan.ranks > 1 or plan["parallel.expert"] > 1:
            raise BadInput("parallel", "several GPUs without an engine", "set parallel.engine, or the number of GPUs to 1")
        if (plan["parallel.zero_stage"] or 0) > 0:
            raise BadInput("parallel.zero_stage", "a ZeRO stage without an engine", "set parallel.engine, or parallel.zero_stage to null")
    if plan["parallel.engine"] in ("fsdp1", "fsdp2") and plan["parallel.zero_stage"] in (0, 1):
        raise BadInput("parallel.zero_stage", "FSDP knows stages 2 and 3", "set it to 3, 2 or null")
