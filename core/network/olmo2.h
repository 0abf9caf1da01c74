// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The part of OLMo 2 that OLMoE takes over.
#pragma once

#include "core/network/llama.h"

namespace headroom::network {

/// Olmo2Attention: norms over all heads' width at once.
struct Olmo2Attention : AttentionSettings {
    Linear q, k, v, o;
    RmsNorm qNorm, kNorm;
    Rotation rotation;

    Olmo2Attention(const Builder &builder, const ModelConfig &config, AttentionKind attention, RmsNormKind norms, Rotation rotated);
    Tensor forward(const Tensor &hidden, const LayerContext &context, Tensor &weights) const;
    void visit(ModuleVisitor &visitor);
};

} // namespace headroom::network
