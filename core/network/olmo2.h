// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The parts of OLMo 2 that OLMoE and EXAONE 4 take over.
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

/// Olmo2DecoderLayer: norms after attention and after the MLP, none before.
template<typename Attention>
class PostNormLayer : public Block
{
public:
    PostNormLayer(const Builder &builder, const ModelConfig &c, AttentionKind attention, RmsNormKind norms)
        : m_attention(builder, c, attention)
        , m_mlp(builder, c)
        , m_postAttentionNorm(builder.norm("post_attention_layernorm", c.hiddenSize, norms))
        , m_postFeedforwardNorm(builder.norm("post_feedforward_layernorm", c.hiddenSize, norms))
    {}

    Tensor forward(const Tensor &input, const LayerContext &context) const override
    {
        Tensor residual = input;
        Tensor weights;
        Tensor hidden = m_attention.forward(input, context, weights);
        hidden = m_postAttentionNorm.forward(hidden);
        hidden = autograd::add(residual, hidden);

        residual = hidden;
        hidden = m_mlp.forward(hidden);
        hidden = m_postFeedforwardNorm.forward(hidden);
        return autograd::add(residual, hidden);
    }

    void visit(ModuleVisitor &visitor) override
    {
        m_attention.visit(visitor);
        m_mlp.visit(visitor);
        visitor.norm(m_postAttentionNorm);
        visitor.norm(m_postFeedforwardNorm);
    }

    Attention &attention() { return m_attention; }

private:
    Attention m_attention;
    LlamaMlp m_mlp;
    RmsNorm m_postAttentionNorm, m_postFeedforwardNorm;
};

} // namespace headroom::network
