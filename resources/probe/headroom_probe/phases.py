# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The peaks of each phase of a step: load, forward, loss, backward, optimizer, idle (docs/plan-format.md)."""

from __future__ import annotations

import time
from typing import Protocol
from collections.abc import Callable

PHASES = ("load", "forward", "loss", "backward", "optimizer", "idle")
#: What is measured of each; a figure that cannot be known is None.
FIGURES = ("allocated", "active", "reserved", "device")


class Gauge(Protocol):
    """Whatever counts the memory of a device."""

    timed: bool  #: whether seconds mean anything

    def synchronize(self) -> None: ...

    def reset_peaks(self) -> None: ...

    def peaks(self) -> dict:
        """Highest figures since reset_peaks(), at least those of that moment; keys are FIGURES."""

    def now(self) -> dict:
        """The figures of this moment."""


class PhaseMeter:
    """Cuts a run into phases and notes the peaks of each. A phase that comes again in a step (micro-batches) keeps its highest."""

    def __init__(self, gauge: Gauge, tokens_per_step: int, said: Callable[[int | None, str], None] = lambda step, phase: None):
        self._gauge, self._tokens, self._said = gauge, tokens_per_step, said
        self.step: int | None = None
        self.phase: str | None = None
        self.load: dict | None = None
        self.steps: list[dict] = []
        #: when each phase began, in microseconds since 1970, the clock of PyTorch's memory snapshots
        self.marks: list[dict] = []
        self._phases: dict[str, dict] = {}
        self._started = 0.0

    def enter(self, phase: str) -> None:
        """Ends the running phase and begins this one."""
        self.leave()
        self.phase = phase
        self._said(self.step, phase)
        if self._gauge.timed:
            self.marks.append({"step": self.step, "phase": phase, "time_us": time.time_ns() // 1000})
        if phase != "idle":
            self._gauge.reset_peaks()

    def leave(self) -> None:
        if self.phase is None:
            return
        self._gauge.synchronize()
        seen, phase = self._gauge.now() if self.phase == "idle" else self._gauge.peaks(), self.phase
        self.phase = None
        kept = self._phases.setdefault(phase, {})
        for name, value in seen.items():
            known = kept.get(name)
            kept[name] = value if known is None else known if value is None else max(known, value)

    def begin_load(self) -> None:
        self._begin(None)
        self.enter("load")

    def end_load(self) -> None:
        self.leave()
        self.load = {"seconds": self._seconds(), **self._phases.pop("load")}

    def begin_step(self, step: int) -> None:
        self._begin(step)

    def end_step(self) -> None:
        """The step's phases are over: what follows is no longer counted to it."""
        self.leave()
        seconds = self._seconds()
        running = [figures for phase, figures in self._phases.items() if phase != "idle"]
        self.steps.append(
            {
                "seconds": seconds,
                "tokens_per_second": self._tokens / seconds if seconds else None,
                **{name: highest(figures.get(name) for figures in running) for name in FIGURES},
                "phases": [{"name": phase, **self._phases[phase]} for phase in PHASES if phase in self._phases],
            }
        )
        self._phases = {}

    def break_off(self) -> None:
        """Keeps what is known of a load or step that did not come to its end."""
        try:
            self.leave()
        except Exception:  # the device may answer nothing any more
            self.phase = None
        if "load" in self._phases:
            self.load = {"seconds": None, **self._phases.pop("load")}
        elif self._phases:
            self.end_step()
            self.steps[-1].update(seconds=None, tokens_per_second=None)

    def _begin(self, step: int | None) -> None:
        self.step, self._phases, self._started = step, {}, time.monotonic()

    def _seconds(self) -> float | None:
        return time.monotonic() - self._started if self._gauge.timed else None


def highest(values) -> int | None:
    known = [value for value in values if value is not None]
    return max(known) if known else None
