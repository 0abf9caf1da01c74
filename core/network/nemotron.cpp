// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Nemotron and Minitron (transformers 5.24, models/nemotron/modeling_nemotron.py): LayerNorms that add one to their weight, a
// part of each head rotated, an MLP of two Linears.
#include "core/network/families.h"
#include "core/network/layer_norm_model.h"
#include "core/network/llama.h"
#include "core/network/two_linear_mlp.h"

namespace headroom::network {

namespace {

struct NemotronAttention : LlamaAttention {
    NemotronAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : LlamaAttention(builder, c, attention)
    {
        rotation = Rotation::FirstDimLast;
    }
};

using NemotronDecoderLayer = PreNormLayer<NemotronAttention, UpDownMlp, LayerNorm>;

class NemotronModel : public LayerNormModel
{
public:
    NemotronModel(const ModelConfig &config, AttentionKind attention, Version transformers)
        : LayerNormModel(config, attention, transformers, LayerNormKind::OnePlus)
    {}

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<NemotronDecoderLayer>(builder, m_config, m_attention, m_kind);
    }
};

} // namespace

std::unique_ptr<DecoderModel> makeNemotron(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<NemotronModel>(config, attention, transformers);
}

} // namespace headroom::network
