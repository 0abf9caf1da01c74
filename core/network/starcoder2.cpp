// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// StarCoder2 (transformers 5.24, models/starcoder2/modeling_starcoder2.py): Mistral with biases, LayerNorms and an MLP of two
// Linears.
#include "core/network/families.h"
#include "core/network/layer_norm_model.h"
#include "core/network/llama.h"
#include "core/network/two_linear_mlp.h"

namespace headroom::network {

using namespace autograd;

namespace {

constexpr LinearNames mlpIn = HEADROOM_LINEAR_NAMES("mlp.c_fc");
constexpr LinearNames mlpOut = HEADROOM_LINEAR_NAMES("mlp.c_proj");

struct Starcoder2Attention : LlamaAttention {
    Starcoder2Attention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : LlamaAttention(builder, c, attention)
    {
        outputDropout = c.residualDropout;
    }
};

struct Starcoder2Mlp : TwoLinearMlp {
    Starcoder2Mlp(const Builder &builder, const ModelConfig &c)
        : TwoLinearMlp{builder.linear(mlpIn, c.hiddenSize, c.intermediateSize, c.mlpBias),
                       builder.linear(mlpOut, c.intermediateSize, c.hiddenSize, c.mlpBias), "mlp.act",
                       activationOf(c.hiddenActivation).value_or(Activation::Gelu), c.residualDropout}
    {}
};

using Starcoder2DecoderLayer = PreNormLayer<Starcoder2Attention, Starcoder2Mlp, LayerNorm>;

class Starcoder2Model : public LayerNormModel
{
public:
    using LayerNormModel::LayerNormModel;

    Tensor forward(const Tensor &inputIds, const LayerCall &call, bool inputsRequireGrad) override
    {
        Tape::Scope scope(*inputIds->tape, "model");
        const Tensor embedded = m_embedding.forward(inputIds, inputsRequireGrad);
        LayerContexts contexts = positionsAndMasks(embedded);
        Tensor hidden = dropout(embedded, m_config.embeddingDropout);
        rotaryEmbedding(contexts.full, hidden);
        contexts.sliding.cos = contexts.full.cos;
        contexts.sliding.sin = contexts.full.sin;
        return normalize(runLayers(std::move(hidden), contexts, call));
    }

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<Starcoder2DecoderLayer>(builder, m_config, m_attention);
    }
    Masks masks() const override { return {!anySliding(), anySliding()}; }
};

} // namespace

std::unique_ptr<DecoderModel> makeStarcoder2(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<Starcoder2Model>(config, attention, transformers);
}

} // namespace headroom::network
