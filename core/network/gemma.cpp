// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Gemma, Gemma 2 and Gemma 3's text model (transformers 5.24, models/gemma/modeling_gemma.py, models/gemma2/
// modeling_gemma2.py, models/gemma3/modeling_gemma3.py).
#include "core/network/gemma.h"

#include "core/network/families.h"

namespace headroom::network {

using namespace autograd;

GemmaModel::GemmaModel(const ModelConfig &config, AttentionKind attention, Version transformers)
    : DecoderModel(config, attention, transformers)
{
    m_normKind = RmsNormKind::Gemma;
}

Embedding GemmaModel::makeEmbedding(const Builder &builder) const
{
    Embedding embedding = DecoderModel::makeEmbedding(builder);
    Tape::Scope scope(builder.tape(), embedding.name);
    embedding.scale = builder.buffer({}, builder.weights(), "aten._to_copy.default");
    return embedding;
}

std::unique_ptr<Block> GemmaModel::makeLayer(const Builder &builder, std::int64_t) const
{
    return std::make_unique<LlamaDecoderLayer>(builder, m_config, m_attention, RmsNormKind::Gemma);
}

Tensor softcapLogits(Tensor logits, bool softcapped)
{
    if (!softcapped)
        return logits;
    logits = divNumber(logits);
    logits = tanh(logits);
    return mulNumber(logits);
}

namespace {

/// Gemma2Attention: Llama's, its scores bounded by a tanh.
struct Gemma2Attention : LlamaAttention {
    Gemma2Attention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : LlamaAttention(builder, c, attention)
    {
        softcapped = c.attentionSoftcapping;
    }
};

class Gemma2Model : public GemmaModel
{
public:
    using GemmaModel::GemmaModel;

    Tensor finishLogits(Tensor logits) const override { return softcapLogits(std::move(logits), m_config.logitSoftcapping); }

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<GemmaSandwichLayer<Gemma2Attention>>(builder, m_config, m_attention);
    }
    Masks masks() const override { return {true, true}; }
};

/// Gemma3Attention: norms over the heads, after the heads have been moved to the front.
struct Gemma3Attention : AttentionSettings {
    Linear q, k, v, o;
    RmsNorm qNorm, kNorm;
    Rotation rotation = Rotation::Halves;

    Gemma3Attention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : AttentionSettings(c, attention)
        , q(builder.linear(names::q, c.hiddenSize, checkedMultiply(c.heads, c.headDim), c.queryKeyValueBias))
        , k(builder.linear(names::k, c.hiddenSize, checkedMultiply(c.keyValueHeads, c.headDim), c.queryKeyValueBias))
        , v(builder.linear(names::v, c.hiddenSize, checkedMultiply(c.keyValueHeads, c.headDim), c.queryKeyValueBias))
        , o(builder.linear(names::o, checkedMultiply(c.heads, c.headDim), c.hiddenSize, c.outputBias))
        , qNorm(builder.norm("self_attn.q_norm", c.headDim, RmsNormKind::Gemma))
        , kNorm(builder.norm("self_attn.k_norm", c.headDim, RmsNormKind::Gemma))
    {}

    Tensor forward(Tensor hidden, const LayerContext &context, Tensor &weights) const
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

class Gemma3Model : public GemmaModel
{
public:
    using GemmaModel::GemmaModel;

    Tensor finishLogits(Tensor logits) const override { return softcapLogits(std::move(logits), m_config.logitSoftcapping); }

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<GemmaSandwichLayer<Gemma3Attention>>(builder, m_config, m_attention);
    }
    Masks masks() const override { return {true, true}; }
    bool rotaryByKind() const override { return true; }
};

} // namespace

std::unique_ptr<DecoderModel> makeGemma(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<GemmaModel>(config, attention, transformers);
}

std::unique_ptr<DecoderModel> makeGemma2(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<Gemma2Model>(config, attention, transformers);
}

std::unique_ptr<DecoderModel> makeGemma3(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<Gemma3Model>(config, attention, transformers);
}

} // namespace headroom::network
