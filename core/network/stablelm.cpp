// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// StableLM (transformers 5.24, models/stablelm/modeling_stablelm.py): Llama's MLP, LayerNorms, a part of each head rotated.
#include "core/network/families.h"
#include "core/network/layer_norm_model.h"
#include "core/network/phi.h"

namespace headroom::network {

using namespace autograd;

namespace {

class StableLmDecoderLayer : public Block
{
public:
    StableLmDecoderLayer(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : m_attention(builder, c, attention, names::o, c.outputBias)
        , m_mlp(builder, c)
        , m_inputNorm(builder.layerNorm("input_layernorm", c.hiddenSize))
        , m_dropout(c.residualDropout)
    {
        m_attention.projectsFirst = true;
        if (!c.parallelResidual)
            m_postAttentionNorm = builder.layerNorm("post_attention_layernorm", c.hiddenSize);
    }

    Tensor forward(const Tensor &input, const LayerContext &context) const override
    {
        const Tensor hidden = m_inputNorm.forward(input); // keeps its name to the end
        Tensor weights;
        const Tensor attended = m_attention.forward(hidden, context, weights);
        if (!m_postAttentionNorm) { // attention and MLP side by side
            const Tensor fed = dropout(m_mlp.forward(hidden), m_dropout);
            const Tensor sum = add(input, attended);
            return add(sum, fed);
        }
        const Tensor residual = add(input, attended);
        Tensor fed = m_mlp.forward(m_postAttentionNorm->forward(residual));
        fed = dropout(fed, m_dropout);
        return add(residual, fed);
    }

    void visit(ModuleVisitor &visitor) override
    {
        m_attention.visit(visitor);
        m_mlp.visit(visitor);
        visitor.layerNorm(m_inputNorm);
        if (m_postAttentionNorm)
            visitor.layerNorm(*m_postAttentionNorm);
    }

private:
    PhiAttention m_attention;
    LlamaMlp m_mlp;
    LayerNorm m_inputNorm;
    std::optional<LayerNorm> m_postAttentionNorm;
    double m_dropout;
};

class StableLmModel : public LayerNormModel
{
public:
    using LayerNormModel::LayerNormModel;

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<StableLmDecoderLayer>(builder, m_config, m_attention);
    }
};

} // namespace

std::unique_ptr<DecoderModel> makeStableLm(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<StableLmModel>(config, attention, transformers);
}

} // namespace headroom::network
