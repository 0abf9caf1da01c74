# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields of a plan, as docs/plan-format.md has them: path, values, range, default.

Ranges are those of Headroom's own table (core/plan/field_table.cpp).
"""

from __future__ import annotations

import dataclasses
import difflib

from .errors import BadInput

LONGEST_TEXT = 1000
LONGEST_LIST = 1000
MOST_ELEMENTS = 10**12

DTYPES = ("float32", "bfloat16", "float16")


@dataclasses.dataclass(frozen=True)
class Field:
    path: str
    default: object
    choices: tuple[str, ...] = ()
    low: float = 0
    high: float = 0
    kind: str = "choice"  # choice | boolean | integer | real | text | texts
    nullable: bool = False

    def check(self, value):
        """The value as the probe uses it; raises BadInput where it is none of this field's."""
        if value is None and self.nullable:
            return None
        return getattr(self, "_" + self.kind)(value)

    def _fault(self, what: str, hint: str):
        raise BadInput(self.path, what, hint + (", or null" if self.nullable else ""))

    def _choice(self, value):
        hint = "Allowed: " + ", ".join(self.choices)
        if not isinstance(value, str):
            self._fault(f"must be a string, not {type_name(value)}", hint)
        if value not in self.choices:
            self._fault(f'"{value[:80]}" is not one of its values', hint)
        return value

    def _boolean(self, value):
        if not isinstance(value, bool):
            self._fault(f"must be true or false, not {type_name(value)}", "write true or false")
        return value

    def _integer(self, value):
        hint = f"write a whole number from {self.low} to {self.high}"
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self._fault(f"must be a whole number, not {type_name(value)}", hint)
        if value != int(value):
            self._fault("must be a whole number", hint)
        self._in_range(value, hint)
        return int(value)

    def _real(self, value):
        hint = f"write a number from {self.low} to {self.high}"
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self._fault(f"must be a number, not {type_name(value)}", hint)
        self._in_range(value, hint)
        return float(value)

    def _in_range(self, value, hint: str):
        if value < self.low:
            self._fault(f"must be at least {self.low}", hint)
        if value > self.high:
            self._fault(f"must be at most {self.high}", hint)

    def _text(self, value):
        if self.path == "runtime.rank" and isinstance(value, int) and not isinstance(value, bool):
            value = str(value)  # a rank may be written as the number that it is
        if not isinstance(value, str):
            self._fault(f"must be a string, not {type_name(value)}", "write it in quotes")
        if len(value) > LONGEST_TEXT:
            self._fault(f"is longer than {LONGEST_TEXT} characters", "shorten it")
        return value

    def _texts(self, value):
        if self.path == "method.targets" and value == "all-linear":
            return value
        hint = 'for example ["q_proj", "v_proj"]'
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            self._fault(f"must be a list of strings, not {type_name(value)}", hint)
        if self.path == "method.targets" and not value:
            self._fault("names no module", 'write "all-linear" or a list, ' + hint)
        if len(value) > LONGEST_LIST or any(not entry or len(entry) > LONGEST_TEXT for entry in value):
            self._fault("is too long, or has an entry that is empty or too long", "name one thing an entry")
        if len(set(value)) != len(value):
            self._fault("lists something twice", "keep one of the two")
        return list(value)


def choice(path: str, default, *choices: str, nullable: bool = False) -> Field:
    return Field(path, default, choices, nullable=nullable)


def boolean(path: str, default, nullable: bool = False) -> Field:
    return Field(path, default, kind="boolean", nullable=nullable)


def integer(path: str, default, low: int, high: int, nullable: bool = False) -> Field:
    return Field(path, default, low=low, high=high, kind="integer", nullable=nullable)


FIELDS: tuple[Field, ...] = (
    Field("name", "", kind="text"),
    choice("method.kind", "full", "full", "lora", "qlora"),
    integer("method.rank", 16, 1, 65536),
    Field("method.targets", "all-linear", kind="texts"),
    Field("method.dropout", 0.0, low=0, high=0.99, kind="real"),
    choice("method.adapter_dtype", "float32", *DTYPES),
    boolean("method.dora", False),
    Field("method.modules_to_save", [], kind="texts"),
    choice("method.quantization", "nf4-double", "nf4", "nf4-double", "fp4", "int8", "gptq-int4"),
    boolean("method.kbit_preparation", True),
    choice(
        "precision.recipe",
        "bf16",
        "fp32",
        "bf16",
        "fp16",
        "bf16-autocast",
        "fp16-autocast",
        "bf16-master",
        "fp16-master",
        "megatron-bf16",
        "fp8",
    ),
    choice("precision.weights", None, *DTYPES, nullable=True),
    choice("precision.gradients", None, *DTYPES, nullable=True),
    choice("precision.master", None, *DTYPES, "none", nullable=True),
    choice("precision.moments", None, *DTYPES, nullable=True),
    choice("precision.autocast", None, *DTYPES, "none", nullable=True),
    integer("batch.micro_batch", 1, 1, 65536),
    integer("batch.sequence_length", 4096, 1, 16_777_216),
    integer("batch.gradient_accumulation", 1, 1, 65536),
    choice(
        "optimizer.kind",
        "adamw",
        "adamw",
        "adam",
        "sgd",
        "sgd-momentum",
        "adafactor",
        "lion",
        "muon",
        "adamw-8bit",
        "paged-adamw-8bit",
        "paged-adamw-32bit",
        "lion-8bit",
    ),
    choice("optimizer.implementation", "fused", "fused", "foreach", "for-loop"),
    boolean("optimizer.in_backward", False),
    boolean("loop.outputs_held", False),
    choice("loop.zero_grad", "to-none", "to-none", "zeros"),
    boolean("loop.clip_grad_norm", False),
    choice("checkpointing", "none", "none", "selective", "full"),
    boolean("reentrant_checkpointing", False),
    choice("attention", "sdpa", "eager", "sdpa", "flash-attention-2"),
    choice("loss", "logits", "logits", "chunked", "fused-linear"),
    choice("kernels", "eager", "eager", "liger"),
    boolean("compile", False),
    choice("parallel.engine", "none", "none", "ddp", "deepspeed", "fsdp1", "fsdp2", "megatron"),
    integer("parallel.data", 1, 1, 1_048_576),
    integer("parallel.zero_stage", None, 0, 3, nullable=True),
    integer("parallel.tensor", 1, 1, 65536),
    boolean("parallel.sequence_parallel", False),
    integer("parallel.pipeline", 1, 1, 10000),
    integer("parallel.virtual_pipeline", 1, 1, 10000),
    integer("parallel.context", 1, 1, 65536),
    integer("parallel.expert", 1, 1, 65536),
    choice("parallel.offload", "none", "none", "optimizer", "optimizer-and-parameters"),
    integer("parallel.reduce_bucket_elements", 500_000_000, 1, MOST_ELEMENTS),
    integer("parallel.allgather_bucket_elements", 500_000_000, 1, MOST_ELEMENTS),
    boolean("parallel.overlap_communication", None, nullable=True),
    choice("parallel.bucket_sizes", "explicit", "explicit", "auto"),
    integer("parallel.stage3_prefetch_bucket_size", 50_000_000, 0, MOST_ELEMENTS),
    integer("parallel.stage3_param_persistence_threshold", 100_000, 0, MOST_ELEMENTS),
    integer("parallel.stage3_max_live_parameters", 1_000_000_000, 0, MOST_ELEMENTS),
    integer("parallel.stage3_max_reuse_distance", 1_000_000_000, 0, MOST_ELEMENTS),
    choice("parallel.wrap", "layers", "layers", "accelerate"),
    boolean("parallel.no_sync", False),
    choice("parallel.reduce_dtype", None, *DTYPES, nullable=True),
    boolean("parallel.gradient_as_bucket_view", False),
    boolean("parallel.reshard_after_forward", True),
    choice("stack", "transformers", "transformers", "torchtitan", "torchtune", "litgpt", "megatron"),
    Field("runtime.torch", "2.13", kind="text"),
    Field("runtime.transformers", "5.24", kind="text"),
    boolean("runtime.expandable_segments", False),
    integer("runtime.max_split_size_mb", None, 21, 16_777_216, nullable=True),
    Field("runtime.rank", "worst", kind="text"),
    choice("runtime.allocator", "caching", "caching", "rounded"),
    integer("runtime.cublas_workspace_bytes", None, 0, 1 << 40, nullable=True),
    Field("gpus", [], kind="texts"),
)
BY_PATH = {field.path: field for field in FIELDS}


def keys_below(group: str) -> list[str]:
    """The keys that may stand in an object of the plan; "" is the plan itself."""
    if group == "model":
        return ["preset", "config", "config_path"]
    keys = ["headroom_plan", "model", "selective"] if not group else []
    for path in BY_PATH:
        if not group:
            keys.append(path.split(".")[0])
        elif path.startswith(group + "."):
            keys.append(path[len(group) + 1 :])
    return list(dict.fromkeys(keys))


def unknown_key(group: str, key: str) -> BadInput:
    meant = difflib.get_close_matches(key, keys_below(group), n=1)
    hint = f'did you mean "{meant[0]}"?' if meant else "known here: " + ", ".join(keys_below(group))
    return BadInput(f"{group}.{key[:80]}" if group else key[:80], "unknown key", hint)


def type_name(value) -> str:
    for kind, name in ((bool, "true or false"), (int, "a number"), (float, "a number"), (str, "a string"), (dict, "an object")):
        if isinstance(value, kind):
            return name
    return "null" if value is None else "a list"
