# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads JSON that nobody vouches for."""

import json
import math
import pathlib
import re
import stat

from .errors import BadInput

MOST_BYTES = 16 << 20
DEEPEST = 64
MOST_VALUES = 200_000

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def read_file(path: pathlib.Path, most_bytes: int = MOST_BYTES) -> bytes:
    """The bytes of a regular file; what is no file is said to be what it is, and never opened."""
    name = str(path)
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            raise BadInput("", "is a folder, not a file", "name a file", file=name)
        if not stat.S_ISREG(found.st_mode):
            raise BadInput("", "is no regular file", "name a file", file=name)
        if found.st_size > most_bytes:
            raise BadInput("", f"is larger than {most_bytes >> 20} MiB", "is it the right file?", file=name)
        with path.open("rb") as file:
            return file.read(most_bytes + 1)
    except FileNotFoundError:
        raise BadInput("", "no such file", "check the name and the folder", file=name) from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise BadInput("", f"cannot be read: {getattr(error, 'strerror', None) or error}", "check its permissions", file=name) from None


def parse(data: bytes, file: str = ""):
    """The value of one JSON document: no key twice, no NaN, no number beyond 64 bits or a double, bounded depth and size."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput("", f"is not UTF-8 (byte {error.start})", "write it as UTF-8", file=file) from None
    _check_depth(text, file)
    values = 0

    def counted(value):
        nonlocal values
        values += 1
        if values > MOST_VALUES:
            raise BadInput("", f"holds more than {MOST_VALUES} values", "is it the right file?", file=file)
        return value

    def whole(digits: str):
        if len(digits) > 20 or not -(2**63) <= int(digits) < 2**63:
            return real(digits)
        return counted(int(digits))

    def real(digits: str):
        number = float(digits)
        if not math.isfinite(number):
            raise BadInput("", f"the number {digits[:40]} is too large", "write a smaller one", file=file)
        return counted(number)

    def constant(name: str):
        raise BadInput("", f"{name} is no JSON", "write a number or null", file=file)

    def pairs(members):
        made = {}
        for key, value in members:
            if key in made:
                raise BadInput(key[:80], "occurs twice", "keep one of the two", file=file)
            counted(None)
            made[key] = value
        return made

    try:
        return json.loads(text, object_pairs_hook=pairs, parse_int=whole, parse_float=real, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise BadInput("", f"malformed JSON: {error.msg} (column {error.colno})", "mend it there", file=file, line=error.lineno) from None


def _check_depth(text: str, file: str) -> None:
    """Brackets outside strings, before a parser that recurses sees them."""
    depth = 0
    for bracket in re.finditer(r"[\[\]{}]", _STRING.sub('""', text)):
        depth += 1 if bracket.group() in "[{" else -1
        if depth > DEEPEST:
            raise BadInput("", f"is nested deeper than {DEEPEST} levels", "is it the right file?", file=file)
