// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/network/modules.h"
#include "core/model/model_config.h"
#include "core/plan/training_plan.h"

namespace headroom::network {

/// What every layer is called with besides its hidden states.
struct LayerContext {
    Tensor mask;            ///< [B, 1, S, S] of this layer's kind: additive (eager) or boolean (sdpa); undefined: is_causal
    Tensor cos, sin;        ///< [1, S, D]
    Tensor positionIds;     ///< [1, S]
};

/// LlamaAttention and its likes: projections, optional norms over the heads (qwen3), rotary embedding, attention.
struct Attention {
    Linear q, k, v, o;
    std::optional<RmsNorm> qNorm, kNorm;
    std::int64_t heads = 0, keyValueHeads = 0, headDim = 0;
    double dropout = 0.0;
    AttentionKind kind = AttentionKind::Sdpa;

    /// `weights`: the attention probabilities that eager attention returns beside its output.
    Tensor forward(Tensor hidden, const LayerContext &context, Tensor &weights) const;
};

/// LlamaMLP: down_proj(act_fn(gate_proj(x)) * up_proj(x)).
struct Mlp {
    Linear gate, up, down;

    Tensor forward(const Tensor &x) const;
};

struct DecoderLayer {
    std::int16_t index = 0;
    RmsNorm inputNorm, postAttentionNorm;
    Attention attention;
    Mlp mlp;

    Tensor forward(const Tensor &input, const LayerContext &context) const;
};

} // namespace headroom::network
