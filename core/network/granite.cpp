// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Granite (transformers 5.24, models/granite/modeling_granite.py): Llama with four multipliers.
#include "core/network/families.h"
#include "core/network/llama.h"

namespace headroom::network {

using namespace autograd;

namespace {

class GraniteDecoderLayer : public LlamaDecoderLayer
{
public:
    using LlamaDecoderLayer::LlamaDecoderLayer;

protected:
    Tensor branch(const Tensor &output) const override { return mulNumber(output); } // * residual_multiplier
};

class GraniteModel : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

    Tensor finishLogits(Tensor logits) const override { return divNumber(logits); } // / logits_scaling

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<GraniteDecoderLayer>(builder, m_config, m_attention);
    }
    Tensor scaleEmbedding(Tensor embedded) const override { return mulNumber(embedded); } // * embedding_multiplier
};

} // namespace

std::unique_ptr<DecoderModel> makeGranite(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<GraniteModel>(config, attention, transformers);
}

} // namespace headroom::network
