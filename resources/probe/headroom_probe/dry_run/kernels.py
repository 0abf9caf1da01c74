# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""PyTorch's kernels that fake tensors would take apart, or choose for the host: attention, SiLU, the experts' product."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from .patches import Patches

aten = torch.ops.aten


def use(patches: Patches, ledger) -> None:
    patches.set(F, scaled_dot_product_attention=scaled_dot_product_attention, silu=lambda x, inplace=False: SiLU.apply(x))
    patches.set(torch.nn.Module, _apply=apply_to_module)
    for module in (torch.cuda.amp.common, torch.amp.autocast_mode):  # autocast would not run without a GPU
        patches.set(module, amp_definitely_not_available=lambda: False)
    patches.set(torch.cuda, is_bf16_supported=lambda *_, **__: True)
    ledger.bodies[aten._grouped_mm.default] = grouped_mm


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """The kernel that PyTorch chooses on compute capability 8.x: flash, memory-efficient, math
    (aten/src/ATen/native/transformers/cuda/sdp_utils.cpp)."""
    if torch.is_autocast_enabled("cuda"):  # attention is on autocast's lower-precision list (aten/src/ATen/autocast_mode.h)
        cast = torch.get_autocast_dtype("cuda")
        query, key, value = (t.to(cast) for t in (query, key, value))
        attn_mask = attn_mask.to(cast) if attn_mask is not None and attn_mask.is_floating_point() else attn_mask
    half = query.dtype in (torch.float16, torch.bfloat16)
    size = query.shape[-1]
    if half and attn_mask is None and size <= 256 and key.shape[-1] == value.shape[-1] == size:
        padding = (-size) % 8
        if padding:
            query, key, value = (F.pad(t, (0, padding)) for t in (query, key, value))
        out = aten._scaled_dot_product_flash_attention(
            query, key, value, dropout_p, is_causal, scale=size**-0.5 if scale is None else scale
        )[0]
        return out[..., :size] if padding else out
    if query.shape[1] == key.shape[1] and (half or query.dtype is torch.float32) and size % 4 == 0:
        if attn_mask is not None and attn_mask.dtype is torch.bool:
            attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill_(attn_mask.logical_not(), float("-inf"))
        if attn_mask is not None:
            attn_mask = attn_mask.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])
        return aten._scaled_dot_product_efficient_attention(query, key, value, attn_mask, True, dropout_p, is_causal, scale=scale)[0]
    if enable_gqa and query.shape[1] != key.shape[1]:
        times = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(times, 1), value.repeat_interleave(times, 1)
    return aten._scaled_dot_product_attention_math(query, key, value, attn_mask, dropout_p, is_causal, scale=scale)[0]


class SiLU(torch.autograd.Function):
    """SiLU with its one-kernel CUDA backward."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return aten.silu.default(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return torch.empty_like(x)


def grouped_mm(a, b, offs=None, bias=None, out_dtype=None):
    """aten::_grouped_mm's output, rows padded to 16 bytes (ATen/native/GroupedMMUtils.h): its fake kernel knows bfloat16 alone."""
    if a.dim() == 2:
        shape = (a.shape[0], b.shape[-1]) if b.dim() == 3 else (offs.shape[0], a.shape[0], b.shape[1])
    else:
        shape = (a.shape[1], b.shape[1]) if b.dim() == 2 else (a.shape[0], a.shape[1], b.shape[-1])
    per_16 = 16 // a.element_size()
    row = -(-shape[-1] // per_16) * per_16
    strides = ((shape[1] * row,) if len(shape) == 3 else ()) + (row, 1)
    return torch.empty_strided(shape, strides, dtype=out_dtype or a.dtype, device=a.device)


def apply_to_module(self, function, recurse=True):
    """nn.Module._apply for fake parameters, which refuse to be swapped in place: replaces them in their module."""
    for child in self.children():
        child._apply(function)
    for key, parameter in self._parameters.items():
        if parameter is not None:
            with torch.no_grad():
                applied = function(parameter)
            if applied is not parameter:
                self._parameters[key] = torch.nn.Parameter(applied, parameter.requires_grad)
    for key, buffer in self._buffers.items():
        if buffer is not None:
            self._buffers[key] = function(buffer)
    return self
