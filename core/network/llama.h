// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The parts of Llama that other families take over, as transformers' modular_*.py do.
#pragma once

#include "core/network/pre_norm_layer.h"

#include <optional>

namespace headroom::network {

namespace names {
inline constexpr LinearNames q = HEADROOM_LINEAR_NAMES("self_attn.q_proj");
inline constexpr LinearNames k = HEADROOM_LINEAR_NAMES("self_attn.k_proj");
inline constexpr LinearNames v = HEADROOM_LINEAR_NAMES("self_attn.v_proj");
inline constexpr LinearNames o = HEADROOM_LINEAR_NAMES("self_attn.o_proj");
inline constexpr LinearNames qkv = HEADROOM_LINEAR_NAMES("self_attn.qkv_proj");
inline constexpr LinearNames gate = HEADROOM_LINEAR_NAMES("mlp.gate_proj");
inline constexpr LinearNames up = HEADROOM_LINEAR_NAMES("mlp.up_proj");
inline constexpr LinearNames gateUp = HEADROOM_LINEAR_NAMES("mlp.gate_up_proj");
inline constexpr LinearNames down = HEADROOM_LINEAR_NAMES("mlp.down_proj");
} // namespace names

/// LlamaAttention: projections, optional norms over the heads (qwen3), rotary embedding, attention.
struct LlamaAttention : AttentionSettings {
    Linear q, k, v, o;
    std::optional<RmsNorm> qNorm, kNorm;
    std::optional<RmsNorm> qNormLate, kNormLate; ///< after the rotation (HunYuan)
    std::optional<RmsNorm> outputNorm;           ///< before the output projection (BitNet)
    Rotation rotation = Rotation::Halves;
    bool softcapped = false;
    bool projectsFirst = false;    ///< all three projections before the first is seen as heads (OLMo): backward goes the other way
    bool scalesByPosition = false; ///< rotated queries grow with the logarithm of their position (Ministral 3)
    double outputDropout = 0.0;    ///< of the output, while query, key and value are still alive (StarCoder2, Seed-OSS)

    LlamaAttention(const Builder &builder, const ModelConfig &config, AttentionKind attention);
    Tensor forward(Tensor hidden, const LayerContext &context, Tensor &weights) const;
    void visit(ModuleVisitor &visitor);

private:
    Tensor attention(Tensor hidden, const LayerContext &context, Tensor &weights) const;
};

/// The names of an MLP's parts.
struct MlpNames {
    const char *self, *activation;
    LinearNames gate, up, down;
    bool downBeforeUp = false; ///< Mixtral's w1, w2, w3: the order in which they are made
};

/// LlamaMLP: down_proj(act_fn(gate_proj(x)) * up_proj(x)).
struct LlamaMlp {
    MlpNames names;
    Linear gate, up, down;
    GatedActivation activation;
    std::optional<RmsNorm> productNorm; ///< before the last projection (BitNet)

    LlamaMlp(const Builder &builder, const ModelConfig &config);
    LlamaMlp(const Builder &builder, const ModelConfig &config, std::int64_t width, const MlpNames &names);
    Tensor forward(const Tensor &x) const;
    void visit(ModuleVisitor &visitor);

private:
    Tensor project(const Tensor &x) const;
};

using LlamaDecoderLayer = PreNormLayer<LlamaAttention, LlamaMlp>;

/// What attention modules share: `projection(hidden).view(b, s, heads, head_dim).transpose(1, 2)`.
Tensor projectHeads(const Linear &projection, const Tensor &hidden, std::int64_t heads, std::int64_t headDim);
/// `output.reshape(b, s, -1).contiguous()`, then the output projection.
Tensor joinHeads(const Linear &projection, Tensor output, std::int64_t width);

} // namespace headroom::network
