// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// transformers 5.24, models/deepseek_v3/modeling_deepseek_v3.py, which GLM-4.7-Flash and Youtu take over.
#include "core/network/latent_attention.h"

namespace headroom::network {

using namespace autograd;

namespace {

constexpr LinearNames qDownNames = HEADROOM_LINEAR_NAMES("self_attn.q_a_proj");
constexpr LinearNames qUpNames = HEADROOM_LINEAR_NAMES("self_attn.q_b_proj");
constexpr LinearNames kvDownNames = HEADROOM_LINEAR_NAMES("self_attn.kv_a_proj_with_mqa");
constexpr LinearNames kvUpNames = HEADROOM_LINEAR_NAMES("self_attn.kv_b_proj");

/// torch.cat([x1 * cos - x2 * sin, x2 * cos + x1 * sin], dim=-1)
Tensor turned(const Tensor &even, const Tensor &odd, const Tensor &cos, const Tensor &sin)
{
    Tensor first, second;
    {
        const Tensor straight = mul(even, cos), crossed = mul(odd, sin);
        first = sub(straight, crossed);
    }
    {
        const Tensor straight = mul(odd, cos), crossed = mul(even, sin);
        second = add(straight, crossed);
    }
    return catLast(first, second);
}

} // namespace

LatentAttention::LatentAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
    : AttentionSettings(c, attention)
    , latent(c.latentWidth)
    , rotated(c.rotaryDim)
    , plain(c.plainHeadDim)
    , valueDim(c.valueHeadDim)
    , interleaved(c.interleavedRotation)
{
    const std::int64_t queries = checkedMultiply(heads, checkedAdd(plain, rotated));
    if (c.queryLatentWidth == 0) {
        q = builder.linear(names::q, c.hiddenSize, queries, false);
    } else {
        qDown = builder.linear(qDownNames, c.hiddenSize, c.queryLatentWidth, c.queryKeyValueBias);
        qNorm = builder.norm("self_attn.q_a_layernorm", c.queryLatentWidth);
        qUp = builder.linear(qUpNames, c.queryLatentWidth, queries, false);
    }
    kvDown = builder.linear(kvDownNames, c.hiddenSize, checkedAdd(latent, rotated), c.queryKeyValueBias);
    kvNorm = builder.norm("self_attn.kv_a_layernorm", latent);
    kvUp = builder.linear(kvUpNames, latent, checkedMultiply(heads, checkedAdd(plain, valueDim)), false);
    o = builder.linear(names::o, checkedMultiply(heads, valueDim), c.hiddenSize, c.outputBias);
}

void LatentAttention::rotate(Tensor &query, Tensor &key, const LayerContext &context) const
{
    if (!interleaved)
        return applyRotary(Rotation::Halves, query, key, context.cos, context.sin);
    if (halted(query) || !key)
        return;
    const auto half = [this](const Tensor &angles) { return unsqueeze(sliceLast(angles, 0, rotated / 2), 1); };
    const Tensor cos = half(context.cos), sin = half(context.sin);
    const Tensor evenQuery = everySecond(query), oddQuery = everySecond(query);
    const Tensor evenKey = everySecond(key), oddKey = everySecond(key);
    Tensor turnedQuery = turned(evenQuery, oddQuery, cos, sin), turnedKey = turned(evenKey, oddKey, cos, sin);
    query = std::move(turnedQuery);
    key = std::move(turnedKey);
}

Tensor LatentAttention::forward(const Tensor &hidden, const LayerContext &context, Tensor &weights) const
{
    if (halted(hidden))
        return {};
    Tape::Scope scope(*hidden->tape, "self_attn");
    const std::int64_t b = hidden.size(0), s = hidden.size(1);
    Tensor states;
    if (q) {
        states = q->forward(hidden);
    } else {
        Tensor down;
        {
            const Tensor projected = qDown->forward(hidden);
            down = qNorm->forward(projected);
        }
        states = qUp->forward(down);
    }
    if (halted(states))
        return {};
    states = transpose(view(states, {b, s, heads, plain + rotated}), 1, 2);
    std::vector<Tensor> query = splitLast(states, {plain, rotated});

    const Tensor compressed = kvDown.forward(hidden);
    if (halted(compressed))
        return {};
    std::vector<Tensor> keyValue = splitLast(compressed, {latent, rotated});
    keyValue[0] = kvNorm.forward(keyValue[0]);
    if (halted(keyValue[0]))
        return {};
    keyValue[0] = view(keyValue[0], {b, 1, s, latent});
    keyValue[1] = view(keyValue[1], {b, 1, s, rotated});
    rotate(query[1], keyValue[1], context);
    const Tensor queries = catLast(query[0], query[1]);

    Tensor expanded = kvUp.forward(keyValue[0]); // expand_kv
    if (halted(expanded) || !queries)
        return {};
    expanded = transpose(view(expanded, {b, s, heads, plain + valueDim}), 1, 2);
    Tensor keys, values;
    {
        const std::vector<Tensor> parts = splitLast(expanded, {plain, valueDim});
        const Tensor shared = expand(keyValue[1], {b, heads, s, rotated});
        keys = hidden->tape->empty({b, heads, s, plain + rotated}, expanded.dtype(), "aten.new_empty.default");
        copyIntoSlice(keys, parts[0]);
        copyIntoSlice(keys, shared);
        values = parts[1];
    }
    return joinHeads(o, attend(kind, queries, keys, values, context, dropout, weights), heads * valueDim);
}

void LatentAttention::visit(ModuleVisitor &visitor)
{
    if (q) {
        visitor.linear(*q);
    } else {
        visitor.linear(*qDown);
        visitor.norm(*qNorm);
        visitor.linear(*qUp);
    }
    visitor.linear(kvDown);
    visitor.norm(kvNorm);
    visitor.linear(kvUp);
    visitor.linear(o);
}

} // namespace headroom::network
