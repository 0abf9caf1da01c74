# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GPU that a dry run stands on: its properties decide kernels and sizes of buffers."""

from __future__ import annotations

import json
import pathlib
import pkgutil
import re
import types

import torch

from ..plan import Plan
from .patches import Patches

#: Where the plan names no GPU, or none whose multiprocessors are known.
DEFAULT = types.SimpleNamespace(name="NVIDIA A100-SXM4-80GB", multi_processor_count=108, major=8, minor=0, total_memory=81920 << 20)


def catalogue() -> list[dict]:
    """Headroom's GPUs: packed beside this package, or where they lie in the source tree."""
    try:
        data = pkgutil.get_data(__package__, "gpus.json")
    except (FileNotFoundError, OSError):
        source = pathlib.Path(__file__).resolve().parents[4] / "presets" / "gpus.json"
        data = source.read_bytes() if source.is_file() else b'{"gpus": []}'
    return json.loads(data)["gpus"]


def properties_of(plan: Plan):
    wanted = plan["gpus"][0] if plan["gpus"] else None
    for gpu in catalogue():
        if gpu["id"] == wanted and gpu.get("multiprocessors") and re.fullmatch(r"\d+\.\d+", gpu["compute_capability"]):
            major, minor = map(int, gpu["compute_capability"].split("."))
            return types.SimpleNamespace(
                name=gpu["name"],
                multi_processor_count=gpu["multiprocessors"],
                major=major,
                minor=minor,
                total_memory=gpu["capacity_mib"] << 20,
            )
    return DEFAULT


def pretend(patches: Patches, properties) -> None:
    """Answers the questions about the device that bitsandbytes, Liger and transformers' experts ask."""
    patches.set(
        torch.cuda,
        get_device_properties=lambda device=None: properties,
        get_device_capability=lambda device=None: (properties.major, properties.minor),
        synchronize=lambda device=None: None,
        _exchange_device=lambda device: 0,
        _maybe_exchange_device=lambda device: 0,
    )
