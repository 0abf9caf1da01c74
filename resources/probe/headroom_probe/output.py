# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes files whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import stat
import tempfile

from .errors import EnvironmentFault

RESULT_ENDING = ".headroom-probe.json"


def path_of_rank(path: pathlib.Path, rank: int) -> pathlib.Path:
    """Rank 0 writes the file that was asked for, every other one a file beside it: a.rank3.headroom-probe.json."""
    if rank == 0:
        return path
    stem, ending = (path.name[: -len(RESULT_ENDING)], RESULT_ENDING) if path.name.endswith(RESULT_ENDING) else (path.stem, path.suffix)
    return path.with_name(f"{stem}.rank{rank}{ending}")


def check_writable(path: pathlib.Path) -> None:
    """Says now what would else be said after an hour of measuring."""
    try:
        with contextlib.suppress(FileNotFoundError):
            kind = path.stat().st_mode
            if not stat.S_ISREG(kind):
                raise EnvironmentFault("", "is a folder" if stat.S_ISDIR(kind) else "is no regular file", "name a file", file=str(path))
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from None


def _unwritable(path: pathlib.Path, error: Exception) -> EnvironmentFault:
    return EnvironmentFault(
        "",
        f"cannot be written: {getattr(error, 'strerror', None) or error}",
        "choose a folder that exists and can be written",
        file=str(path),
    )


def write_json(path: pathlib.Path, document, indent: int | None = 1) -> None:
    write_bytes(path, (json.dumps(document, indent=indent, allow_nan=False) + "\n").encode("ascii"))


def write_bytes(path: pathlib.Path, data: bytes) -> None:
    """Into a file of another name in the same folder, which then takes the place of the old one."""
    partial = None
    try:
        descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".part")
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp's files are for their owner alone; a result is as readable as other files made here.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(partial, 0o666 & ~mask)
        os.replace(partial, path)
        partial = None
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from None
    finally:
        if partial is not None:
            with contextlib.suppress(OSError):
                os.unlink(partial)
