# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says what the probe does not run, before anything is loaded: refused with the reason, never run as something else."""

from __future__ import annotations

import os

from . import precision
from .errors import BadInput, Unsupported
from .plan import Plan

ENGINES = ("none", "ddp", "deepspeed", "fsdp1", "fsdp2")
#: Optimizers of bitsandbytes: the plan's name, its class there.
BITSANDBYTES_OPTIMIZERS = {
    "adamw-8bit": "AdamW8bit",
    "paged-adamw-8bit": "PagedAdamW8bit",
    "paged-adamw-32bit": "PagedAdamW32bit",
    "lion": "Lion",
    "lion-8bit": "Lion8bit",
}


def check(plan: Plan, dry_run: bool) -> None:
    resolved = precision.resolve(plan)
    engine = plan["parallel.engine"]
    if plan["stack"] != "transformers":
        raise Unsupported("stack", f"the probe does not run {plan['stack']}'s layers", "it runs those of transformers")
    if engine not in ENGINES:
        raise Unsupported("parallel.engine", f"the probe does not run {engine}", "it runs " + ", ".join(ENGINES))
    for path in ("parallel.tensor", "parallel.pipeline", "parallel.virtual_pipeline", "parallel.context", "parallel.expert"):
        if plan[path] > 1:
            raise Unsupported(path, "the probe runs data parallelism only", "set it to 1")
    if plan["parallel.sequence_parallel"]:
        raise Unsupported("parallel.sequence_parallel", "the probe runs data parallelism only", "set it to false")
    _check_selective(plan)
    if plan["method.kind"] == "qlora" and plan["method.quantization"] == "gptq-int4":
        raise Unsupported(
            "method.quantization", "weights of GPTQ cannot be made from a config alone", "the probe runs nf4, nf4-double, fp4 and int8"
        )
    if resolved.master and engine != "deepspeed" and not (engine == "none" and not dry_run):
        raise Unsupported("precision.recipe", "master weights are DeepSpeed's", 'set parallel.engine to "deepspeed" or take another recipe')
    if plan["loss"] == "chunked" and plan.tokens % 8:
        raise Unsupported("loss", f"{plan.tokens} tokens cannot be divided in 8 chunks", "choose a micro-batch or length that can")
    if dry_run:
        _check_dry_run(plan)
    elif engine != "none":
        _check_engine(plan, resolved)
    if engine == "deepspeed" and plan["parallel.offload"] == "optimizer-and-parameters" and plan["parallel.zero_stage"] != 3:
        raise BadInput("parallel.offload", "DeepSpeed offloads parameters with stage 3 only", "set parallel.zero_stage to 3")


def _check_selective(plan: Plan) -> None:
    if plan["checkpointing"] != "selective":
        if plan.selective is not None:
            raise BadInput("selective", f"checkpointing is {plan['checkpointing']}: there is nothing to select", "set selective to null")
        return
    if plan.selective is None:
        raise BadInput("selective", "checkpointing is selective, but nothing says what is kept", 'give selective, for example {"every": 2}')
    if "every" not in plan.selective:
        raise Unsupported(
            "selective", "the probe checkpoints whole layers only", 'give {"every": n}, or set checkpointing to "none" or "full"'
        )
    if plan["method.kind"] == "qlora" and plan["method.kbit_preparation"]:
        raise Unsupported("method.kbit_preparation", "it checkpoints every layer or none", "set it to false, or checkpointing to full")


def _check_dry_run(plan: Plan) -> None:
    if plan["parallel.engine"] != "none":
        raise Unsupported(
            "parallel.engine",
            f"a dry run does not run {plan['parallel.engine']}: its communication needs GPUs",
            'run it on them, or set parallel.engine to "none"',
        )
    if plan["compile"]:
        raise Unsupported("compile", "a dry run cannot see what compiled kernels allocate", "set it to false, or run on a GPU")


def _check_engine(plan: Plan, resolved: precision.Precision) -> None:
    engine = plan["parallel.engine"]
    if engine == "deepspeed" and not resolved.master:
        raise Unsupported("precision.recipe", "with DeepSpeed the probe runs bf16-master and fp16-master", "choose one of the two")
    if engine == "deepspeed" and plan["parallel.no_sync"]:
        raise Unsupported("parallel.no_sync", "DeepSpeed decides itself when it reduces", "set it to false")
    if engine == "deepspeed" and plan["optimizer.kind"] == "muon":
        raise Unsupported("optimizer.kind", "the probe does not run muon with deepspeed", "choose another")
    if engine.startswith("fsdp") and plan["precision.recipe"] not in ("fp32", "bf16", "bf16-autocast", "fp16-autocast"):
        raise Unsupported(
            "precision.recipe",
            f"the probe does not run {plan['precision.recipe']} with {engine}",
            "choose fp32, bf16, bf16-autocast or fp16-autocast",
        )
    if engine == "ddp" and plan["parallel.offload"] != "none":
        raise BadInput("parallel.offload", "DDP offloads nothing", 'set parallel.offload to "none"')
    for path, bad in (("method.kind", "qlora"), ("compile", True), ("optimizer.in_backward", True)):
        if engine != "ddp" and plan[path] == bad:
            raise Unsupported(path, f"the probe does not run this with {engine}", "choose another, or parallel.engine none")
    if engine == "ddp" and plan["optimizer.in_backward"]:
        raise Unsupported("optimizer.in_backward", "DDP reduces gradients after the step would have freed them", "set it to false")


def ranks_of_run(plan: Plan, environment=os.environ) -> tuple[int, int, int]:
    """(rank, ranks, local rank), as torchrun says; they must be what the plan asks for."""
    numbers = []
    for name, default in (("RANK", "0"), ("WORLD_SIZE", "1"), ("LOCAL_RANK", "0")):
        text = environment.get(name, default)
        if not text.isascii() or not text.isdigit() or len(text) > 9:
            raise BadInput(name, f'the environment variable is "{text[:40]}", not a number', "start the probe with torchrun, or unset it")
        numbers.append(int(text))
    rank, ranks, local = numbers
    if ranks != plan.ranks or rank >= ranks:
        raise BadInput(
            "parallel.data",
            f"the plan needs {plan.ranks} ranks, and {ranks} started",
            f"torchrun --nproc-per-node {plan.ranks} PROBE run PLAN --output FILE"
            if plan.ranks > 1
            else "start the probe without torchrun",
        )
    return rank, ranks, local
