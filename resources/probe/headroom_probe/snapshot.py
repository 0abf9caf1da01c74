# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns a memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot) into a timeline (docs/plan-format.md, "Memory timelines")."""

from __future__ import annotations

import pathlib
import stat

from . import plain_pickle
from .errors import BadInput

TIMELINE_FORMAT = 1
#: as much as headroom-probe brings back from another machine (app/headroom-probe/commands.h, largestSnapshot)
MOST_BYTES = 1 << 30
#: Points of a timeline; of more, neighbours are joined and the highest kept.
MOST_POINTS = 100_000
MOST_SEGMENTS = 100_000

# c10/cuda/CUDACachingAllocator.h, TraceEntry::Action: by how much each changes (allocated, reserved).
_CHANGES = {
    "alloc": (1, 0),
    "free_requested": (-1, 0),
    "free_completed": (0, 0),
    "segment_alloc": (0, 1),
    "segment_map": (0, 1),
    "segment_free": (0, -1),
    "segment_unmap": (0, -1),
}
_BLOCK_STATES = ("active_allocated", "active_pending_free", "inactive")


def timeline_of_file(path: pathlib.Path, device: int | None = None) -> dict:
    name = str(path)
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise BadInput("", "is a folder" if stat.S_ISDIR(found.st_mode) else "is no regular file", "name a file", file=name)
        if found.st_size > MOST_BYTES:
            raise BadInput("", f"is larger than {MOST_BYTES >> 30} GiB", "record fewer steps", file=name)
        with path.open("rb") as file:
            document = plain_pickle.load(file, name)
    except FileNotFoundError:
        raise BadInput("", "no such file", "check the name and the folder", file=name) from None
    except (OSError, ValueError) as error:
        raise BadInput("", f"cannot be read: {getattr(error, 'strerror', None) or error}", "check its permissions", file=name) from None
    try:
        return timeline_of(document, device)
    except BadInput as error:
        error.file = name
        raise


def timeline_of(document, device: int | None = None) -> dict:
    """The timeline of one GPU: by default of the one with most events, then most segments."""
    segments, traces = _list(_dict(document, ""), "segments", ""), _list(document, "device_traces", "")
    if device is None:
        counts = [
            (
                len(trace) if isinstance(trace, list) else 0,
                sum(1 for s in segments if isinstance(s, dict) and s.get("device") == index),
                -index,
            )
            for index, trace in enumerate(traces)
        ]
        device = -max(counts)[2] if counts else 0
    if not 0 <= device < max(len(traces), 1):
        raise BadInput("--device", f"the snapshot knows no GPU {device}", f"write a number from 0 to {max(len(traces) - 1, 0)}")
    own = [
        _segment(s, f"segments[{i}]")
        for i, s in enumerate(segments)
        if _number(_dict(s, f"segments[{i}]"), "device", f"segments[{i}]") == device
    ]
    trace = traces[device] if traces else []
    if not isinstance(trace, list):
        raise BadInput(f"device_traces[{device}]", "is no list", "is it a snapshot of PyTorch?")

    allocated, reserved = sum(s["allocated"] for s in own), sum(s["size"] for s in own)
    at_end = {"allocated": allocated, "reserved": reserved}
    sizes = {address: size for s in own for address, size in s.pop("blocks")}
    points = []  # backwards: the snapshot says how it ended
    out_of_memory = 0
    for index in range(len(trace) - 1, -1, -1):
        where = f"device_traces[{device}][{index}]"
        entry = _dict(trace[index], where)
        action = entry.get("action")
        if action == "oom":
            out_of_memory += 1
        if not isinstance(action, str) or action not in _CHANGES:
            continue
        points.append((_number(entry, "time_us", where, 0), allocated, reserved))
        of_allocated, of_reserved = _CHANGES[action]
        size = _number(entry, "size", where)
        if of_allocated:
            # The trace has what was asked for; blocks are multiples of 512 bytes, those that live at the end are known exactly.
            address = _number(entry, "addr", where, 0)
            size = sizes.pop(address, -(-size // 512) * 512) if of_allocated > 0 else -(-size // 512) * 512
        allocated -= of_allocated * size
        reserved -= of_reserved * size
    points.reverse()
    lowest = min([allocated, *(p[1] for p in points)], default=0), min([reserved, *(p[2] for p in points)], default=0)
    # A trace whose beginning was dropped, or blocks that were larger than asked for, would end below nothing.
    lift = max(0, -lowest[0]), max(0, -lowest[1])
    points = [(time, a + lift[0], r + lift[1]) for time, a, r in points]
    first = points[0][0] if points else 0
    kept = _thinned(points)
    return {
        "headroom_memory_timeline": TIMELINE_FORMAT,
        "device": device,
        "events": len(points),
        "began_us": first,
        "at_start": {"allocated": allocated + lift[0], "reserved": reserved + lift[1]},
        "at_end": at_end,
        "peak": {
            "allocated": max([allocated + lift[0], *(p[1] for p in points)]),
            "reserved": max([reserved + lift[1], *(p[2] for p in points)]),
        },
        "out_of_memory": out_of_memory,
        "time_us": [p[0] - first for p in kept],
        "allocated": [p[1] for p in kept],
        "reserved": [p[2] for p in kept],
        "segments": own[:MOST_SEGMENTS],
    }


def _thinned(points: list) -> list:
    """At most MOST_POINTS; of each bundle the point with the most allocated, with the bundle's most reserved."""
    bundle = -(-len(points) // MOST_POINTS)
    if bundle <= 1:
        return points
    made = []
    for begin in range(0, len(points), bundle):
        part = points[begin : begin + bundle]
        time, allocated, _ = max(part, key=lambda p: p[1])
        made.append((time, allocated, max(p[2] for p in part)))
    return made


def _segment(segment: dict, where: str) -> dict:
    blocks = []
    address = _number(segment, "address", where, 0)
    allocated = 0
    for index, block in enumerate(_list(segment, "blocks", where)):
        place = f"{where}.blocks[{index}]"
        size = _number(_dict(block, place), "size", place)
        state = block.get("state")
        if state not in _BLOCK_STATES and state != "active_awaiting_free":
            raise BadInput(f"{place}.state", "is none of a block's states", "is it a snapshot of PyTorch?")
        if state == "active_allocated":
            allocated += size
            blocks.append((_number(block, "address", place, address), size))
        address += size
    kind = segment.get("segment_type")
    return {
        "size": _number(segment, "total_size", where),
        "allocated": allocated,
        "stream": _number(segment, "stream", where, 0),
        "pool": kind if kind in ("small", "large") else None,
        "expandable": segment.get("is_expandable") is True,
        "blocks": blocks,
    }


def _dict(value, where: str) -> dict:
    if not isinstance(value, dict):
        raise BadInput(where, "is no object", "is it a snapshot of PyTorch?")
    return value


def _list(owner: dict, key: str, where: str) -> list:
    value = owner.get(key)
    if not isinstance(value, list):
        raise BadInput(f"{where}.{key}".lstrip("."), "missing or no list", "is it a snapshot of PyTorch?")
    return value


def _number(owner: dict, key: str, where: str, default: int | None = None) -> int:
    value = owner.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise BadInput(f"{where}.{key}", "missing or no number of 64 bits", "is it a snapshot of PyTorch?")
    return value
