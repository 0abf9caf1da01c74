# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a run is: one JSON object a line on standard error, {"step": 0, "phase": "forward", "text": "..."}."""

from __future__ import annotations

import json
import sys


class Progress:
    """Of several ranks, which do the same at the same time, one speaks; the others are silent."""

    def __init__(self, stream=None, silent: bool = False):
        self._stream, self._silent = stream, silent

    def say(self, text: str, step: int | None = None, phase: str | None = None) -> None:
        if self._silent:
            return
        stream = self._stream or sys.stderr
        try:
            stream.write(json.dumps({"step": step, "phase": phase, "text": text}) + "\n")
            stream.flush()
        except (OSError, ValueError):
            pass  # nobody listens any more; the result is still wanted
