// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Gemma, Gemma 2, Gemma 3's text model and VaultGemma (transformers 5.24, models/gemma/modeling_gemma.py, models/gemma2/
// modeling_gemma2.py, models/gemma3/modeling_gemma3.py, models/vaultgemma/modeling_vaultgemma.py).
#include "core/network/gemma.h"

#include "core/network/families.h"
#include "core/network/head_norm_attention.h"

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

/// VaultGemmaModel: Gemma 2 without norms after attention and MLP.
class VaultGemmaModel : public Gemma2Model
{
public:
    using Gemma2Model::Gemma2Model;

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<PreNormLayer<Gemma2Attention, LlamaMlp>>(builder, m_config, m_attention, RmsNormKind::Gemma,
                                                                         PreNormNames{"input_layernorm", "pre_feedforward_layernorm"});
    }
};

struct Gemma3Attention : HeadNormAttention {
    Gemma3Attention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : HeadNormAttention(builder, c, attention, RmsNormKind::Gemma)
    {}
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

std::unique_ptr<DecoderModel> makeVaultGemma(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<VaultGemmaModel>(config, attention, transformers);
}

} // namespace headroom::network
