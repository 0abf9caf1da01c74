# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads pickles that nobody vouches for: numbers, strings, lists, tuples and dicts keyed by strings or numbers, nothing else.

A pickle is a program. This machine knows the instructions that build plain data and none of those that import a name, call
something or reach into an object; the first other instruction ends the reading.
"""

from __future__ import annotations

import pickle
import struct
from typing import BinaryIO

from .errors import BadInput

_PLAIN = (
    pickle.PROTO,
    pickle.FRAME,
    pickle.STOP,
    pickle.MARK,
    pickle.NONE,
    pickle.NEWTRUE,
    pickle.NEWFALSE,
    pickle.BININT,
    pickle.BININT1,
    pickle.BININT2,
    pickle.LONG1,
    pickle.LONG4,
    pickle.BINFLOAT,
    pickle.SHORT_BINUNICODE,
    pickle.BINUNICODE,
    pickle.BINUNICODE8,
    pickle.EMPTY_DICT,
    pickle.EMPTY_LIST,
    pickle.EMPTY_TUPLE,
    pickle.TUPLE,
    pickle.TUPLE1,
    pickle.TUPLE2,
    pickle.TUPLE3,
    pickle.APPEND,
    pickle.APPENDS,
    pickle.SETITEM,
    pickle.SETITEMS,
    pickle.BINPUT,
    pickle.LONG_BINPUT,
    pickle.MEMOIZE,
    pickle.BINGET,
    pickle.LONG_BINGET,
)


class Forbidden(pickle.UnpicklingError):
    pass


# The unpickler written in Python has a table of instructions, and a memo whose size follows what is put in it: in the one
# written in C a single instruction can make the memo take gigabytes.
class PlainUnpickler(pickle._Unpickler):
    dispatch = {code[0]: pickle._Unpickler.dispatch[code[0]] for code in _PLAIN}

    def find_class(self, module, name):
        raise Forbidden(f"it names {module}.{name}")

    def load(self):
        try:
            return super().load()
        except KeyError as error:
            code = error.args[0] if error.args else None
            if isinstance(code, int) and code not in self.dispatch and code < 256:
                raise Forbidden(f"instruction {bytes((code,))!r}") from None
            raise pickle.UnpicklingError("it refers to what it has not made") from None

    def load_setitem(self):
        value, key = self.stack.pop(), self.stack.pop()
        self.stack[-1][_plain_key(key)] = value

    def load_setitems(self):
        items = self.pop_mark()
        target = self.stack[-1]
        for index in range(0, len(items), 2):
            target[_plain_key(items[index])] = items[index + 1]

    dispatch[pickle.SETITEM[0]] = load_setitem
    dispatch[pickle.SETITEMS[0]] = load_setitems


def _plain_key(key):
    # A key is hashed, and the hash of a deeply nested tuple would run out of stack.
    if not isinstance(key, (str, int)):
        raise Forbidden("a dict's key is neither a string nor a number")
    return key


def load(file: BinaryIO, name: str):
    try:
        return PlainUnpickler(file).load()
    except Forbidden as error:
        raise BadInput(
            "",
            f"is not a pickle of plain data ({error}); it was not executed",
            "give a file that torch.cuda.memory._dump_snapshot wrote",
            file=name,
        ) from None
    except (
        pickle.UnpicklingError,
        EOFError,
        struct.error,
        ValueError,
        TypeError,
        IndexError,
        AttributeError,
        UnicodeDecodeError,
        OverflowError,
        MemoryError,
    ) as error:
        raise BadInput(
            "",
            f"is no readable pickle: {type(error).__name__}: {str(error)[:200]}",
            "is it whole, and written by torch.cuda.memory._dump_snapshot?",
            file=name,
        ) from None
