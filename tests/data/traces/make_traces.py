#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packs traces of PyTorch into the compact form that tests/core/test_traces.cpp reads (README.md describes it).

    make_traces.py FOLDER NAME... > traces.jsonl

FOLDER holds for each NAME the plan (NAME.plan.json), every allocation and release of three steps (NAME.events.tsv) and what is
saved for backward at the end of the last forward pass (NAME.saved.tsv), in the columns that `headroom-cli trace` writes too; NAME.flops.json
is optional: {"forward": ..., "recomputed": ...}, floating-point operations of the last micro-batch.
"""
import json, pathlib, sys

BLOCK = 512


def normalised(op, dtype, liger):
    """The tracer sees the storage of SiLU's backward born in an empty_like (where Liger's kernels run there is none), and the random
    state of attention unsigned; of an operator whose output it makes itself it names both. Of an operator that a library's own
    code runs inside another ("outer > inner") the inner one is kept."""
    op = op.replace("aten._grouped_mm.default > aten.empty_strided.default", "aten._grouped_mm.default")
    if " > " in op:
        return op.rsplit(" > ", 1)[1], dtype
    silu = op == "aten.empty_like.default" and dtype != "int64" and not liger
    return "aten.silu_backward.default" if silu else op, dtype.replace("uint64", "int64")


def blocks(text):
    count, rest = divmod(int(text), BLOCK)
    assert rest == 0, "storages are rounded up to blocks of 512 bytes"
    return count


def rows(path):
    return [line.rstrip("\n").split("\t") for line in path.read_text().splitlines()[1:]]


class Table:
    """Texts (or lists), each once, referred to by their index."""

    def __init__(self):
        self.index = {}

    def __call__(self, value):
        return self.index.setdefault(value, len(self.index))

    def values(self):
        return list(self.index)


def kept_gradients(events):
    """What the last forward pass makes and is alive after its backward pass: gradients that a loss made ahead of time."""
    alive, phase_before = {}, ""
    for _, sign, identity, size, _, phase, module, op, shape, dtype in events:
        if phase == "forward" and phase_before != "forward":
            alive = {}
        if phase == "optimizer" and phase_before == "backward":
            kept = list(alive.values())
        phase_before = phase
        if sign == "-":
            alive.pop(identity, None)
        elif phase in ("forward", "loss"):
            alive[identity] = [size, module, op, shape, dtype]
    return kept


def pack(folder, name, texts):
    plan = json.loads((folder / f"{name}.plan.json").read_text())
    liger = plan.get("kernels", "eager") == "liger"
    events = rows(folder / f"{name}.events.tsv")
    micros = plan["batch"].get("gradient_accumulation", 1)
    kinds, births, freed, forwards, phase_before = Table(), [], 0, 0, ""
    for _, sign, _, size, _, phase, module, op, shape, dtype in events:
        if phase == "forward" and phase_before != "forward":
            forwards += 1
        phase_before = phase
        if forwards > 2 * micros:  # the third step repeats the second
            break
        if sign == "-":
            freed += blocks(size)
            continue
        op, dtype = normalised(op, dtype, liger)
        births.append((kinds((blocks(size), *map(texts, (phase, module, op, shape, dtype)))), freed))
        freed = 0
    assert forwards > 2 * micros, f"{name}: fewer than three steps"
    saved, gradients = [], kept_gradients(events)
    for row in rows(folder / f"{name}.saved.tsv"):
        if row in gradients:
            gradients.remove(row)
            continue
        size, module, op, shape, dtype = row
        op, dtype = normalised(op, dtype, liger)
        saved.append([blocks(size), *map(texts, (module, op, shape, dtype))])
    counted = folder / f"{name}.flops.json"
    flops = {"flops": json.loads(counted.read_text())} if counted.exists() else {}
    return {"name": name, "plan": plan, **flops, "kinds": kinds.values(), "births": " ".join(f"{k}:{f}" if f else str(k) for k, f in births), "saved": saved}


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    texts = Table()
    cases = [pack(pathlib.Path(sys.argv[1]), name, texts) for name in sys.argv[2:]]
    print(json.dumps({"headroom_traces": 1, "texts": texts.values()}, separators=(",", ":")))
    for case in cases:
        print(json.dumps(case, separators=(",", ":")))


if __name__ == "__main__":
    main()
