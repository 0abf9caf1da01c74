// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// GLM-4.5 and Sarvam (transformers 5.24, models/glm4_moe/modeling_glm4_moe.py; sarvam_moe runs the same code): Llama's attention
// with a part of each head rotated, norms over the heads where the config says so, and experts in all layers but the first.
#include "core/network/families.h"
#include "core/network/scored_experts.h"

namespace headroom::network {

using namespace autograd;

namespace {

/// Glm4MoeAttention: each projection is seen as heads at once, but these are moved to the front after the norms of both.
struct Glm4MoeAttention : AttentionSettings {
    Linear q, k, v, o;
    std::optional<RmsNorm> qNorm, kNorm;

    Glm4MoeAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : AttentionSettings(c, attention)
        , q(builder.linear(names::q, c.hiddenSize, checkedMultiply(c.heads, c.headDim), c.queryKeyValueBias))
        , k(builder.linear(names::k, c.hiddenSize, checkedMultiply(c.keyValueHeads, c.headDim), c.queryKeyValueBias))
        , v(builder.linear(names::v, c.hiddenSize, checkedMultiply(c.keyValueHeads, c.headDim), c.queryKeyValueBias))
        , o(builder.linear(names::o, checkedMultiply(c.heads, c.headDim), c.hiddenSize, false))
    {
        if (c.queryKeyNorm) {
            qNorm = builder.norm("self_attn.q_norm", c.headDim);
            kNorm = builder.norm("self_attn.k_norm", c.headDim);
        }
    }

    Tensor forward(const Tensor &hidden, const LayerContext &context, Tensor &weights) const
    {
        if (halted(hidden))
            return {};
        Tape::Scope scope(*hidden->tape, "self_attn");
        const auto seenAsHeads = [&](const Linear &projection, std::int64_t count) {
            const Tensor states = projection.forward(hidden);
            return halted(states) ? Tensor() : view(states, {states.size(0), states.size(1), count, headDim});
        };
        Tensor query = seenAsHeads(q, heads), key = seenAsHeads(k, keyValueHeads), value = seenAsHeads(v, keyValueHeads);
        if (qNorm) {
            query = qNorm->forward(query);
            key = kNorm->forward(key);
        }
        if (halted(value) || !query || !key)
            return {};
        query = transpose(query, 1, 2);
        key = transpose(key, 1, 2);
        value = transpose(value, 1, 2);
        applyRotary(Rotation::FirstDimLate, query, key, context.cos, context.sin);
        return joinHeads(o, attend(kind, query, key, value, context, dropout, weights), heads * headDim);
    }

    void visit(ModuleVisitor &visitor)
    {
        for (Linear *linear : {&q, &k, &v, &o})
            visitor.linear(*linear);
        if (qNorm) {
            visitor.norm(*qNorm);
            visitor.norm(*kNorm);
        }
    }
};

class Glm4MoeModel : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t index) const override
    {
        if (m_config.isDense(index))
            return std::make_unique<PreNormLayer<Glm4MoeAttention, LlamaMlp>>(builder, m_config, m_attention);
        return std::make_unique<PreNormLayer<Glm4MoeAttention, ScoredMoeBlock>>(builder, m_config, m_attention);
    }
};

} // namespace

std::unique_ptr<DecoderModel> makeGlm4Moe(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<Glm4MoeModel>(config, attention, transformers);
}

} // namespace headroom::network
