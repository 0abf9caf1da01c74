// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/network/decoder_layer.h"

namespace headroom::network {

using namespace autograd;

namespace {

/// x * cos + rotate_half(x) * sin
Tensor rotate(const Tensor &x, const Tensor &cos, const Tensor &sin)
{
    if (halted(x))
        return {};
    const std::int64_t half = x.size(-1) / 2;
    const Tensor direct = mul(x, cos);
    Tensor rotated;
    {
        const Tensor first = sliceLast(x, 0, half);
        const Tensor second = sliceLast(x, half, x.size(-1) - half);
        const Tensor negated = neg(second);
        rotated = catLast(negated, first);
    }
    rotated = mul(rotated, sin);
    return add(direct, rotated);
}

Tensor repeatKeyValue(const Tensor &t, std::int64_t n)
{
    if (halted(t) || n == 1)
        return t;
    const std::int64_t b = t.size(0), h = t.size(1), s = t.size(2), d = t.size(3);
    return reshape(expand(unsqueeze(t, 2), {b, h, n, s, d}), {b, h * n, s, d});
}

/// eager_attention_forward
Tensor eagerAttention(const Tensor &query, const Tensor &key, const Tensor &value, const Tensor &mask, std::int64_t groups, double dropoutP, Tensor &weights)
{
    const Tensor keys = repeatKeyValue(key, groups);
    const Tensor values = repeatKeyValue(value, groups);
    if (halted(keys))
        return {};
    weights = matmul(query, transpose(keys, 2, 3));
    weights = mulNumber(weights);
    if (mask)
        weights = add(weights, mask);
    if (halted(weights))
        return {};
    {
        Tensor probabilities = softmax(weights, DType::Float32);
        weights = to(probabilities, query.dtype());
    }
    weights = dropout(weights, dropoutP);
    Tensor output = matmul(weights, values);
    if (halted(output))
        return {};
    return contiguous(transpose(output, 1, 2));
}

/// sdpa_attention_forward
Tensor sdpaAttention(const Tensor &query, const Tensor &key, const Tensor &value, const Tensor &mask, std::int64_t groups, double dropoutP)
{
    Tensor k = key, v = value;
    bool grouped = false;
    if (groups > 1) {
        // use_gqa_in_sdpa: no mask, and a head size that the fused kernels take
        grouped = !mask && key.size(-1) <= 256;
        if (!grouped) {
            k = repeatKeyValue(key, groups);
            v = repeatKeyValue(value, groups);
        }
    }
    const bool causal = query.size(2) > 1 && !mask;
    Tensor output = scaledDotProductAttention(query, k, v, mask, dropoutP, causal, grouped);
    if (halted(output))
        return {};
    return contiguous(transpose(output, 1, 2));
}

} // namespace

Tensor Attention::forward(Tensor hidden, const LayerContext &context, Tensor &weights) const
{
    if (halted(hidden))
        return {};
    Tape &tape = *hidden->tape;
    Tape::Scope scope(tape, "self_attn");
    const std::int64_t b = hidden.size(0), s = hidden.size(1);

    const auto project = [&](const Linear &projection, const std::optional<RmsNorm> &norm, std::int64_t count) -> Tensor {
        Tensor states = projection.forward(hidden);
        if (halted(states))
            return {};
        states = view(states, {b, s, count, headDim});
        if (norm)
            states = norm->forward(states);
        return halted(states) ? Tensor() : transpose(states, 1, 2);
    };
    Tensor query = project(q, qNorm, heads);
    Tensor key = project(k, kNorm, keyValueHeads);
    const Tensor value = project(v, std::nullopt, keyValueHeads);

    {
        const Tensor cos = unsqueeze(context.cos, 1), sin = unsqueeze(context.sin, 1);
        Tensor rotatedQuery = rotate(query, cos, sin);
        Tensor rotatedKey = rotate(key, cos, sin);
        query = std::move(rotatedQuery);
        key = std::move(rotatedKey);
    }
    if (halted(query) || !key || !value)
        return {};

    const std::int64_t groups = heads / keyValueHeads;
    Tensor output = kind == AttentionKind::Eager ? eagerAttention(query, key, value, context.mask, groups, dropout, weights)
                                                 : sdpaAttention(query, key, value, context.mask, groups, dropout);
    if (halted(output))
        return {};
    output = contiguous(reshape(output, {b, s, heads * headDim}));
    return o.forward(output);
}

Tensor Mlp::forward(const Tensor &x) const
{
    if (halted(x))
        return {};
    Tape &tape = *x->tape;
    Tape::Scope scope(tape, "mlp");
    Tensor activated;
    {
        const Tensor gated = gate.forward(x);
        Tape::Scope inActivation(tape, "mlp.act_fn");
        activated = silu(gated);
    }
    Tensor product;
    {
        const Tensor raised = up.forward(x);
        product = mul(activated, raised);
        activated.reset();
    }
    return down.forward(product);
}

Tensor DecoderLayer::forward(const Tensor &input, const LayerContext &context) const
{
    Tape &tape = *input->tape;
    Tape::Scope scope(tape, "", index);
    Tensor residual = input;
    Tensor hidden = inputNorm.forward(input);
    Tensor weights; // `hidden_states, _ = self.self_attn(...)`: the underscore keeps them to the layer's end
    hidden = attention.forward(std::move(hidden), context, weights);
    hidden = add(residual, hidden);

    residual = hidden;
    hidden = postAttentionNorm.forward(hidden);
    hidden = mlp.forward(hidden);
    return add(residual, hidden);
}

} // namespace headroom::network
