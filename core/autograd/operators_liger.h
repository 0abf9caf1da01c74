// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/tensor.h"

/// The autograd functions of Liger-Kernel 0.8.5 (linkedin/Liger-Kernel, src/liger_kernel/ops): Triton kernels launched from
/// Python, which allocates what they write to. Each is one node of the backward graph. Autocast does not reach into them: they
/// compute in the dtype of what they are given.
///
/// As with PyTorch's own operators, those of a stopped recomputation do nothing and return undefined tensors.
namespace headroom::autograd {

/// LigerRMSNormFunction (ops/rms_norm.py) on [..., n] with a weight of [n]: keeps its input and one fp32 number a row. Backward
/// sums the weight's gradient up in an fp32 row for each of the GPU's `multiprocessors`. `inPlace`: the gradient of the input
/// is written over that of the output.
Tensor ligerRmsNorm(const Tensor &x, const Tensor &weight, bool inPlace, int multiprocessors);

/// LigerSiLUMulFunction, LigerGELUMulFunction (ops/swiglu.py, ops/geglu.py): activation(gate) * up. Keeps both, and backward
/// writes their gradients over them.
Tensor ligerGatedActivation(const Tensor &gate, const Tensor &up);

/// LigerRopeFunction (ops/rope.py) on query and key of [B, H, S, D]: rotates them where they lie if [B, S, H, D] is how they
/// lie, else in copies. Keeps the cosines and sines of [1, S, rotary dimensions].
void ligerRotary(Tensor &query, Tensor &key, const Tensor &cos, const Tensor &sin);

/// LigerFusedMoEFunction (ops/fused_moe.py): experts with SwiGLU for [n, h] tokens. gateUp is [E, 2 * width, h], down [E, h, width],
/// weights and indices (int32) [n, k] say which experts a token goes to. Tokens are taken to be spread evenly: what depends
/// on it is 8 bytes for every 64 rows of an expert.
Tensor ligerExperts(const Tensor &x, const Tensor &gateUp, const Tensor &down, const Tensor &weights, const Tensor &indices);

} // namespace headroom::autograd
