// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/network/attention.h"

#include "core/autograd/operators_liger.h"

namespace headroom::network {

using namespace autograd;

AttentionSettings::AttentionSettings(const ModelConfig &c, AttentionKind attention)
    : heads(c.heads)
    , keyValueHeads(c.keyValueHeads)
    , headDim(c.headDim)
    , dropout(c.attentionDropout)
    , kind(attention)
{}

namespace {

/// The second half of the head before the first, one of them negated.
Tensor swapHalves(const Tensor &x, bool negatesFirst)
{
    if (halted(x))
        return {};
    const std::int64_t half = x.size(-1) / 2;
    const Tensor first = sliceLast(x, 0, half);
    const Tensor second = sliceLast(x, half, x.size(-1) - half);
    const Tensor negated = neg(negatesFirst ? first : second);
    return negatesFirst ? catLast(second, negated) : catLast(negated, first);
}

/// rotate_half
Tensor rotateHalf(const Tensor &x) { return swapHalves(x, false); }
/// rotate_half of nanochat: (x2, -x1)
Tensor rotateHalfBackwards(const Tensor &x) { return swapHalves(x, true); }

/// rotate_half of GLM: (-x1, x0, -x3, x2 ...)
Tensor rotatePairs(const Tensor &x)
{
    if (halted(x))
        return {};
    const Tensor even = everySecond(x), odd = everySecond(x);
    const Tensor negated = neg(odd);
    const Tensor stacked = stackLast(negated, even);
    return halted(stacked) ? Tensor() : view(stacked, x.sizes());
}

/// x * cos + rotate_half(x) * sin
template<typename RotateHalf>
Tensor rotate(const Tensor &x, const Tensor &cos, const Tensor &sin, RotateHalf &&rotateHalf)
{
    const Tensor direct = mul(x, cos);
    Tensor rotated = rotateHalf(x);
    rotated = mul(rotated, sin);
    return add(direct, rotated);
}

} // namespace

Tensor rotateHalves(const Tensor &x, const Tensor &cos, const Tensor &sin) { return rotate(x, cos, sin, rotateHalf); }

namespace {

/// When the rotated dimensions of the heads are joined with the rest.
enum class Join : std::uint8_t {
    AtOnce, ///< the query's before the key's are rotated
    Late,   ///< after both, each under the name of what it is made of
    Last,   ///< after both, which live until both are joined
};

/// The heads' first dimensions are rotated and joined with the rest.
template<typename RotateHalf>
void rotateFirst(Tensor &query, Tensor &key, const Tensor &cos, const Tensor &sin, RotateHalf &&rotateHalf, Join join)
{
    const std::int64_t turned = cos.size(-1), kept = query.size(-1) - turned;
    const Tensor queryTurned = sliceLast(query, 0, turned), queryKept = sliceLast(query, turned, kept);
    const Tensor keyTurned = sliceLast(key, 0, turned), keyKept = sliceLast(key, turned, kept);
    Tensor rotatedQuery = rotate(queryTurned, cos, sin, rotateHalf);
    if (join == Join::AtOnce)
        rotatedQuery = catLast(rotatedQuery, queryKept);
    Tensor rotatedKey = rotate(keyTurned, cos, sin, rotateHalf);
    if (join == Join::Last) {
        Tensor joinedQuery = catLast(rotatedQuery, queryKept), joinedKey = catLast(rotatedKey, keyKept);
        query = std::move(joinedQuery);
        key = std::move(joinedKey);
        return;
    }
    if (join == Join::Late)
        rotatedQuery = catLast(rotatedQuery, queryKept);
    rotatedKey = catLast(rotatedKey, keyKept);
    query = std::move(rotatedQuery);
    key = std::move(rotatedKey);
}

/// cos[..., : cos.shape[-1] // 2].repeat_interleave(2, dim=-1)
Tensor firstHalfTwice(const Tensor &x) { return repeatInterleaveLast(sliceLast(x, 0, x.size(-1) / 2), 2); }

/// Query and key become the rotated ones, in the dtypes that they had.
void castBack(Tensor &query, Tensor &key, const Tensor &rotatedQuery, const Tensor &rotatedKey)
{
    if (halted(rotatedQuery) || !rotatedKey)
        return;
    Tensor castQuery = to(rotatedQuery, query.dtype()), castKey = to(rotatedKey, key.dtype());
    query = std::move(castQuery);
    key = std::move(castKey);
}

/// apply_rotary_pos_emb of Cohere
void rotatePairsInFp32(Tensor &query, Tensor &key, const Tensor &cos, const Tensor &sin)
{
    const Tensor q = to(query, DType::Float32), k = to(key, DType::Float32);
    const Tensor rotatedQuery = rotate(q, cos, sin, rotatePairs), rotatedKey = rotate(k, cos, sin, rotatePairs);
    castBack(query, key, rotatedQuery, rotatedKey);
}

/// apply_rotary_pos_emb of ERNIE 4.5
void rotateHalfPairsInFp32(Tensor &query, Tensor &key, const Tensor &halfCos, const Tensor &halfSin)
{
    const Tensor cos = firstHalfTwice(halfCos), sin = firstHalfTwice(halfSin);
    const auto turned = [&](const Tensor &x) {
        const Tensor direct = mul(to(x, DType::Float32), cos);
        Tensor rotated = rotatePairs(x);
        rotated = halted(rotated) ? Tensor() : to(rotated, DType::Float32);
        rotated = mul(rotated, sin);
        return add(direct, rotated);
    };
    const Tensor rotatedQuery = turned(query), rotatedKey = turned(key);
    castBack(query, key, rotatedQuery, rotatedKey);
}

/// _apply_rotary_emb of gpt-oss
Tensor rotateSplit(const Tensor &x, const Tensor &cos, const Tensor &sin)
{
    const std::vector<Tensor> halves = chunkLast(x, 2);
    const auto turned = [&](const Tensor &a, const Tensor &b, bool subtracts) {
        const Tensor straight = mul(a, cos);
        const Tensor crossed = mul(b, sin);
        return subtracts ? sub(straight, crossed) : add(straight, crossed);
    };
    const Tensor first = turned(halves[0], halves[1], true);
    const Tensor second = turned(halves[1], halves[0], false);
    return catLast(first, second);
}

} // namespace

void applyRotary(Rotation rotation, Tensor &query, Tensor &key, const Tensor &cos, const Tensor &sin)
{
    if (rotation == Rotation::None || halted(query) || !key)
        return;
    if (rotation == Rotation::Liger)
        return ligerRotary(query, key, cos, sin);
    const Tensor headsCos = unsqueeze(cos, 1), headsSin = unsqueeze(sin, 1);
    if (rotation == Rotation::FirstDimHalves)
        return rotateFirst(query, key, headsCos, headsSin, rotateHalf, Join::AtOnce);
    if (rotation == Rotation::FirstDimLate)
        return rotateFirst(query, key, headsCos, headsSin, rotateHalf, Join::Late);
    if (rotation == Rotation::FirstDimLast)
        return rotateFirst(query, key, headsCos, headsSin, rotateHalf, Join::Last);
    if (rotation == Rotation::FirstDimPairs) {
        const Tensor pairsCos = firstHalfTwice(headsCos), pairsSin = firstHalfTwice(headsSin);
        return rotateFirst(query, key, pairsCos, pairsSin, rotatePairs, Join::Late);
    }
    if (rotation == Rotation::HalfPairs) {
        const Tensor pairsCos = firstHalfTwice(headsCos), pairsSin = firstHalfTwice(headsSin);
        Tensor rotatedQuery = rotate(query, pairsCos, pairsSin, rotatePairs), rotatedKey = rotate(key, pairsCos, pairsSin, rotatePairs);
        query = std::move(rotatedQuery);
        key = std::move(rotatedKey);
        return;
    }
    if (rotation == Rotation::PairsInFp32)
        return rotatePairsInFp32(query, key, headsCos, headsSin);
    if (rotation == Rotation::HalfPairsInFp32)
        return rotateHalfPairsInFp32(query, key, headsCos, headsSin);
    const auto rotated = [&](const Tensor &x) {
        if (rotation == Rotation::SplitHalves)
            return rotateSplit(x, headsCos, headsSin);
        return rotate(x, headsCos, headsSin, rotation == Rotation::HalvesBackwards ? rotateHalfBackwards : rotateHalf);
    };
    Tensor rotatedQuery = rotated(query);
    Tensor rotatedKey = rotated(key);
    if (rotation == Rotation::HalvesInFp32) { // the tuple of both results is made before either name is bound anew
        Tensor castQuery = halted(rotatedQuery) ? Tensor() : to(rotatedQuery, query.dtype());
        Tensor castKey = halted(rotatedKey) ? Tensor() : to(rotatedKey, key.dtype());
        rotatedQuery = std::move(castQuery);
        rotatedKey = std::move(castKey);
    }
    query = std::move(rotatedQuery);
    key = std::move(rotatedKey);
}

HeadParts rotateFirstPart(Tensor &query, Tensor &key, std::int64_t rotated, const LayerContext &context)
{
    HeadParts parts;
    const std::int64_t kept = query.size(-1) - rotated;
    parts.queryTurned = sliceLast(query, 0, rotated);
    parts.queryKept = sliceLast(query, rotated, kept);
    parts.keyTurned = sliceLast(key, 0, rotated);
    parts.keyKept = sliceLast(key, rotated, kept);
    applyRotary(Rotation::Halves, parts.queryTurned, parts.keyTurned, context.cos, context.sin);
    query = catLast(parts.queryTurned, parts.queryKept);
    key = catLast(parts.keyTurned, parts.keyKept);
    return parts;
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
                      Tensor &weights, bool softcapped)
{
    const Tensor keys = repeatKeyValue(key, groups);
    const Tensor values = repeatKeyValue(value, groups);
    if (halted(keys))
        return {};
    weights = matmul(query, transpose(keys, 2, 3));
    weights = mulNumber(weights);
    if (softcapped) {
        weights = divNumber(weights);
        weights = tanh(weights);
        weights = mulNumber(weights);
    }
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

Tensor callCore(const AttentionFunction &function, const Tensor &query, const Tensor &key, const Tensor &value, const LayerContext &context,
                Tensor &weights)
{
    if (halted(query) || !key || !value)
        return {};
    if (context.core == CoreCheckpoint::None)
        return function(query, key, value, context.mask, weights);
    Tape &tape = *query->tape;
    if (context.core == CoreCheckpoint::NonReentrant)
        return tape.checkpoint(
            [function, key, value, mask = context.mask](const Tensor &q) {
                Tensor probabilities;
                return function(q, key, value, mask, probabilities);
            },
            query);
    return tape.checkpointReentrant(
        [function](std::span<const Tensor> inputs, Tensor &) {
            Tensor probabilities;
            return function(inputs[0], inputs[1], inputs[2], inputs[3], probabilities);
        },
        {query, key, value, context.mask});
}

Tensor attend(AttentionKind kind, const Tensor &query, const Tensor &key, const Tensor &value, const LayerContext &context, double dropout,
              Tensor &weights, bool softcapped)
{
    if (halted(query) || !key || !value)
        return {};
    const std::int64_t groups = query.size(1) / key.size(1);
    const auto function = [=](const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &mask, Tensor &probabilities) {
        return kind == AttentionKind::Eager ? eagerAttention(q, k, v, mask, groups, dropout, probabilities, softcapped)
                                            : sdpaAttention(q, k, v, mask, groups, dropout);
    };
    if (context.core == CoreCheckpoint::None) // the usual case, and no need of a std::function
        return function(query, key, value, context.mask, weights);
    return callCore(function, query, key, value, context, weights);
}

Tensor flashInHalf(Tensor &query, Tensor &key, Tensor &value, const LayerContext &context, double dropout)
{
    if (halted(query) || !key || !value)
        return {};
    if (const std::optional<DType> half = query->tape->autocast(); half && query.dtype() == DType::Float32) {
        for (Tensor *states : {&query, &key, &value})
            *states = transpose(to(transpose(*states, 1, 2), *half), 1, 2);
    }
    Tensor none;
    return attend(AttentionKind::FlashAttention2, query, key, value, context, dropout, none);
}

} // namespace headroom::network
