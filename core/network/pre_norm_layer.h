// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/network/decoder_model.h"

#include <type_traits>

namespace headroom::network {

/// What a layer calls its norms before attention and before the MLP.
struct PreNormNames {
    const char *attention = "input_layernorm", *mlp = "post_attention_layernorm";
};

/// LlamaDecoderLayer (transformers 5.24, models/llama/modeling_llama.py), and the layers written like it with another
/// attention or MLP: a norm before each, and its output added to what went in.
template<typename Attention, typename Mlp, typename Norm = RmsNorm>
class PreNormLayer : public Block
{
public:
    PreNormLayer(const Builder &builder, const ModelConfig &c, AttentionKind attention, decltype(Norm::kind) norms = {},
                 PreNormNames names = {})
        : m_attention(builder, c, attention)
        , m_mlp(builder, c)
        , m_inputNorm(builder.norm(names.attention, c.hiddenSize, norms))
        , m_postAttentionNorm(builder.norm(names.mlp, c.hiddenSize, norms))
    {}

    Tensor forward(const Tensor &input, const LayerContext &context) const override
    {
        Tensor residual = input;
        Tensor hidden = m_inputNorm.forward(input);
        Tensor weights; // `hidden_states, _ = self.self_attn(...)`: the underscore keeps them to the layer's end
        hidden = m_attention.forward(std::move(hidden), context, weights);
        hidden = autograd::add(residual, branch(hidden));

        residual = hidden;
        hidden = m_postAttentionNorm.forward(hidden);
        Tensor kept; // likewise: what blocks of experts return besides
        hidden = callMlp(hidden, kept);
        hidden = afterMlp(std::move(hidden));
        return autograd::add(residual, branch(hidden));
    }

    void visit(ModuleVisitor &visitor) override
    {
        m_attention.visit(visitor);
        m_mlp.visit(visitor);
        if constexpr (std::is_same_v<Norm, RmsNorm>) {
            visitor.norm(m_inputNorm);
            visitor.norm(m_postAttentionNorm);
        } else {
            visitor.layerNorm(m_inputNorm);
            visitor.layerNorm(m_postAttentionNorm);
        }
    }

    Attention &attention() { return m_attention; }

protected:
    /// What is added to the residual, of the output of attention or MLP.
    virtual Tensor branch(const Tensor &output) const { return output; }
    /// What becomes of the MLP's output, and takes its name, before that.
    virtual Tensor afterMlp(Tensor output) const { return output; }

    Tensor callMlp(const Tensor &hidden, Tensor &kept) const
    {
        if constexpr (requires { m_mlp.forward(hidden, kept); })
            return m_mlp.forward(hidden, kept);
        else
            return m_mlp.forward(hidden);
    }

    Attention m_attention;
    Mlp m_mlp;
    Norm m_inputNorm, m_postAttentionNorm;
};

} // namespace headroom::network
