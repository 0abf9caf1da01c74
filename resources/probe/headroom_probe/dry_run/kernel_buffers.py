# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What CUDA kernels allocate for themselves inside one operator, in bytes. Fake tensors show an operator's results only."""

from __future__ import annotations

import torch

aten = torch.ops.aten


def _up(n: int, step: int) -> int:
    return -(-n // step) * step


def flash_backward(args) -> list[int]:
    """aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp, mha_bwd: softmax_d, dq_accum and, with fewer key than
    query heads, dk_expanded and dv_expanded."""
    query, key = args[1], args[2]  # [B, H, S, D]
    batch, heads, length, size = query.shape
    rounded = _up(size, 64 if size > 128 else 32)
    sizes = [4 * batch * heads * _up(length, 128), 4 * batch * _up(length, 128) * heads * rounded]
    if heads != key.shape[1]:
        sizes += [query.element_size() * batch * key.shape[2] * heads * size] * 2
    return sizes


def efficient_backward(args) -> list[int]:
    """aten/src/ATen/native/transformers/cuda/attention_backward.cu: delta, the product that it is summed of, and for 16 bits
    the workspace of the query's gradient."""
    query = args[1]
    batch, heads, length, size = query.shape
    sizes = [4 * batch * heads * length, query.element_size() * batch * heads * length * size]
    if query.element_size() == 2:
        sizes.append(4 * batch * heads * _up(length, 64) * _up(size, 64))
    return sizes


def embedding_backward(args) -> list[int]:
    """aten/src/ATen/native/cuda/EmbeddingBackwardKernel.cu: above 3072 tokens, partial sums in fp32 and arrays of the sort."""
    tokens, hidden = args[1].numel(), args[0].shape[-1]
    return [4 * tokens * hidden] + [8 * tokens] * 6 if tokens > 3072 else []


KERNEL_BUFFERS = {
    aten._scaled_dot_product_flash_attention_backward.default: flash_backward,
    aten._scaled_dot_product_efficient_attention_backward.default: efficient_backward,
    aten.embedding_dense_backward.default: embedding_backward,
}
