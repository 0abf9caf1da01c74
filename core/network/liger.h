// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/network/visitor.h"

#include <functional>
#include <string_view>

namespace headroom::network {

/// What Liger-Kernel 0.8.5 puts in place of transformers' code in a model of some type (linkedin/Liger-Kernel,
/// transformers/monkey_patch.py: apply_liger_kernel_to_*): norms, activation and product of the MLP or the experts, the rotary
/// embedding, and, where the plan's loss says so, the fused loss.
struct LigerPatch {
    std::string_view modelType;
    bool rotary = true;
    bool fusedLoss = true;
    bool headNorms = false;      ///< the norms over the heads too
    bool normsInPlace = true;    ///< of the layers
    bool lastNormInPlace = true; ///< the norm after the last layer
    std::int64_t lossBudget = 1; ///< chunk_mem_const of the fused loss: how many times the hidden states a chunk's logits may be
};

/// The patch for a model_type (MODEL_TYPE_TO_APPLY_LIGER_FN), or null where Liger has none.
const LigerPatch *findLigerPatch(std::string_view modelType);

/// _apply_liger_kernel_to_instance(model), as the Trainer's use_liger_kernel calls it, but for the loss.
void applyLiger(const LigerPatch &patch, int multiprocessors, const std::function<void(ModuleVisitor &)> &visit);

} // namespace headroom::network
