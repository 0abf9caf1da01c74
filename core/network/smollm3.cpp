// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// SmolLM3 (transformers 5.24, models/smollm3/modeling_smollm3.py): Llama whose every fourth layer does not rotate.
#include "core/network/families.h"
#include "core/network/llama.h"

namespace headroom::network {

namespace {

class SmolLm3Model : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t index) const override
    {
        auto layer = std::make_unique<LlamaDecoderLayer>(builder, m_config, m_attention);
        if (!m_config.rotaryLayers[static_cast<std::size_t>(index)])
            layer->attention().rotation = Rotation::None;
        return layer;
    }
};

} // namespace

std::unique_ptr<DecoderModel> makeSmolLm3(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<SmolLm3Model>(config, attention, transformers);
}

} // namespace headroom::network
