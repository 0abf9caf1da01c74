// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Persimmon (transformers 5.24, models/persimmon/modeling_persimmon.py): query, key and value from one projection, LayerNorms over the
// heads, half of each head rotated.
#include "core/network/families.h"
#include "core/network/llama.h"
#include "core/network/two_linear_mlp.h"

namespace headroom::network {

using namespace autograd;

namespace {

constexpr LinearNames queryKeyValue = HEADROOM_LINEAR_NAMES("self_attn.query_key_value");
constexpr LinearNames dense = HEADROOM_LINEAR_NAMES("self_attn.dense");
constexpr LinearNames mlpIn = HEADROOM_LINEAR_NAMES("mlp.dense_h_to_4h");
constexpr LinearNames mlpOut = HEADROOM_LINEAR_NAMES("mlp.dense_4h_to_h");

struct PersimmonAttention : AttentionSettings {
    Linear in, out;
    std::optional<LayerNorm> qNorm, kNorm;
    std::int64_t rotaryDim;

    PersimmonAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : AttentionSettings(c, attention)
        , in(builder.linear(queryKeyValue, c.hiddenSize, checkedMultiply(3, c.hiddenSize), true))
        , out(builder.linear(dense, c.hiddenSize, c.hiddenSize, true))
        , rotaryDim(c.rotaryDim)
    {
        if (!c.queryKeyNorm)
            return;
        qNorm = builder.layerNorm("self_attn.q_layernorm", c.headDim);
        kNorm = builder.layerNorm("self_attn.k_layernorm", c.headDim);
    }

    Tensor forward(const Tensor &hidden, const LayerContext &context, Tensor &weights) const
    {
        if (halted(hidden))
            return {};
        Tape::Scope scope(*hidden->tape, "self_attn");
        const Tensor joined = in.forward(hidden);
        if (halted(joined))
            return {};
        Tensor query, key, value;
        {
            const Tensor rows = view(joined, {joined.size(0), joined.size(1), heads, 3, headDim});
            query = selectRow(rows);
            key = selectRow(rows);
            value = selectRow(rows);
        }
        if (qNorm) {
            query = qNorm->forward(query);
            key = kNorm->forward(key);
        }
        for (Tensor *states : {&query, &value, &key})
            *states = halted(*states) ? Tensor() : transpose(*states, 1, 2);
        const HeadParts parts = rotateFirstPart(query, key, rotaryDim, context);
        return joinHeads(out, attend(kind, query, key, value, context, dropout, weights), heads * headDim);
    }

    void visit(ModuleVisitor &visitor)
    {
        visitor.linear(in);
        visitor.linear(out);
        if (!qNorm)
            return;
        visitor.layerNorm(*qNorm);
        visitor.layerNorm(*kNorm);
    }
};

struct PersimmonMlp : TwoLinearMlp {
    PersimmonMlp(const Builder &builder, const ModelConfig &c)
        : TwoLinearMlp{builder.linear(mlpIn, c.hiddenSize, c.intermediateSize, true),
                       builder.linear(mlpOut, c.intermediateSize, c.hiddenSize, true), "mlp.act",
                       activationOf(c.hiddenActivation).value_or(Activation::ReluSquared)}
    {}
};

class PersimmonDecoderLayer : public PreNormLayer<PersimmonAttention, PersimmonMlp, LayerNorm>
{
public:
    PersimmonDecoderLayer(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : PreNormLayer(builder, c, attention)
        , m_dropout(c.residualDropout)
    {}

protected:
    Tensor afterMlp(Tensor output) const override { return dropout(output, m_dropout); }

private:
    double m_dropout;
};

class PersimmonModel : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<PersimmonDecoderLayer>(builder, m_config, m_attention);
    }
    void buildNorm(const Builder &builder) override { m_finalNorm = builder.layerNorm("model.final_layernorm", m_config.hiddenSize); }
    Tensor normalize(const Tensor &hidden) const override { return m_finalNorm.forward(hidden); }
    void visitNorm(ModuleVisitor &visitor) override { visitor.layerNorm(m_finalNorm); }

private:
    LayerNorm m_finalNorm{};
};

} // namespace

std::unique_ptr<DecoderModel> makePersimmon(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<PersimmonModel>(config, attention, transformers);
}

} // namespace headroom::network
