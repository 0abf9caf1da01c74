# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run, from a plan to its result file."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import sys
import traceback
from typing import Protocol
from collections.abc import Callable

from . import RESULT_FORMAT, output, scope
from .errors import FAILED, OK, ProbeError
from .phases import Gauge, PhaseMeter
from .plan import Plan
from .progress import Progress


LONGEST_MESSAGE = 4000


@dataclasses.dataclass(frozen=True)
class Options:
    output: pathlib.Path
    dry_run: bool = False
    steps: int = 3
    snapshot: pathlib.Path | None = None
    #: with the snapshot, the Python stack of every allocation
    history: bool = False
    rank: int = 0
    ranks: int = 1
    local_rank: int = 0


class Workload(Protocol):
    """What runs the plan: gpu.workload, dry_run.workload, or a stand-in of the tests."""

    gauge: Gauge

    def describe(self) -> dict:
        """What is known before loading: versions, gpu and notes, as the result has them."""

    def load(self) -> None: ...

    def step(self, step: int, meter: PhaseMeter, last: bool) -> None:
        """One step of the plan's loop, entering each phase."""

    def after_step(self) -> None:
        """Outside what is measured: counts what lives between two steps."""

    def alive(self) -> dict:
        """Bytes of weights, gradients and optimizer state, and what is allocated, at this moment."""

    def figures(self) -> dict:
        """parameters, steady and saved_activations, as far as they are known."""

    def is_out_of_memory(self, error: BaseException) -> bool: ...

    def write_snapshot(self, path: pathlib.Path) -> None: ...

    def close(self, failed: bool) -> None:
        """Lets go of what must not outlive the run. Called once, after everything else, the writing of the result included."""


def run(plan: Plan, options: Options, make_workload: Callable[[Plan, Options], Workload], progress: Progress) -> int:
    """Runs the plan and writes the result; returns the exit status."""
    scope.check(plan, options.dry_run)
    target = output.path_of_rank(options.output, options.rank)
    output.check_writable(target)
    snapshot = output.path_of_rank(options.snapshot, options.rank) if options.snapshot else None
    if snapshot:
        output.check_writable(snapshot)
    progress.say("importing libraries")
    workload = make_workload(plan, options)
    failed = True
    try:
        result = _measure(plan, options, workload, progress)
        if snapshot:
            progress.say(f"writing {snapshot.name}")
            workload.write_snapshot(snapshot)
        output.write_json(target, result)
        error = result["error"]
        failed = error is not None
        progress.say(f"wrote {target.name}: {error['kind']}" if failed else f"wrote {target.name}")
        if failed and error["kind"] != "out-of-memory":
            rank = f"rank {options.rank}: " if options.ranks > 1 else ""
            print(f"headroom_probe: {rank}the run broke off: {error['message']}", file=sys.stderr)
            return FAILED
        # Of several ranks the others wait for this one: torchrun ends them where one fails.
        return FAILED if failed and options.ranks > 1 else OK
    finally:
        workload.close(failed)


def _measure(plan: Plan, options: Options, workload: Workload, progress: Progress) -> dict:
    tokens = plan.tokens * plan["batch.gradient_accumulation"]
    meter = PhaseMeter(workload.gauge, tokens, lambda step, phase: progress.say(_saying(step, options.steps, phase), step, phase))
    error = None
    try:
        meter.begin_load()
        workload.load()
        meter.end_load()
        for step in range(options.steps):
            meter.begin_step(step)
            workload.step(step, meter, last=step == options.steps - 1)
            meter.end_step()
            workload.after_step()
    except (ProbeError, KeyboardInterrupt):
        raise
    except Exception as caught:
        error = _error_of(caught, workload.is_out_of_memory(caught), meter)
        with contextlib.suppress(Exception):  # the device may answer nothing any more
            error["alive"] = workload.alive()
        meter.break_off()
    return {
        "headroom_probe": RESULT_FORMAT,
        "plan": plan.document(),
        "model_config": None if "config" in plan.model else plan.config,
        "how": "dry-run" if options.dry_run else "gpu",
        **workload.describe(),
        "rank": options.rank,
        "ranks": options.ranks,
        **workload.figures(),
        "load": meter.load,
        "steps": meter.steps,
        "marks": meter.marks,
        "error": error,
    }


def _error_of(caught: Exception, out_of_memory: bool, meter: PhaseMeter) -> dict:
    message = str(caught).strip()[:LONGEST_MESSAGE] or type(caught).__name__
    return {
        "kind": "out-of-memory" if out_of_memory else "failed",
        "message": message if out_of_memory else f"{type(caught).__name__}: {message}",
        "step": meter.step,
        "phase": meter.phase,
        "place": None if out_of_memory else _place_of(caught),
    }


def _place_of(caught: Exception) -> str:
    """The innermost function, for a report of an error that should not be."""
    frames = traceback.extract_tb(caught.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno} in {frames[-1].name}" if frames else ""


def _saying(step: int | None, steps: int, phase: str) -> str:
    return "loading the model" if step is None else f"step {step + 1} of {steps}: {phase}"
