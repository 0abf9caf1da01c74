// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// OLMo, the first one (transformers 5.24, models/olmo/modeling_olmo.py): Llama whose LayerNorms have no parameters and
// whose rotation is in fp32.
#include "core/network/families.h"
#include "core/network/layer_norm_model.h"
#include "core/network/llama.h"

namespace headroom::network {

namespace {

struct OlmoAttention : LlamaAttention {
    OlmoAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : LlamaAttention(builder, c, attention)
    {
        rotation = Rotation::HalvesInFp32;
        projectsFirst = true;
    }
};

using OlmoDecoderLayer = PreNormLayer<OlmoAttention, LlamaMlp, LayerNorm>;

class OlmoModel : public LayerNormModel
{
public:
    OlmoModel(const ModelConfig &config, AttentionKind attention, Version transformers)
        : LayerNormModel(config, attention, transformers, LayerNormKind::Plain)
    {}

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t index) const override
    {
        return std::make_unique<OlmoDecoderLayer>(isLeft(index) ? builder.leaving("mlp.down_proj") : builder, m_config, m_attention,
                                                  m_kind);
    }
    DType rotaryDtype(DType) const override { return DType::Float32; }

private:
    /// transformers 5 does not quantise the module of a model's last parameter (quantizers/base.py, get_keys_to_not_convert): the
    /// output head, or a norm where that is tied. Here norms have no parameters.
    bool isLeft(std::int64_t index) const
    {
        return m_config.tiedEmbeddings && index + 1 == m_config.layers && m_transformers >= Version{5, 0};
    }
};

} // namespace

std::unique_ptr<DecoderModel> makeOlmo(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<OlmoModel>(config, attention, transformers);
}

} // namespace headroom::network
