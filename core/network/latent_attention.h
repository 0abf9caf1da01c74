// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/network/llama.h"

namespace headroom::network {

/// DeepseekV3Attention, multi-head latent attention: keys and values of all heads are made from one narrow row for each token,
/// queries from another; a part of each key, the same for all heads, is rotated.
struct LatentAttention : AttentionSettings {
    std::optional<Linear> q, qDown, qUp; ///< q alone, or q_a_proj and q_b_proj with a norm between
    std::optional<RmsNorm> qNorm;
    Linear kvDown, kvUp, o; ///< kv_a_proj_with_mqa, kv_b_proj
    RmsNorm kvNorm;
    std::int64_t latent, rotated, plain, valueDim; ///< kv_lora_rank, qk_rope_head_dim, qk_nope_head_dim, v_head_dim
    bool interleaved;                              ///< rope_interleave

    LatentAttention(const Builder &builder, const ModelConfig &config, AttentionKind attention);
    Tensor forward(const Tensor &hidden, const LayerContext &context, Tensor &weights) const;
    void visit(ModuleVisitor &visitor);

private:
    void rotate(Tensor &query, Tensor &key, const LayerContext &context) const;
};

} // namespace headroom::network
