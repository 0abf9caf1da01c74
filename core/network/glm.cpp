// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// GLM and GLM-4 (transformers 5.24, models/glm/modeling_glm.py, models/glm4/modeling_glm4.py): Llama's attention with
// half of each head rotated in pairs, Phi-3's MLP; GLM-4 with norms after attention and MLP too.
#include "core/network/families.h"
#include "core/network/phi3.h"

namespace headroom::network {

using namespace autograd;

namespace {

struct GlmAttention : LlamaAttention {
    GlmAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : LlamaAttention(builder, c, attention)
    {
        rotation = Rotation::FirstDimPairs;
    }
};

using GlmDecoderLayer = PreNormLayer<GlmAttention, Phi3Mlp>;

class Glm4DecoderLayer : public GlmDecoderLayer
{
public:
    Glm4DecoderLayer(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : GlmDecoderLayer(builder, c, attention)
        , m_postSelfAttentionNorm(builder.norm("post_self_attn_layernorm", c.hiddenSize))
        , m_postMlpNorm(builder.norm("post_mlp_layernorm", c.hiddenSize))
    {}

    Tensor forward(const Tensor &input, const LayerContext &context) const override
    {
        Tensor residual = input;
        Tensor hidden = m_inputNorm.forward(input);
        Tensor weights;
        hidden = m_attention.forward(std::move(hidden), context, weights);
        hidden = m_postSelfAttentionNorm.forward(hidden);
        hidden = add(residual, hidden);

        residual = hidden;
        hidden = m_postAttentionNorm.forward(hidden);
        hidden = m_mlp.forward(hidden);
        hidden = m_postMlpNorm.forward(hidden);
        return add(residual, hidden);
    }

    void visit(ModuleVisitor &visitor) override
    {
        GlmDecoderLayer::visit(visitor);
        visitor.norm(m_postSelfAttentionNorm);
        visitor.norm(m_postMlpNorm);
    }

private:
    RmsNorm m_postSelfAttentionNorm, m_postMlpNorm;
};

template<typename Layer>
class GlmModel : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<Layer>(builder, m_config, m_attention);
    }
};

} // namespace

std::unique_ptr<DecoderModel> makeGlm(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<GlmModel<GlmDecoderLayer>>(config, attention, transformers);
}

std::unique_ptr<DecoderModel> makeGlm4(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<GlmModel<Glm4DecoderLayer>>(config, attention, transformers);
}

} // namespace headroom::network
