#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints memory layouts as PyTorch decides them, for tests/core/test_strides.cpp (made with torch 2.13, any build of it).

    make_strides.py > strides.jsonl

One JSON list a line: ["add", sizes, strides, sizes, strides, result sizes, result strides],
["view", sizes, strides, new sizes, strides of the view or null], ["like", sizes, strides, contiguous, dense, strides of empty_like].
"""
import json, random
import torch

random.seed(5)
SIZES = [1, 2, 3, 4, 6]


def layout(sizes):
    """A tensor of these sizes: row-major, permuted, part of a wider one, or expanded."""
    kind = random.choice(["plain", "plain", "permuted", "permuted", "sliced", "expanded"])
    rank = len(sizes)
    if kind == "permuted":
        order = random.sample(range(rank), rank)
        return torch.empty([sizes[i] for i in order]).permute([order.index(i) for i in range(rank)])
    if kind == "sliced" and rank:
        d = random.randrange(rank)
        return torch.empty([n * 2 if i == d else n for i, n in enumerate(sizes)]).narrow(d, 0, sizes[d])
    if kind == "expanded" and rank:
        d = random.randrange(rank)
        return torch.empty([1 if i == d else n for i, n in enumerate(sizes)]).expand(sizes)
    return torch.empty(sizes)


def broadcastable(sizes):
    other = [1 if random.random() < 0.25 else n for n in sizes]
    return other[random.choice([0, 0, 0, 1]) :] if random.random() < 0.5 else list(sizes)


def factored(count, rank):
    """Random sizes with this product."""
    sizes = [1] * rank
    for prime in (2, 2, 2, 2, 2, 3, 3, 3, 3, 5):
        while count % prime == 0 and count > 1:
            count //= prime
            sizes[random.randrange(rank)] *= prime
    assert count == 1
    return sizes


def show(*row):
    lines.add(json.dumps([list(x) if isinstance(x, (tuple, torch.Size)) else x for x in row], separators=(",", ":")))


lines = set()
while len(lines) < 400:
    sizes = [random.choice(SIZES) for _ in range(random.randint(1, 5))]
    a = layout(sizes)
    b = layout(broadcastable(sizes))
    r = a + b
    show("add", a.shape, a.stride(), b.shape, b.stride(), r.shape, r.stride())
while len(lines) < 800:
    t = layout([random.choice(SIZES) for _ in range(random.randint(1, 5))])
    if random.random() < 0.3:  # attention's way: heads out of the last dimension, then in front of the tokens
        b, s, h, d = (random.choice(SIZES) for _ in range(4))
        t = torch.empty(b, s, h * d).view(b, s, h, d).transpose(1, 2)
    new = factored(t.numel(), random.randint(1, 5))
    if random.random() < 0.4 and t.dim() > 1:  # two neighbours made one
        d = random.randrange(t.dim() - 1)
        new = [*t.shape[:d], t.shape[d] * t.shape[d + 1], *t.shape[d + 2 :]]
    try:
        strides = t.view(new).stride()
    except RuntimeError:
        strides = None
    show("view", t.shape, t.stride(), new, strides)
while len(lines) < 1000:
    t = layout([random.choice(SIZES) for _ in range(random.randint(1, 5))])
    show("like", t.shape, t.stride(), t.is_contiguous(), torch.ops.aten.is_non_overlapping_and_dense(t), torch.empty_like(t).stride())
for line in sorted(lines):
    print(line)
