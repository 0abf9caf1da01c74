// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

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

/// torch.optim.Adafactor, torch.optim.Muon, and bitsandbytes' optimizers.
std::unique_ptr<Optimizer> makeAdafactor(autograd::Tape &tape, bool forLoop);
std::unique_ptr<Optimizer> makeMuon(autograd::Tape &tape);
std::unique_ptr<Optimizer> makeBitsAndBytes(autograd::Tape &tape, OptimizerKind kind);

} // namespace headroom::training
