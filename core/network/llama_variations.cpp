// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Variations of Llama that differ in a line or two of its attention or MLP (transformers 5.24): ERNIE 4.5
// (models/ernie4_5/modeling_ernie4_5.py), Seed-OSS (models/seed_oss/modeling_seed_oss.py), HunYuan dense
// (models/hunyuan_v1_dense/modeling_hunyuan_v1_dense.py), Arcee (models/arcee/modeling_arcee.py), Jais 2 (models/jais2/
// modeling_jais2.py), Helium (models/helium/modeling_helium.py), BitNet (models/bitnet/modeling_bitnet.py).
#include "core/network/families.h"
#include "core/network/layer_norm_model.h"
#include "core/network/llama.h"
#include "core/network/two_linear_mlp.h"

namespace headroom::network {

using namespace autograd;

namespace {

/// A model of layers of that kind.
template<typename Layer>
class ModelOf : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<Layer>(builder, m_config, m_attention);
    }
};

/// Ernie4_5Attention: pairs are rotated, in fp32.
struct ErnieAttention : LlamaAttention {
    ErnieAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : LlamaAttention(builder, c, attention)
    {
        rotation = Rotation::HalfPairsInFp32;
    }
};

class ErnieModel : public ModelOf<PreNormLayer<ErnieAttention, LlamaMlp>>
{
public:
    using ModelOf::ModelOf;

protected:
    DType rotaryDtype(DType) const override { return DType::Float32; }
};

/// SeedOssAttention, SeedOssMLP: dropout on what they return.
struct SeedOssAttention : LlamaAttention {
    SeedOssAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : LlamaAttention(builder, c, attention)
    {
        outputDropout = c.residualDropout;
    }
};

struct SeedOssMlp : LlamaMlp {
    double residualDropout;

    SeedOssMlp(const Builder &builder, const ModelConfig &c)
        : LlamaMlp(builder, c)
        , residualDropout(c.residualDropout)
    {}

    Tensor forward(const Tensor &x) const { return autograd::dropout(LlamaMlp::forward(x), residualDropout); }
};

/// HunYuanDenseV1Attention: norms over the heads after their rotation.
struct HunYuanAttention : LlamaAttention {
    HunYuanAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : LlamaAttention(builder, c, attention)
    {
        qNormLate = builder.norm("self_attn.query_layernorm", c.headDim);
        kNormLate = builder.norm("self_attn.key_layernorm", c.headDim);
    }
};

/// Jais2Model: Arcee with LayerNorms.
class Jais2Model : public LayerNormModel
{
public:
    using LayerNormModel::LayerNormModel;

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<PreNormLayer<LlamaAttention, UpDownMlp, LayerNorm>>(builder, m_config, m_attention);
    }
};

/// HeliumAttention: pairs are rotated.
struct HeliumAttention : LlamaAttention {
    HeliumAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : LlamaAttention(builder, c, attention)
    {
        rotation = Rotation::HalfPairs;
    }
};

class HeliumModel : public DecoderModel
{
public:
    HeliumModel(const ModelConfig &config, AttentionKind attention, Version transformers)
        : DecoderModel(config, attention, transformers)
    {
        m_normKind = RmsNormKind::InFp32;
    }

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<PreNormLayer<HeliumAttention, LlamaMlp>>(builder, m_config, m_attention, m_normKind);
    }
};

/// BitNetAttention, BitNetMLP: a norm before the last Linear of each.
struct BitNetAttention : LlamaAttention {
    BitNetAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : LlamaAttention(builder, c, attention)
    {
        outputNorm = builder.norm("self_attn.attn_sub_norm", c.hiddenSize);
    }
};

struct BitNetMlp : LlamaMlp {
    BitNetMlp(const Builder &builder, const ModelConfig &c)
        : LlamaMlp(builder, c)
    {
        productNorm = builder.norm("mlp.ffn_sub_norm", c.intermediateSize);
    }
};

} // namespace

std::unique_ptr<DecoderModel> makeErnie(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<ErnieModel>(config, attention, transformers);
}

std::unique_ptr<DecoderModel> makeSeedOss(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<ModelOf<PreNormLayer<SeedOssAttention, SeedOssMlp>>>(config, attention, transformers);
}

std::unique_ptr<DecoderModel> makeHunYuan(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<ModelOf<PreNormLayer<HunYuanAttention, LlamaMlp>>>(config, attention, transformers);
}

std::unique_ptr<DecoderModel> makeArcee(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<ModelOf<PreNormLayer<LlamaAttention, UpDownMlp>>>(config, attention, transformers);
}

std::unique_ptr<DecoderModel> makeJais2(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<Jais2Model>(config, attention, transformers);
}

std::unique_ptr<DecoderModel> makeHelium(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<HeliumModel>(config, attention, transformers);
}

std::unique_ptr<DecoderModel> makeBitNet(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<ModelOf<PreNormLayer<BitNetAttention, BitNetMlp>>>(config, attention, transformers);
}

} // namespace headroom::network
