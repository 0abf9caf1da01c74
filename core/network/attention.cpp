// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/network/attention.h"

namespace headroom::network {

using namespace autograd;

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

namespace {

/// eager_attention_forward
Tensor eagerAttention(const Tensor &query, const Tensor &key, const Tensor &value, const Tensor &mask, std::int64_t groups, double dropoutP,
                      Tensor &weights)
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

Tensor attend(AttentionKind kind, const Tensor &query, const Tensor &key, const Tensor &value, const Tensor &mask, double dropout,
              Tensor &weights)
{
    if (halted(query) || !key || !value)
        return {};
    const std::int64_t groups = query.size(1) / key.size(1);
    return kind == AttentionKind::Eager ? eagerAttention(query, key, value, mask, groups, dropout, weights)
                                        : sdpaAttention(query, key, value, mask, groups, dropout);
}

} // namespace headroom::network
