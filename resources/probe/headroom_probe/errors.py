# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can go wrong, each with its exit status."""

#: A result was written; running out of memory is a result too.
OK = 0
#: The run broke off; the result file has what was measured until then, and the reason.
FAILED = 1
#: The command line, the plan or the snapshot is wrong, or the probe does not run such a plan.
BAD_INPUT = 2
#: A library or the GPU is missing, or the result cannot be written.
ENVIRONMENT = 3
#: Ctrl-C or a request to end.
INTERRUPTED = 130


class ProbeError(Exception):
    """Something that the user can mend: where it is, what is wrong, and how to mend it."""

    status = FAILED

    def __init__(self, where: str, what: str, hint: str = "", *, file: str = "", line: int = 0):
        super().__init__(what)
        self.where, self.what, self.hint, self.file, self.line = where, what, hint, file, line

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file and self.line else self.file
        text = ": ".join(part for part in (place, self.where, self.what) if part)
        return f"{text} ({self.hint})" if self.hint else text


class BadInput(ProbeError):
    status = BAD_INPUT


class Unsupported(BadInput):
    """A good plan that the probe, or a dry run, does not run."""


class EnvironmentFault(ProbeError):
    status = ENVIRONMENT
