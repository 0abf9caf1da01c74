// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/operators.h"
#include "core/training/optimizer.h"

#include <vector>

namespace headroom::training {

/// A tensor that lives between steps.
inline autograd::Tensor keepState(autograd::Tape &tape, const autograd::Dims &sizes, const autograd::Dims &strides, DType dtype,
                                  const char *op)
{
    autograd::Tensor state = tape.make(sizes, strides, dtype, op);
    tape.setRole(state, autograd::Role::OptimizerState);
    return state;
}

/// zeros_like and its kin: one of the size, layout and dtype of `like`.
inline autograd::Tensor keepStateLike(const autograd::Tensor &like, const char *op)
{
    return keepState(*like->tape, like.sizes(), autograd::preservedStrides(like), like.dtype(), op);
}

/// Which parameters of a list an optimizer steps together.
struct DtypeGroup {
    DType dtype;
    std::vector<std::size_t> members;
};

/// _group_tensors_by_device_and_dtype: each dtype's parameters, the dtype that is first met last. The groups come out of an
/// unordered_map, in which libstdc++ puts each new key before those that are there (ATen/native/ForeachUtils.h).
std::vector<DtypeGroup> groupsByDtype(const std::vector<autograd::Tensor> &parameters);

/// torch.optim.Adafactor, torch.optim.Muon, and bitsandbytes' optimizers.
std::unique_ptr<Optimizer> makeAdafactor(autograd::Tape &tape, bool forLoop);
std::unique_ptr<Optimizer> makeMuon(autograd::Tape &tape);
std::unique_ptr<Optimizer> makeBitsAndBytes(autograd::Tape &tape, OptimizerKind kind);

} // namespace headroom::training
