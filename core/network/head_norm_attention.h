// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/network/llama.h"

namespace headroom::network {

/// Llama's attention with norms over the heads after these have been moved to the front (Qwen 3's stand before that): Gemma 3
/// and EXAONE 4.
struct HeadNormAttention : AttentionSettings {
    Linear q, k, v, o;
    RmsNorm qNorm, kNorm;
    Rotation rotation = Rotation::Halves;

    HeadNormAttention(const Builder &builder, const ModelConfig &config, AttentionKind attention, RmsNormKind norms);
    Tensor forward(const Tensor &hidden, const LayerContext &context, Tensor &weights) const;
    void visit(ModuleVisitor &visitor);
};

} // namespace headroom::network
