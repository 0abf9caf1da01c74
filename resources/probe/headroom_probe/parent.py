# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run ends with whoever started it and waits for it: no rank keeps a GPU's memory when headroom-probe or torchrun was killed."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def end_with_parent(environment=os.environ) -> None:
    """Where headroom-probe started this process itself, or torchrun did. A run that a person started by hand goes on without a shell."""
    parent = os.getppid()
    if environment.get("HEADROOM_PROBE_PARENT") != str(parent) and "TORCHELASTIC_RUN_ID" not in environment:
        return
    with contextlib.suppress(OSError, AttributeError):  # not Linux
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended meanwhile
            os.kill(os.getpid(), signal.SIGKILL)
