// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The part of Phi that StableLM takes over.
#pragma once

#include "core/network/llama.h"

namespace headroom::network {

/// PhiAttention: a part of each head is rotated and joined with the rest; the parts keep their names to the end.
struct PhiAttention : AttentionSettings {
    Linear q, k, v, output;
    std::int64_t rotaryDim;
    bool projectsFirst = false; ///< all three projections before the first is seen as heads (StableLM)

    PhiAttention(const Builder &builder, const ModelConfig &config, AttentionKind attention, const LinearNames &outputNames,
                 bool outputBias);
    Tensor forward(const Tensor &hidden, const LayerContext &context, Tensor &weights) const;
    void visit(ModuleVisitor &visitor);
};

} // namespace headroom::network
