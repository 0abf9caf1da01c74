// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The decoder layer of llama, mistral, qwen2 and qwen3 (transformers 5.24, models/llama/modeling_llama.py ...).
#include "core/network/llama.h"

#include "core/autograd/module_hooks.h"
#include "core/autograd/operators_liger.h"
#include "core/network/families.h"

namespace headroom::network {

using namespace autograd;

Tensor projectHeads(const Linear &projection, const Tensor &hidden, std::int64_t heads, std::int64_t headDim)
{
    const Tensor states = projection.forward(hidden);
    if (halted(states))
        return {};
    return transpose(view(states, {states.size(0), states.size(1), heads, headDim}), 1, 2);
}

namespace {

Tensor joined(Tensor output, std::int64_t width)
{
    return halted(output) ? Tensor() : contiguous(reshape(output, {output.size(0), output.size(1), width}));
}

/// query_states * get_llama_4_attn_scale(...).to(query_states.dtype)
Tensor scaledByPosition(const Tensor &query, const Tensor &positionIds)
{
    if (halted(query))
        return {};
    Tensor scale = unary(positionIds, "aten.div.Tensor", DType::Float32);
    for (const char *op : {"aten.floor.default", "aten.add.Tensor", "aten.log.default", "aten.mul.Tensor", "aten.add.Tensor"})
        scale = unary(scale, op);
    scale = to(unsqueeze(unsqueeze(scale, 1), 3), query.dtype());
    return mul(query, scale);
}

} // namespace

Tensor joinHeads(const Linear &projection, Tensor output, std::int64_t width)
{
    output = joined(std::move(output), width);
    return projection.forward(output);
}

LlamaAttention::LlamaAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
    : AttentionSettings(c, attention)
{
    const std::int64_t queries = checkedMultiply(c.heads, c.headDim), keys = checkedMultiply(c.keyValueHeads, c.headDim);
    q = builder.linear(names::q, c.hiddenSize, queries, c.queryKeyValueBias);
    k = builder.linear(names::k, c.hiddenSize, keys, c.queryKeyValueBias);
    v = builder.linear(names::v, c.hiddenSize, keys, c.queryKeyValueBias);
    o = builder.linear(names::o, queries, c.hiddenSize, c.outputBias);
    if (c.queryKeyNorm) {
        qNorm = builder.norm("self_attn.q_norm", c.headDim);
        kNorm = builder.norm("self_attn.k_norm", c.headDim);
    }
}

Tensor LlamaAttention::forward(Tensor hidden, const LayerContext &context, Tensor &weights) const
{
    if (halted(hidden))
        return {};
    Tape &tape = *hidden->tape;
    Tape::Scope scope(tape, "self_attn");
    ModuleHooks *hooks = tape.moduleHooks();
    if (!hooks)
        return attention(std::move(hidden), context, weights);
    const ModuleKey key{"self_attn", tape.layer(), Whole};
    hooks->before(key, {});
    Tensor output = attention(std::move(hidden), context, weights);
    if (tape.stopped())
        return {};
    hooks->after(key);
    output = hooks->result(key, output);
    if (weights)
        weights = hooks->result(key, weights);
    return output;
}

Tensor LlamaAttention::attention(Tensor hidden, const LayerContext &context, Tensor &weights) const
{
    const std::int64_t b = hidden.size(0), s = hidden.size(1);
    const auto toHeads = [&](Tensor states, const std::optional<RmsNorm> &norm, std::int64_t count) -> Tensor {
        if (halted(states))
            return {};
        states = view(states, {b, s, count, headDim});
        if (norm)
            states = norm->forward(states);
        return halted(states) ? Tensor() : transpose(states, 1, 2);
    };
    Tensor query = q.forward(hidden), key, value;
    if (!projectsFirst)
        query = toHeads(std::move(query), qNorm, heads);
    key = k.forward(hidden);
    if (!projectsFirst)
        key = toHeads(std::move(key), kNorm, keyValueHeads);
    value = v.forward(hidden);
    if (projectsFirst) {
        query = toHeads(std::move(query), qNorm, heads);
        key = toHeads(std::move(key), kNorm, keyValueHeads);
    }
    value = toHeads(std::move(value), std::nullopt, keyValueHeads);
    applyRotary(rotation, query, key, context.cos, context.sin);
    if (qNormLate) {
        query = qNormLate->forward(query);
        key = kNormLate->forward(key);
    }
    if (scalesByPosition)
        query = scaledByPosition(query, context.positionIds);
    Tensor output = attend(kind, query, key, value, context, dropout, weights, softcapped);
    if (outputNorm) {
        output = outputNorm->forward(joined(std::move(output), heads * headDim));
        output = o.forward(output);
    } else {
        output = joinHeads(o, std::move(output), heads * headDim);
    }
    return autograd::dropout(output, outputDropout);
}

void LlamaAttention::visit(ModuleVisitor &visitor)
{
    for (Linear *linear : {&q, &k, &v, &o})
        visitor.linear(*linear);
    if (qNorm) {
        visitor.norm(*qNorm);
        visitor.norm(*kNorm);
    }
    if (qNormLate) {
        visitor.norm(*qNormLate);
        visitor.norm(*kNormLate);
    }
    if (outputNorm)
        visitor.norm(*outputNorm);
    visitor.rotation(rotation);
}

LlamaMlp::LlamaMlp(const Builder &builder, const ModelConfig &c)
    : LlamaMlp(builder, c, c.intermediateSize, {"mlp", "mlp.act_fn", names::gate, names::up, names::down})
{}

LlamaMlp::LlamaMlp(const Builder &builder, const ModelConfig &c, std::int64_t width, const MlpNames &called)
    : names(called)
    , gate(builder.linear(called.gate, c.hiddenSize, width, c.mlpBias))
    , activation{activationOf(c.hiddenActivation).value_or(Activation::Silu)}
{
    for (const bool isDown : {called.downBeforeUp, !called.downBeforeUp})
        if (isDown)
            down = builder.linear(called.down, width, c.hiddenSize, c.mlpBias);
        else
            up = builder.linear(called.up, c.hiddenSize, width, c.mlpBias);
}

Tensor LlamaMlp::forward(const Tensor &x) const
{
    if (halted(x))
        return {};
    Tape &tape = *x->tape;
    Tape::Scope scope(tape, names.self);
    return callModule(tape, names.self, Whole, x, [this](const Tensor &input) { return project(input); });
}

Tensor LlamaMlp::project(const Tensor &x) const
{
    if (activation.liger) { // LigerSwiGLUMLP, LigerGEGLUMLP
        Tensor product;
        {
            const Tensor gated = gate.forward(x);
            const Tensor raised = up.forward(x);
            product = ligerGatedActivation(gated, raised);
        }
        return down.forward(product);
    }
    Tape &tape = *x->tape;
    Tensor activated;
    {
        const Tensor gated = gate.forward(x);
        Tape::Scope inActivation(tape, names.activation);
        if (!halted(gated))
            activated = callModule(tape, names.activation, Whole, gated,
                                   [this](const Tensor &input) { return activate(activation.function, input); });
    }
    Tensor product;
    {
        const Tensor raised = up.forward(x);
        product = mul(activated, raised);
        activated.reset();
    }
    if (productNorm)
        product = productNorm->forward(product);
    return down.forward(product);
}

void LlamaMlp::visit(ModuleVisitor &visitor)
{
    visitor.linear(gate);
    for (Linear *linear : names.downBeforeUp ? std::array{&down, &up} : std::array{&up, &down})
        visitor.linear(*linear);
    if (productNorm)
        visitor.norm(*productNorm);
    visitor.activation(activation);
}

namespace {

class LlamaModel : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<LlamaDecoderLayer>(builder, m_config, m_attention);
    }
};

/// MistralModel: one mask for all layers.
class MistralModel : public LlamaModel
{
public:
    using LlamaModel::LlamaModel;

protected:
    Masks masks() const override { return {!anySliding(), anySliding()}; }
};

} // namespace

std::unique_ptr<DecoderModel> makeLlama(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<LlamaModel>(config, attention, transformers);
}

std::unique_ptr<DecoderModel> makeMistral(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<MistralModel>(config, attention, transformers);
}

} // namespace headroom::network
