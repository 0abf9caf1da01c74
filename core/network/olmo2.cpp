// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// OLMo 2 and OLMo 3 (transformers 5.24, models/olmo2/modeling_olmo2.py, models/olmo3/modeling_olmo3.py).
#include "core/network/olmo2.h"

#include "core/network/families.h"

namespace headroom::network {

using namespace autograd;

Olmo2Attention::Olmo2Attention(const Builder &builder, const ModelConfig &c, AttentionKind attention, RmsNormKind norms, Rotation rotated)
    : AttentionSettings(c, attention)
    , q(builder.linear(names::q, c.hiddenSize, checkedMultiply(c.heads, c.headDim), c.queryKeyValueBias))
    , k(builder.linear(names::k, c.hiddenSize, checkedMultiply(c.keyValueHeads, c.headDim), c.queryKeyValueBias))
    , v(builder.linear(names::v, c.hiddenSize, checkedMultiply(c.keyValueHeads, c.headDim), c.queryKeyValueBias))
    , o(builder.linear(names::o, checkedMultiply(c.heads, c.headDim), c.hiddenSize, c.outputBias))
    , qNorm(builder.norm("self_attn.q_norm", checkedMultiply(c.heads, c.headDim), norms))
    , kNorm(builder.norm("self_attn.k_norm", checkedMultiply(c.keyValueHeads, c.headDim), norms))
    , rotation(rotated)
{}

Tensor Olmo2Attention::forward(const Tensor &hidden, const LayerContext &context, Tensor &weights) const
{
    if (halted(hidden))
        return {};
    Tape::Scope scope(*hidden->tape, "self_attn");
    Tensor query = qNorm.forward(q.forward(hidden));
    Tensor key = kNorm.forward(k.forward(hidden));
    Tensor value = v.forward(hidden);
    if (halted(value) || !query || !key)
        return {};
    const std::int64_t b = hidden.size(0), s = hidden.size(1);
    query = transpose(view(query, {b, s, heads, headDim}), 1, 2);
    key = transpose(view(key, {b, s, keyValueHeads, headDim}), 1, 2);
    value = transpose(view(value, {b, s, keyValueHeads, headDim}), 1, 2);
    applyRotary(rotation, query, key, context.cos, context.sin);
    return joinHeads(o, attend(kind, query, key, value, context, dropout, weights), heads * headDim);
}

void Olmo2Attention::visit(ModuleVisitor &visitor)
{
    for (Linear *linear : {&q, &k, &v, &o})
        visitor.linear(*linear);
    visitor.norm(qNorm);
    visitor.norm(kNorm);
    visitor.rotation(rotation);
}

namespace {

struct OwnAttention : Olmo2Attention {
    OwnAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : Olmo2Attention(builder, c, attention, RmsNormKind::Olmo, Rotation::HalvesInFp32)
    {}
};

class Olmo2Model : public DecoderModel
{
public:
    Olmo2Model(const ModelConfig &config, AttentionKind attention, Version transformers)
        : DecoderModel(config, attention, transformers)
    {
        m_normKind = RmsNormKind::Olmo;
    }

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<PostNormLayer<OwnAttention>>(builder, m_config, m_attention, RmsNormKind::Olmo);
    }
    DType rotaryDtype(DType) const override { return DType::Float32; }
};

/// Olmo3Model: a mask and a rotary embedding for each kind of layer.
class Olmo3Model : public Olmo2Model
{
public:
    using Olmo2Model::Olmo2Model;

protected:
    Masks masks() const override { return {true, true}; }
    bool rotaryByKind() const override { return true; }
};

} // namespace

std::unique_ptr<DecoderModel> makeOlmo2(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<Olmo2Model>(config, attention, transformers);
}

std::unique_ptr<DecoderModel> makeOlmo3(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<Olmo3Model>(config, attention, transformers);
}

} // namespace headroom::network
