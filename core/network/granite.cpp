// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Granite and HyperCLOVA X (transformers 5.24, models/granite/modeling_granite.py, models/hyperclovax/
// modeling_hyperclovax.py): Llama with four multipliers; HyperCLOVA X has norms after attention and MLP as well.
#include "core/network/families.h"
#include "core/network/llama.h"

namespace headroom::network {

using namespace autograd;

namespace {

class GraniteDecoderLayer : public LlamaDecoderLayer
{
public:
    using LlamaDecoderLayer::LlamaDecoderLayer;

protected:
    Tensor branch(const Tensor &output) const override { return mulNumber(output); } // * residual_multiplier
};

class GraniteModel : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

    Tensor finishLogits(Tensor logits) const override { return divNumber(logits); } // / logits_scaling

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<GraniteDecoderLayer>(builder, m_config, m_attention);
    }
    Tensor scaleEmbedding(Tensor embedded) const override { return mulNumber(embedded); } // * embedding_multiplier
};

class HyperClovaXDecoderLayer : public Block
{
public:
    HyperClovaXDecoderLayer(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : m_attention(builder, c, attention)
        , m_mlp(builder, c)
        , m_inputNorm(builder.norm("input_layernorm", c.hiddenSize))
        , m_postAttentionNorm(builder.norm("post_attention_layernorm", c.hiddenSize))
    {
        if (c.postNorms) {
            m_postNorm1 = builder.norm("post_norm1", c.hiddenSize);
            m_postNorm2 = builder.norm("post_norm2", c.hiddenSize);
        }
    }

    Tensor forward(const Tensor &input, const LayerContext &context) const override
    {
        Tensor residual = input;
        Tensor hidden = m_inputNorm.forward(input);
        Tensor weights;
        hidden = m_attention.forward(std::move(hidden), context, weights);
        if (m_postNorm1)
            hidden = m_postNorm1->forward(hidden);
        hidden = add(residual, mulNumber(hidden)); // * residual_multiplier

        residual = hidden;
        hidden = m_postAttentionNorm.forward(hidden);
        hidden = m_mlp.forward(hidden);
        if (m_postNorm2)
            hidden = m_postNorm2->forward(hidden);
        return add(residual, mulNumber(hidden));
    }

    void visit(ModuleVisitor &visitor) override
    {
        m_attention.visit(visitor);
        m_mlp.visit(visitor);
        visitor.norm(m_inputNorm);
        visitor.norm(m_postAttentionNorm);
        for (std::optional<RmsNorm> *norm : {&m_postNorm1, &m_postNorm2})
            if (*norm)
                visitor.norm(**norm);
    }

private:
    LlamaAttention m_attention;
    LlamaMlp m_mlp;
    RmsNorm m_inputNorm, m_postAttentionNorm;
    std::optional<RmsNorm> m_postNorm1, m_postNorm2;
};

class HyperClovaXModel : public GraniteModel
{
public:
    using GraniteModel::GraniteModel;

    Tensor finishLogits(Tensor logits) const override { return mulNumber(logits); } // * logits_scaling

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<HyperClovaXDecoderLayer>(builder, m_config, m_attention);
    }
};

} // namespace

std::unique_ptr<DecoderModel> makeGranite(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<GraniteModel>(config, attention, transformers);
}

std::unique_ptr<DecoderModel> makeHyperClovaX(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<HyperClovaXModel>(config, attention, transformers);
}

} // namespace headroom::network
