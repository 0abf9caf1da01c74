// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Phi-3 and Phi-4 (transformers 5.24, models/phi3/modeling_phi3.py): query, key and value from one projection, gate and
// up from another.
#include "core/network/phi3.h"

#include "core/autograd/operators_liger.h"
#include "core/network/families.h"

namespace headroom::network {

using namespace autograd;

Phi3Mlp::Phi3Mlp(const Builder &builder, const ModelConfig &c)
    : gateUp(builder.linear(names::gateUp, c.hiddenSize, checkedMultiply(2, c.intermediateSize), false))
    , down(builder.linear(names::down, c.intermediateSize, c.hiddenSize, false))
    , activation{activationOf(c.hiddenActivation).value_or(Activation::Silu)}
{}

Tensor Phi3Mlp::forward(const Tensor &hidden) const
{
    if (halted(hidden))
        return {};
    Tape &tape = *hidden->tape;
    Tape::Scope scope(tape, "mlp");
    Tensor up = gateUp.forward(hidden);
    std::vector<Tensor> pieces = chunkLast(up, 2);
    const Tensor gate = std::move(pieces[0]); // `gate, up_states = up_states.chunk(2, dim=-1)`
    up = std::move(pieces[1]);
    if (activation.liger) // LigerPhi3SwiGLUMLP
        return down.forward(ligerGatedActivation(gate, up));
    Tensor activated;
    {
        Tape::Scope inActivation(tape, "mlp.activation_fn");
        activated = activate(activation.function, gate);
    }
    Tensor product = mul(up, activated);
    activated.reset();
    up = std::move(product);
    return down.forward(up);
}

void Phi3Mlp::visit(ModuleVisitor &visitor)
{
    visitor.linear(gateUp);
    visitor.linear(down);
    visitor.activation(activation);
}

namespace {

struct Phi3Attention : AttentionSettings {
    Linear o, qkv;
    Rotation rotation = Rotation::FirstDimHalves;

    Phi3Attention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : AttentionSettings(c, attention)
        , o(builder.linear(names::o, checkedMultiply(c.heads, c.headDim), c.hiddenSize, false))
        , qkv(builder.linear(names::qkv, c.hiddenSize, checkedMultiply(checkedAdd(c.heads, 2 * c.keyValueHeads), c.headDim), false))
    {}

    Tensor forward(Tensor hidden, const LayerContext &context, Tensor &weights) const
    {
        if (halted(hidden))
            return {};
        Tape::Scope scope(*hidden->tape, "self_attn");
        const std::int64_t b = hidden.size(0), s = hidden.size(1), queries = heads * headDim, keys = keyValueHeads * headDim;
        const Tensor joined = qkv.forward(hidden);
        if (halted(joined))
            return {};
        Tensor query = sliceLast(joined, 0, queries);
        Tensor key = sliceLast(joined, queries, keys);
        Tensor value = sliceLast(joined, queries + keys, keys);
        query = transpose(view(query, {b, s, heads, headDim}), 1, 2);
        key = transpose(view(key, {b, s, keyValueHeads, headDim}), 1, 2);
        value = transpose(view(value, {b, s, keyValueHeads, headDim}), 1, 2);
        applyRotary(rotation, query, key, context.cos, context.sin);
        return joinHeads(o, attend(kind, query, key, value, context, dropout, weights), heads * headDim);
    }

    void visit(ModuleVisitor &visitor)
    {
        visitor.linear(o);
        visitor.linear(qkv);
        visitor.rotation(rotation);
    }
};

class Phi3DecoderLayer : public PreNormLayer<Phi3Attention, Phi3Mlp>
{
public:
    Phi3DecoderLayer(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : PreNormLayer(builder, c, attention)
        , m_dropout(c.residualDropout)
    {}

protected:
    Tensor branch(const Tensor &output) const override { return dropout(output, m_dropout); } // resid_attn_dropout, resid_mlp_dropout

private:
    double m_dropout;
};

class Phi3Model : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<Phi3DecoderLayer>(builder, m_config, m_attention);
    }
    Masks masks() const override { return {!anySliding(), anySliding()}; }
};

} // namespace

std::unique_ptr<DecoderModel> makePhi3(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<Phi3Model>(config, attention, transformers);
}

} // namespace headroom::network
