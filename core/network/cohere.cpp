// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Command R and Command R7B (transformers 5.24, models/cohere/modeling_cohere.py, models/cohere2/modeling_cohere2.py): one
// LayerNorm, written out, for attention and MLP side by side; rotation in pairs and in fp32. Cohere 2 rotates only where
// it attends within a window.
#include "core/network/families.h"
#include "core/network/layer_norm_model.h"
#include "core/network/llama.h"

namespace headroom::network {

using namespace autograd;

namespace {

struct CohereAttention : LlamaAttention {
    CohereAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : LlamaAttention(builder, c, attention)
    {
        rotation = Rotation::PairsInFp32;
    }
};

class CohereDecoderLayer : public Block
{
public:
    CohereDecoderLayer(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : m_attention(builder, c, attention)
        , m_mlp(builder, c)
        , m_inputNorm(builder.norm("input_layernorm", c.hiddenSize, LayerNormKind::WrittenOut))
    {}

    Tensor forward(const Tensor &input, const LayerContext &context) const override
    {
        const Tensor hidden = m_inputNorm.forward(input);
        Tensor weights;
        const Tensor attended = m_attention.forward(hidden, context, weights);
        const Tensor fed = m_mlp.forward(hidden);
        const Tensor sum = add(input, attended);
        return add(sum, fed);
    }

    void visit(ModuleVisitor &visitor) override
    {
        m_attention.visit(visitor);
        m_mlp.visit(visitor);
        visitor.layerNorm(m_inputNorm);
    }

    CohereAttention &attention() { return m_attention; }

private:
    CohereAttention m_attention;
    LlamaMlp m_mlp;
    LayerNorm m_inputNorm;
};

class CohereModel : public LayerNormModel
{
public:
    CohereModel(const ModelConfig &config, AttentionKind attention, Version transformers)
        : LayerNormModel(config, attention, transformers, LayerNormKind::WrittenOut)
    {}

    Tensor finishLogits(Tensor logits) const override { return mulNumber(logits); } // * logit_scale

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t index) const override
    {
        auto layer = std::make_unique<CohereDecoderLayer>(builder, m_config, m_attention);
        if (isCohere2() && !isSliding(static_cast<std::size_t>(index)))
            layer->attention().rotation = Rotation::None;
        return layer;
    }
    Masks masks() const override { return isCohere2() ? Masks{true, true} : Masks{true, false}; }
    RotaryAngles rotaryAngles() const override { return RotaryAngles::Interleaved; }

private:
    bool isCohere2() const { return m_config.modelType == "cohere2"; }
};

} // namespace

std::unique_ptr<DecoderModel> makeCohere(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<CohereModel>(config, attention, transformers);
}

} // namespace headroom::network
