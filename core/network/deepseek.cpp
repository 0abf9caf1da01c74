// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// DeepSeek-V3, GLM-4.7-Flash and Youtu (transformers 5.24, models/deepseek_v3/modeling_deepseek_v3.py, models/glm4_moe_lite/
// modeling_glm4_moe_lite.py, models/youtu/modeling_youtu.py): latent attention; experts in all layers but the first, but for Youtu.
#include "core/network/families.h"
#include "core/network/latent_attention.h"
#include "core/network/scored_experts.h"

namespace headroom::network {

namespace {

class DeepSeekModel : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t index) const override
    {
        if (m_config.isDense(index))
            return std::make_unique<PreNormLayer<LatentAttention, LlamaMlp>>(builder, m_config, m_attention);
        return std::make_unique<PreNormLayer<LatentAttention, ScoredMoeBlock>>(builder, m_config, m_attention);
    }
};

} // namespace

std::unique_ptr<DecoderModel> makeDeepSeek(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<DeepSeekModel>(config, attention, transformers);
}

} // namespace headroom::network
