# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""bitsandbytes without a GPU: the Python code of its CUDA operators (bitsandbytes/backends/cuda/ops.py), which allocates, runs
over a C library that does nothing."""

from __future__ import annotations

import functools
import importlib

import torch
from torch._subclasses import FakeTensor

from .patches import Patches


class NoLibrary:
    """A C library in which every function succeeds and does nothing."""

    def __getattr__(self, name):
        return lambda *arguments: 0


@functools.cache
def _load():
    """bitsandbytes, its CUDA operators' module, and the table operator -> Python code."""
    import bitsandbytes as bnb
    import bitsandbytes._ops as ops
    import bitsandbytes.backends.default.ops as default_ops

    code = {}

    def capture(name, device, function=None, **_):
        if function is None:
            return lambda f: capture(name, device, f)
        code[name.removeprefix("bitsandbytes::")] = function
        return function

    with Patches() as patches:
        patches.set(ops, register_kernel=capture)
        patches.set(bnb.cextension, lib=NoLibrary())
        patches.set(torch._C, _cuda_getCurrentRawStream=lambda index: 0)
        importlib.reload(default_ops)
        cuda_ops = importlib.import_module("bitsandbytes.backends.cuda.ops")
    code["int8_vectorwise_dequant"] = _int8_vectorwise_dequant
    return bnb, cuda_ops, {_overload(torch.ops.bitsandbytes, name): function for name, function in code.items()}


def use(patches: Patches, ledger, properties) -> None:
    bnb, cuda_ops, bodies = _load()
    ledger.bodies.update(bodies)
    library = NoLibrary()
    patches.set(bnb.cextension, lib=library)
    patches.set(
        cuda_ops, lib=library, _gpu_dispatch_props=lambda index: (properties.multi_processor_count, properties.major, properties.minor)
    )
    patches.set(torch._C, _cuda_getCurrentRawStream=lambda index: 0)
    patches.set(bnb.functional.CUBLAS_Context, get_context=lambda self, device: 0)
    patches.set(
        bnb.functional,
        lib=library,
        create_dynamic_map=lambda *_, **__: torch.empty(256),  # its values are computed on the host
        get_paged=_paged_buffer,
        fill=lambda *_, **__: None,
        prefetch_tensor=lambda *_, **__: None,
    )
    patches.set(bnb.functional.QuantState, __deepcopy__=lambda self, memo: _clone_state(self))
    patches.set(bnb.nn.modules, Params4bit=params_4bit, Int8Params=params_int8)
    bnb.functional.name2qmap.clear()
    bnb.functional.GlobalPageManager.get_instance().paged_tensors = []
    cuda_ops._gemm_4bit_use_custom_cuda.cache_clear()


def _int8_vectorwise_dequant(codes, scales):
    """bitsandbytes/_ops.py, int8_vectorwise_dequant."""
    return codes * scales.view(-1, 1) * 7.874015718698502e-3


def _overload(namespace, name: str):
    operator, _, variant = name.partition(".")
    return getattr(getattr(namespace, operator), variant or "default")


class Params4bit(FakeTensor):
    """Stands for bitsandbytes.nn.Params4bit, which cannot wrap a fake tensor. PEFT knows it by its name."""

    def __deepcopy__(self, memo):
        return params_4bit(
            self.data.clone(),
            self.requires_grad,
            _clone_state(self.quant_state),
            self.blocksize,
            self.compress_statistics,
            self.quant_type,
            self.quant_storage,
            self.module,
            self.bnb_quantized,
        )


class Int8Params(FakeTensor):
    """Stands for bitsandbytes.nn.Int8Params."""


def params_4bit(
    data=None,
    requires_grad=False,
    quant_state=None,
    blocksize=None,
    compress_statistics=True,
    quant_type="fp4",
    quant_storage=torch.uint8,
    module=None,
    bnb_quantized=False,
    **_,
):
    made = torch.nn.Parameter(data, requires_grad)
    made.__class__ = Params4bit
    made.quant_state, made.blocksize, made.compress_statistics, made.quant_type = (
        quant_state,
        blocksize or 64,
        compress_statistics,
        quant_type,
    )
    made.quant_storage, made.module, made.bnb_quantized = quant_storage, module, bnb_quantized
    return made


def params_int8(data=None, requires_grad=True, has_fp16_weights=False, CB=None, SCB=None, **_):
    made = torch.nn.Parameter(data, requires_grad and data.dtype.is_floating_point)
    made.__class__ = Int8Params
    made.has_fp16_weights, made.CB, made.SCB = has_fp16_weights, CB, SCB
    return made


def _clone_state(state):
    return type(state)(
        state.absmax.clone(),
        state.shape,
        state.code.clone(),
        state.blocksize,
        state.quant_type,
        state.dtype,
        None if state.offset is None else state.offset.clone(),
        state.state2 and _clone_state(state.state2),
    )


def _paged_buffer(*shape, dtype=torch.float32, device=None):
    """bitsandbytes.functional.get_paged: managed memory, outside PyTorch's allocator."""
    buffer = torch.empty(shape, dtype=dtype)
    buffer.is_paged, buffer.page_deviceid = True, 0
    return buffer
