// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// EXAONE 4 (transformers 5.24, models/exaone4/modeling_exaone4.py): norms as OLMo 2 has them, norms over the heads; where
// some layers attend within a window, the others do not rotate.
#include "core/network/families.h"
#include "core/network/head_norm_attention.h"
#include "core/network/olmo2.h"

namespace headroom::network {

using namespace autograd;

namespace {

struct Exaone4Attention : HeadNormAttention {
    Exaone4Attention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : HeadNormAttention(builder, c, attention, RmsNormKind::Llama)
    {}
};

class Exaone4Model : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t index) const override
    {
        auto layer = std::make_unique<PostNormLayer<Exaone4Attention>>(builder, m_config, m_attention, RmsNormKind::Llama);
        if (m_config.slidingWindow && !isSliding(static_cast<std::size_t>(index)))
            layer->attention().rotation = Rotation::None;
        return layer;
    }
};

} // namespace

std::unique_ptr<DecoderModel> makeExaone4(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<Exaone4Model>(config, attention, transformers);
}

} // namespace headroom::network
