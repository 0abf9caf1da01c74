// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Ministral, Ministral 3 and CWM (transformers 5.24, models/ministral/modeling_ministral.py, models/ministral3/
// modeling_ministral3.py, models/cwm/modeling_cwm.py): Llama with windows; Ministral 3 scales its queries by their position.
#include "core/network/families.h"
#include "core/network/llama.h"

namespace headroom::network {

using namespace autograd;

namespace {

/// MinistralModel, CwmModel: a mask for each kind of layer, whether there is one or not.
class MinistralModel : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<LlamaDecoderLayer>(builder, m_config, m_attention);
    }
    Masks masks() const override { return {true, true}; }
};

struct Ministral3Attention : LlamaAttention {
    Ministral3Attention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : LlamaAttention(builder, c, attention)
    {
        scalesByPosition = true;
    }
};

/// Ministral3Model: one mask for all layers, as Mistral's.
class Ministral3Model : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<PreNormLayer<Ministral3Attention, LlamaMlp>>(builder, m_config, m_attention);
    }
    Masks masks() const override { return {!anySliding(), anySliding()}; }
};

} // namespace

std::unique_ptr<DecoderModel> makeMinistral(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<MinistralModel>(config, attention, transformers);
}

std::unique_ptr<DecoderModel> makeMinistral3(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<Ministral3Model>(config, attention, transformers);
}

} // namespace headroom::network
