// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// nanochat (transformers 5.24, models/nanochat/modeling_nanochat.py): norms without parameters, one of them on the embeddings, and
// over the heads after the rotation, which turns the other way; softcapped logits.
#include "core/network/families.h"
#include "core/network/gemma.h"
#include "core/network/llama.h"
#include "core/network/two_linear_mlp.h"

namespace headroom::network {

using namespace autograd;

namespace {

constexpr LinearNames mlpIn = HEADROOM_LINEAR_NAMES("mlp.fc1");
constexpr LinearNames mlpOut = HEADROOM_LINEAR_NAMES("mlp.fc2");

struct NanoChatAttention : LlamaAttention {
    NanoChatAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : LlamaAttention(builder, c, attention)
    {
        rotation = Rotation::HalvesBackwards;
        qNormLate = builder.norm("self_attn.q_norm", c.headDim, RmsNormKind::NoWeight);
        kNormLate = builder.norm("self_attn.k_norm", c.headDim, RmsNormKind::NoWeight);
    }
};

struct NanoChatMlp : TwoLinearMlp {
    NanoChatMlp(const Builder &builder, const ModelConfig &c)
        : TwoLinearMlp{builder.linear(mlpIn, c.hiddenSize, c.intermediateSize, false),
                       builder.linear(mlpOut, c.intermediateSize, c.hiddenSize, false), "mlp.activation_fn",
                       activationOf(c.hiddenActivation).value_or(Activation::ReluSquared)}
    {}
};

class NanoChatModel : public DecoderModel
{
public:
    NanoChatModel(const ModelConfig &config, AttentionKind attention, Version transformers)
        : DecoderModel(config, attention, transformers)
    {
        m_normKind = RmsNormKind::NoWeight;
    }

    Tensor finishLogits(Tensor logits) const override { return softcapLogits(std::move(logits), m_config.logitSoftcapping); }

    Tensor forward(const Tensor &inputIds, const LayerCall &call, bool inputsRequireGrad) override
    {
        Tape::Scope scope(*inputIds->tape, "model");
        const Tensor embedded = m_embedding.forward(inputIds, inputsRequireGrad);
        const LayerContexts contexts = prepare(embedded);
        return normalize(runLayers(normalize(embedded), contexts, call));
    }

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<PreNormLayer<NanoChatAttention, NanoChatMlp>>(builder, m_config, m_attention, RmsNormKind::NoWeight);
    }
};

} // namespace

std::unique_ptr<DecoderModel> makeNanoChat(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<NanoChatModel>(config, attention, transformers);
}

} // namespace headroom::network
