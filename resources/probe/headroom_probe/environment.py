# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The libraries and environment variables that a plan needs, seen to before PyTorch is imported. Nothing is ever installed."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import logging
import os
import re
import warnings

from . import precision
from .errors import EnvironmentFault
from .plan import Plan
from .scope import BITSANDBYTES_OPTIMIZERS

#: Lowest versions. A dry run stands in for insides of PyTorch and transformers, so it wants those that it was tested with.
LOWEST = {
    "torch": (2, 4),
    "transformers": (4, 48),
    "peft": (0, 12),
    "bitsandbytes": (0, 43),
    "deepspeed": (0, 14),
    "liger-kernel": (0, 5),
    "flash-attn": (2, 5),
}
LOWEST_DRY = {**LOWEST, "torch": (2, 12), "transformers": (5, 0), "peft": (0, 18), "bitsandbytes": (0, 48), "liger-kernel": (0, 8)}
_MODULES = {"liger-kernel": "liger_kernel", "flash-attn": "flash_attn"}


def engine_of(plan: Plan) -> str:
    """Master weights on one GPU are DeepSpeed's ZeRO-0 code on one rank (docs/plan-format.md)."""
    return "deepspeed" if precision.resolve(plan).master else plan["parallel.engine"]


def needs(plan: Plan, dry_run: bool) -> dict[str, str]:
    """Each distribution that the plan needs, with the reason."""
    wanted = {"torch": "everything", "transformers": "the model"}
    kind, optimizer = plan["method.kind"], plan["optimizer.kind"]
    if kind != "full":
        wanted["peft"] = f"method.kind {kind}"
    if kind == "qlora":
        wanted["bitsandbytes"] = "method.kind qlora"
    elif optimizer in BITSANDBYTES_OPTIMIZERS:
        wanted["bitsandbytes"] = f"optimizer.kind {optimizer}"
    if plan["kernels"] == "liger" or plan["loss"] == "fused-linear":
        wanted["liger-kernel"] = "kernels liger" if plan["kernels"] == "liger" else "loss fused-linear"
    if engine_of(plan) == "deepspeed":
        wanted["deepspeed"] = (
            "parallel.engine deepspeed" if plan["parallel.engine"] == "deepspeed" else f"precision.recipe {plan['precision.recipe']}"
        )
    if plan["attention"] == "flash-attention-2" and not dry_run:
        wanted["flash-attn"] = "attention flash-attention-2"
    return wanted


def version_of(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def numbers_of(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.split("+", 1)[0])[:2])


def check_libraries(plan: Plan, dry_run: bool) -> None:
    """One message for all that is missing or too old."""
    missing = []
    for distribution, reason in needs(plan, dry_run).items():
        lowest = (LOWEST_DRY if dry_run else LOWEST)[distribution]
        if distribution == "transformers" and plan["method.kind"] == "qlora":
            lowest = LOWEST_DRY[distribution]  # weights are quantised as its integration does since then
        least, version = ".".join(map(str, lowest)), version_of(distribution)
        if version is None or importlib.util.find_spec(_MODULES.get(distribution, distribution)) is None:
            missing.append(f"{distribution} >= {least} (for {reason}) is missing")
        elif numbers_of(version) < lowest:
            missing.append(f"{distribution} >= {least} (for {reason}) is needed, {version} is installed")
    if missing:
        raise EnvironmentFault(
            "", "; ".join(missing), "install it into the Python that runs the probe, or choose that Python with --python"
        )


def allocator_options(plan: Plan) -> str:
    options = []
    if plan["runtime.expandable_segments"]:
        options.append("expandable_segments:True")
    if plan["runtime.max_split_size_mb"] is not None:
        options.append(f"max_split_size_mb:{plan['runtime.max_split_size_mb']}")
    return ",".join(options)


def variables(plan: Plan, dry_run: bool, torch_version: tuple[int, ...]) -> dict[str, str | None]:
    """Environment variables of the run; None: not set, whatever it was."""
    made: dict[str, str | None] = {
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "TRANSFORMERS_VERBOSITY": "error",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTORCH_ALLOC_CONF": None,
        "PYTORCH_CUDA_ALLOC_CONF": None,
    }
    if dry_run:
        made["CUDA_VISIBLE_DEVICES"] = ""
        return made
    # The name without CUDA in it came with 2.9 (c10/core/AllocatorConfig.h); the old one is deprecated since.
    made["PYTORCH_ALLOC_CONF" if torch_version >= (2, 9) else "PYTORCH_CUDA_ALLOC_CONF"] = allocator_options(plan) or None
    workspace = plan["runtime.cublas_workspace_bytes"]
    if workspace is not None:
        # :KiB:count; sizes add up (aten/src/ATen/cuda/CublasHandlePool.cpp, parseChosenWorkspaceSize). :0:0 is none.
        made["CUBLAS_WORKSPACE_CONFIG"] = f":{-(-workspace // 1024)}:1" if workspace else ":0:0"
    return made


def apply_variables(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def notes_of(plan: Plan) -> list[str]:
    """Where the installed versions are not those that the plan names."""
    notes = []
    for distribution in ("torch", "transformers"):
        installed, planned = version_of(distribution), plan[f"runtime.{distribution}"]
        if installed and numbers_of(installed) != numbers_of(planned):
            notes.append(f"the plan says {distribution} {planned}, {installed} ran")
    return notes


def versions() -> dict[str, str | None]:
    return {name: version_of(name) for name in ("torch", "transformers", "peft", "bitsandbytes", "deepspeed")} | {
        "liger_kernel": version_of("liger-kernel")
    }


def count_gpus() -> int:
    """GPUs that PyTorch sees; CUDA_VISIBLE_DEVICES is heeded."""
    try:
        from .gpu.cuda_device import count
    except ImportError as error:
        raise EnvironmentFault("", f"a library cannot be imported: {error}", "mend the Python environment that runs the probe") from error
    return count()


def workload_for(plan: Plan, options):
    """Checks and prepares the environment, imports PyTorch and makes what runs the plan."""
    check_libraries(plan, options.dry_run)
    apply_variables(variables(plan, options.dry_run, numbers_of(version_of("torch") or "0")))
    # What they say to whoever trains is noise here; errors are not.
    for name in ("bitsandbytes", "transformers", "peft", "liger_kernel"):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.simplefilter("ignore", FutureWarning)
    try:
        if options.dry_run:
            from .dry_run.workload import DryRun

            return DryRun(plan)
        from .gpu.workload import make

        return make(plan, options)
    except ImportError as error:
        raise EnvironmentFault("", f"a library cannot be imported: {error}", "mend the Python environment that runs the probe") from error
