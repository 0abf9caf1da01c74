// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/operators.h"
#include "core/training/optimizer.h"

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

/// torch.optim.Adafactor, torch.optim.Muon, and bitsandbytes' optimizers.
std::unique_ptr<Optimizer> makeAdafactor(autograd::Tape &tape, bool forLoop);
std::unique_ptr<Optimizer> makeMuon(autograd::Tape &tape);
std::unique_ptr<Optimizer> makeBitsAndBytes(autograd::Tape &tape, OptimizerKind kind);

} // namespace headroom::training
