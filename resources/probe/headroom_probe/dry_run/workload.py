# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan's steps on fake CUDA tensors."""

from __future__ import annotations

from . import guard

guard.load()  # before torch

import logging  # noqa: E402
import warnings  # noqa: E402

import transformers  # noqa: E402
from torch._subclasses import FakeTensorMode  # noqa: E402

from .. import environment  # noqa: E402
from ..errors import Unsupported  # noqa: E402
from ..phases import PhaseMeter  # noqa: E402
from ..plan import Plan  # noqa: E402
from ..training import inventory, model as models, one_device  # noqa: E402
from . import device, kernels  # noqa: E402
from .ledger import Ledger  # noqa: E402
from .patches import Patches  # noqa: E402

#: FlashAttention 2's package has the buffers of PyTorch's own copy of it.
_ATTENTION = {"eager": "eager", "sdpa": "sdpa", "flash-attention-2": "sdpa"}


class DryRun:
    def __init__(self, plan: Plan):
        self._plan = plan
        self._patches = Patches()
        self._mode = FakeTensorMode(allow_non_fake_inputs=True)
        self._notes: list[str] = []
        self._loop = None
        self._saved: dict[int, int] = {}
        self._gradients: set[int] = set()
        self._steady = None
        warnings.filterwarnings("ignore")
        logging.getLogger("torch._subclasses.fake_tensor").setLevel(logging.CRITICAL)
        with self._mode:
            self.gauge = Ledger()
        self._stand_in()

    def _stand_in(self) -> None:
        plan, patches = self._plan, self._patches
        kernels.use(patches, self.gauge)
        # One full sequence a row: transformers reads from the position ids that nothing is packed, and here they have no values.
        patches.set(transformers.masking_utils, find_packed_sequence_indices=lambda position_ids: None)
        needed = environment.needs(plan, dry_run=True)
        bitsandbytes_needed, liger_needed = "bitsandbytes" in needed, "liger-kernel" in needed
        experts = any(
            isinstance(plan.config.get(key), int) and plan.config[key] > 0
            for key in ("num_local_experts", "num_experts", "n_routed_experts")
        )
        if not (bitsandbytes_needed or liger_needed or experts):
            return
        properties = device.properties_of(plan)
        device.pretend(patches, properties)
        self._notes.append(
            f"GPU: {properties.name} ({properties.multi_processor_count} multiprocessors, compute capability "
            f"{properties.major}.{properties.minor})"
        )
        if experts:
            self._notes.append("experts: transformers' grouped_mm, whose memory does not depend on how balanced the routing is")
        if bitsandbytes_needed:
            from . import bitsandbytes

            bitsandbytes.use(patches, self.gauge, properties)
        if liger_needed:
            from . import liger

            liger.prepare()
            self.gauge.assumes_values = True
        if plan["method.kind"] == "qlora" and plan["method.quantization"] == "int8":
            self._notes.append("LLM.int8(): no activation reaches the outlier threshold 6.0")

    def describe(self) -> dict:
        return {
            "versions": environment.versions() | {"cuda": None, "driver": None},
            "gpu": None,
            "notes": environment.notes_of(self._plan) + self._notes + self._paged_note(),
        }

    def _paged_note(self) -> list[str]:
        if not self._plan["optimizer.kind"].startswith("paged-") or self._loop is None:
            return []
        from ..training import quantization

        return [f"paged optimizer state, outside the figures: {quantization.paged_bytes()} bytes"]

    def load(self) -> None:
        with self._mode, self.gauge:
            self._loop = one_device.make_loop(
                self._plan, "cuda", self._patches, attention=_ATTENTION[self._plan["attention"]], fill=None, values=False
            )
        loop = self._loop
        loop.forward_began = self._forward_began
        loop.backward_begins = self._backward_begins
        loop.backward_ended = self._backward_ended

    def step(self, step: int, meter: PhaseMeter, last: bool) -> None:
        self.gauge.phase_of = lambda: meter.phase
        with self._mode, self.gauge:
            self._loop.step(meter)

    def after_step(self) -> None:
        self._steady = self.alive()

    def _forward_began(self) -> None:
        self._first_of_forward = self.gauge.born

    def _backward_begins(self) -> None:
        self._saved = self.gauge.born_since(self._first_of_forward)

    def _backward_ended(self) -> None:
        self._gradients |= {self.gauge.number_of(p.grad) for p in self._loop.parameters if p.grad is not None}

    def alive(self) -> dict:
        return inventory.of_loop(self._loop) | {"allocated": self.gauge.live}

    def figures(self) -> dict:
        return {
            "parameters": models.parameter_counts(self._loop.module) if self._loop else None,
            "steady": self._steady,
            "saved_activations": sum(size for number, size in self._saved.items() if number not in self._gradients)
            if self._steady
            else None,
        }

    def is_out_of_memory(self, error: BaseException) -> bool:
        return False

    def write_snapshot(self, path) -> None:
        raise Unsupported("--snapshot", "a dry run has no allocator to record", "run on a GPU")

    def close(self, failed: bool) -> None:
        self._loop = None
        self._patches.close()
