// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The parts of Gemma that its later versions take over.
#pragma once

#include "core/network/llama.h"

namespace headroom::network {

/// GemmaModel: embeddings scaled by the root of the width, norms that add one to their weight.
class GemmaModel : public DecoderModel
{
public:
    GemmaModel(const ModelConfig &config, AttentionKind attention, Version transformers);

protected:
    Embedding makeEmbedding(const Builder &builder) const override;
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t index) const override;
};

/// Gemma2DecoderLayer, with Gemma 2's attention or Gemma 3's: a norm before and after attention, and before and after
/// the MLP.
template<typename Attention>
class GemmaSandwichLayer : public Block
{
public:
    GemmaSandwichLayer(const Builder &builder, const ModelConfig &c, AttentionKind kind)
        : m_attention(builder, c, kind)
        , m_mlp(builder, c)
        , m_inputNorm(builder.norm("input_layernorm", c.hiddenSize, RmsNormKind::Gemma))
        , m_postAttentionNorm(builder.norm("post_attention_layernorm", c.hiddenSize, RmsNormKind::Gemma))
        , m_preFeedforwardNorm(builder.norm("pre_feedforward_layernorm", c.hiddenSize, RmsNormKind::Gemma))
        , m_postFeedforwardNorm(builder.norm("post_feedforward_layernorm", c.hiddenSize, RmsNormKind::Gemma))
    {}

    Tensor forward(const Tensor &input, const LayerContext &context) const override
    {
        Tensor residual = input;
        Tensor hidden = m_inputNorm.forward(input);
        Tensor weights;
        hidden = m_attention.forward(std::move(hidden), context, weights);
        hidden = m_postAttentionNorm.forward(hidden);
        hidden = autograd::add(residual, hidden);

        residual = hidden;
        hidden = m_preFeedforwardNorm.forward(hidden);
        hidden = m_mlp.forward(hidden);
        hidden = m_postFeedforwardNorm.forward(hidden);
        return autograd::add(residual, hidden);
    }

    void visit(ModuleVisitor &visitor) override
    {
        m_attention.visit(visitor);
        m_mlp.visit(visitor);
        for (RmsNorm *norm : {&m_inputNorm, &m_postAttentionNorm, &m_preFeedforwardNorm, &m_postFeedforwardNorm})
            visitor.norm(*norm);
    }

private:
    Attention m_attention;
    LlamaMlp m_mlp;
    RmsNorm m_inputNorm, m_postAttentionNorm, m_preFeedforwardNorm, m_postFeedforwardNorm;
};

/// Gemma 2 and 3: `logits = tanh(logits / c) * c` where final_logit_softcapping is given.
Tensor softcapLogits(Tensor logits, bool softcapped);

} // namespace headroom::network
