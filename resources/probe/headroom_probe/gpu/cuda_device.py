# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""One GPU: every call of torch.cuda that the probe makes is here, and nowhere else."""

from __future__ import annotations

import pathlib

import torch

from ..errors import EnvironmentFault
from ..training.model import OutOfMemory
from .nvml import Nvml

#: What libraries outside PyTorch's allocator say when memory is short.
_OUT_OF_MEMORY = (
    "CUDA error: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "Failed to CUDA calloc",
    "Cuda failure 2 'out of memory'",
)


def count() -> int:
    return torch.cuda.device_count()


class CudaDevice:
    """A gauge for phases.PhaseMeter, and the properties of its GPU."""

    timed = True
    backend = "nccl"

    def __init__(self, local_rank: int, nvml_open=Nvml.open):
        # Before PyTorch makes its context: what is used now is used by others.
        self._nvml = nvml_open()
        before = {uuid: self._nvml.used(handle) for uuid, handle in self._nvml.devices().items()} if self._nvml else {}
        if not torch.cuda.is_available():
            built = torch.version.cuda or getattr(torch.version, "hip", None)
            raise EnvironmentFault(
                "",
                f"PyTorch {torch.__version__} finds no GPU" if built else f"PyTorch {torch.__version__} is built without CUDA",
                "run it where there is one, or with --dry-run",
            )
        count = torch.cuda.device_count()
        if local_rank >= count:
            raise EnvironmentFault(
                "", f"local rank {local_rank} has no GPU: this machine shows {count}", "start fewer ranks on this machine"
            )
        self.index = local_rank
        self.name = f"cuda:{local_rank}"
        torch.cuda.set_device(local_rank)
        self._properties = torch.cuda.get_device_properties(local_rank)
        self._handle, self.used_by_others = self._match(before)

    def _match(self, before: dict) -> tuple[object, int | None]:
        """NVML's handle of this GPU, and what others used of it."""
        if self._nvml is None:
            return None, None
        uuid = str(getattr(self._properties, "uuid", "") or "")
        found = next((name for name in before if uuid and name.endswith(uuid)), None)
        if found is None and len(before) == 1 and torch.cuda.device_count() == 1:
            found = next(iter(before))
        if found is None or before[found] is None:
            return None, None
        return self._nvml.devices()[found], before[found]

    @property
    def source(self) -> str:
        """Where device figures come from, for the result's notes."""
        return (
            "device figures: cudaMemGetInfo, others on the GPU included"
            if self._handle is None
            else "device figures: NVML, without what others used before the run"
        )

    def describe(self) -> dict:
        return {
            "name": self._properties.name,
            "capacity": self._properties.total_memory,
            "compute_capability": f"{self._properties.major}.{self._properties.minor}",
            "used_by_others": self.used_by_others,
        }

    def versions(self) -> dict:
        return {"cuda": torch.version.cuda or getattr(torch.version, "hip", None), "driver": self._nvml.driver() if self._nvml else None}

    # -- the gauge
    def synchronize(self) -> None:
        torch.cuda.synchronize(self.index)

    def reset_peaks(self) -> None:
        self.synchronize()
        torch.cuda.reset_peak_memory_stats(self.index)

    def peaks(self) -> dict:
        return self._figures("peak")

    def now(self) -> dict:
        return self._figures("current")

    def allocated(self) -> int:
        return torch.cuda.memory_allocated(self.index)

    def _figures(self, which: str) -> dict:
        stats = torch.cuda.memory_stats(self.index)
        return {name: int(stats.get(f"{name}_bytes.all.{which}", 0)) for name in ("allocated", "active", "reserved")} | {
            "device": self._used()
        }

    def _used(self) -> int | None:
        """Of this moment: reserved memory is kept until the allocator is short, so a phase's end shows its highest."""
        if self._handle is not None:
            used = self._nvml.used(self._handle)
            return None if used is None else max(0, used - self.used_by_others)
        free, total = torch.cuda.mem_get_info(self.index)
        return total - free

    def is_out_of_memory(self, error: BaseException) -> bool:
        return isinstance(error, OutOfMemory) or (isinstance(error, RuntimeError) and any(text in str(error) for text in _OUT_OF_MEMORY))

    # -- snapshots
    def record_history(self, stacks: bool) -> None:
        torch.cuda.memory._record_memory_history("all", context="all" if stacks else None, stacks="python")

    def write_snapshot(self, path: pathlib.Path) -> None:
        torch.cuda.memory._dump_snapshot(str(path))
        torch.cuda.memory._record_memory_history(None)

    def close(self) -> None:
        if self._nvml is not None:
            self._nvml.close()
