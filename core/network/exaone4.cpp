// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// EXAONE 4 (transformers 5.24, models/exaone4/modeling_exaone4.py): norms as OLMo 2 has them, norms over the heads; where
// some layers attend within a window, the others do not rotate.
#include "core/network/families.h"
#include "core/network/olmo2.h"

namespace headroom::network {

using namespace autograd;

namespace {

struct Exaone4Attention : AttentionSettings {
    Linear q, k, v, o;
    RmsNorm qNorm, kNorm;
    Rotation rotation = Rotation::Halves;

    Exaone4Attention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : AttentionSettings(c, attention)
        , q(builder.linear(names::q, c.hiddenSize, checkedMultiply(c.heads, c.headDim), false))
        , k(builder.linear(names::k, c.hiddenSize, checkedMultiply(c.keyValueHeads, c.headDim), false))
        , v(builder.linear(names::v, c.hiddenSize, checkedMultiply(c.keyValueHeads, c.headDim), false))
        , o(builder.linear(names::o, checkedMultiply(c.heads, c.headDim), c.hiddenSize, false))
        , qNorm(builder.norm("self_attn.q_norm", c.headDim))
        , kNorm(builder.norm("self_attn.k_norm", c.headDim))
    {}

    Tensor forward(const Tensor &hidden, const LayerContext &context, Tensor &weights) const
    {
        if (halted(hidden))
            return {};
        Tape::Scope scope(*hidden->tape, "self_attn");
        Tensor query = projectHeads(q, hidden, heads, headDim);
        Tensor key = projectHeads(k, hidden, keyValueHeads, headDim);
        const Tensor value = projectHeads(v, hidden, keyValueHeads, headDim);
        query = qNorm.forward(query);
        key = kNorm.forward(key);
        applyRotary(rotation, query, key, context.cos, context.sin);
        return joinHeads(o, attend(kind, query, key, value, context, dropout, weights), heads * headDim);
    }

    void visit(ModuleVisitor &visitor)
    {
        for (Linear *linear : {&q, &k, &v, &o})
            visitor.linear(*linear);
        visitor.norm(qNorm);
        visitor.norm(kNorm);
        visitor.rotation(rotation);
    }
};

class Exaone4Model : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t index) const override
    {
        auto layer = std::make_unique<PostNormLayer<Exaone4Attention>>(builder, m_config, m_attention, RmsNormKind::Llama);
        if (m_config.slidingWindow && !isSliding(static_cast<std::size_t>(index)))
            layer->attention().rotation = Rotation::None;
        return layer;
    }
};

} // namespace

std::unique_ptr<DecoderModel> makeExaone4(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<Exaone4Model>(config, attention, transformers);
}

} // namespace headroom::network
