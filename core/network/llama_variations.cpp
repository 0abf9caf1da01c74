// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Variations of Llama that differ in a line or two of its attention or MLP (transformers 5.24): ERNIE 4.5
// (models/ernie4_5/modeling_ernie4_5.py), Seed-OSS (models/seed_oss/modeling_seed_oss.py), HunYuan dense
// (models/hunyuan_v1_dense/modeling_hunyuan_v1_dense.py), Arcee (models/arcee/modeling_arcee.py).
#include "core/network/families.h"
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

/// ArceeMLP: down_proj(act_fn(up_proj(x)))
struct ArceeMlp : TwoLinearMlp {
    ArceeMlp(const Builder &builder, const ModelConfig &c)
        : TwoLinearMlp{builder.linear(names::up, c.hiddenSize, c.intermediateSize, c.mlpBias),
                       builder.linear(names::down, c.intermediateSize, c.hiddenSize, c.mlpBias), "mlp.act_fn",
                       activationOf(c.hiddenActivation).value_or(Activation::ReluSquared)}
    {}
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
    return std::make_unique<ModelOf<PreNormLayer<LlamaAttention, ArceeMlp>>>(config, attention, transformers);
}

} // namespace headroom::network
