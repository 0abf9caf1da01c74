# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names that are replaced for the time of a dry run, and put back after it."""

from __future__ import annotations

import contextlib


class Patches(contextlib.ExitStack):
    def set(self, owner, **values) -> None:
        for name, value in values.items():
            if isinstance(owner, type):
                # as the class has it, a staticmethod or property included
                found = vars(owner).get(name, _MISSING)
            else:
                found = getattr(owner, name, _MISSING)
            setattr(owner, name, value)
            self.callback(_put_back, owner, name, found)


_MISSING = object()


def _put_back(owner, name: str, value) -> None:
    if value is _MISSING:
        delattr(owner, name)
    else:
        setattr(owner, name, value)
