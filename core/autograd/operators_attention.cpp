// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// F.scaled_dot_product_attention as PyTorch 2.13 dispatches it on compute capability 8: flash, memory-efficient, math
// (aten/src/ATen/native/transformers/cuda/sdp_utils.cpp, attention.cpp).
#include "core/autograd/operators.h"

#include <cassert>

namespace headroom::autograd {

namespace {

constexpr const char *flashName = "aten._scaled_dot_product_flash_attention.default";
constexpr const char *efficientName = "aten._scaled_dot_product_efficient_attention.default";

/// An output as `like`, in its memory layout.
/// Two products for each head (flop_counter.py: sdpa_flop_count): q k^T and the probabilities with v.
void countAttention(Tape &tape, const Tensor &q, const Tensor &k, const Tensor &v)
{
    const double scores = static_cast<double>(q.size(0) * q.size(1)) * static_cast<double>(q.size(2)) * static_cast<double>(k.size(2));
    tape.countFlops(2.0 * scores * static_cast<double>(q.size(3) + v.size(3)));
}

Tensor emptyLike(const Tensor &like, const char *op) { return like->tape->make(like.sizes(), preservedStrides(like), like.dtype(), op); }

/// [B, H, S, D] lying in memory as [B, S, H, D], whatever the layout of `like`.
Tensor emptyHeadsInside(const Tensor &like, const Dims &s, const char *op)
{
    return like->tape->make(s, {s[1] * s[2] * s[3], s[3], s[1] * s[3], 1}, like.dtype(), op);
}

Tensor emptyHeadsInside(const Tensor &like, const char *op) { return emptyHeadsInside(like, like.sizes(), op); }

/// The gradients of query, key and value, which one kernel makes whether all are asked for or not.
void giveAll(BackwardCall &call, Tensor dq, Tensor dk, Tensor dv)
{
    if (call.needs(0))
        call.give(0, std::move(dq));
    if (call.needs(1))
        call.give(1, std::move(dk));
    if (call.needs(2))
        call.give(2, std::move(dv));
}

// Buffers of the flash backward kernel (flash_attn/flash_api.cpp: mha_bwd): softmax_d, dq_accum, and dk, dv expanded to
// all heads where heads are grouped.
void flashBackward(BackwardCall &call)
{
    Tensor q = call.unpack(0), k = call.unpack(1), v = call.unpack(2);
    Tensor out = call.unpack(3), lse = call.unpack(4), seed = call.unpack(5), offset = call.unpack(6);
    Tape &tape = call.tape;
    const std::int64_t b = q.size(0), h = q.size(1), s = q.size(2), d = q.size(3), hk = k.size(1), sk = k.size(2);
    const char *bufferName = "aten._scaled_dot_product_flash_attention_backward.default (kernel buffer)";
    const char *name = "aten._scaled_dot_product_flash_attention_backward.default";
    const std::int64_t rows = checkedMultiply(b, roundUp(s, 128));
    std::array<StorageId, 4> buffers{};
    std::size_t used = 0;
    buffers[used++] = tape.allocateStorage(checkedMultiply(checkedMultiply(4, h), rows), bufferName);
    buffers[used++] = tape.allocateStorage(checkedMultiply(checkedMultiply(4 * h, roundUp(d, d > 128 ? 64 : 32)), rows), bufferName);
    if (h != hk) {
        const std::int64_t expanded = checkedMultiply(checkedMultiply(elementSize(q.dtype()) * b, sk), h * d);
        buffers[used++] = tape.allocateStorage(expanded, bufferName);
        buffers[used++] = tape.allocateStorage(expanded, bufferName);
    }
    Tensor dq = emptyLike(q, name), dk = emptyLike(k, name), dv = emptyLike(v, name);
    for (std::size_t i = 0; i < used; ++i)
        tape.freeStorage(buffers[i]);
    giveAll(call, std::move(dq), std::move(dk), std::move(dv));
}
constexpr Operator flashOperator{"ScaledDotProductFlashAttentionBackward0", flashBackward};

// Buffers of the memory-efficient backward kernel (attention_backward.cu): delta, the product it is summed from, and
// for half types an fp32 accumulator of dq.
void efficientBackward(BackwardCall &call)
{
    Tensor q = call.unpack(0), k = call.unpack(1), v = call.unpack(2), bias = call.unpack(3);
    Tensor out = call.unpack(4), lse = call.unpack(5), seed = call.unpack(6), offset = call.unpack(7);
    Tape &tape = call.tape;
    const std::int64_t b = q.size(0), h = q.size(1), s = q.size(2), d = q.size(3);
    const char *bufferName = "aten._scaled_dot_product_efficient_attention_backward.default (kernel buffer)";
    const char *name = "aten._scaled_dot_product_efficient_attention_backward.default";
    std::array<StorageId, 3> buffers{};
    std::size_t used = 0;
    buffers[used++] = tape.allocateStorage(checkedMultiply(checkedMultiply(4 * b, h), s), bufferName);
    buffers[used++] = tape.allocateStorage(checkedMultiply(checkedMultiply(elementSize(q.dtype()) * b, h * d), s), bufferName);
    if (elementSize(q.dtype()) == 2)
        buffers[used++] = tape.allocateStorage(checkedMultiply(checkedMultiply(4 * b, h * roundUp(d, 64)), roundUp(s, 64)), bufferName);
    Tensor dq = emptyHeadsInside(q, name), dk = emptyHeadsInside(k, name), dv = emptyHeadsInside(v, name);
    for (std::size_t i = 0; i < used; ++i)
        tape.freeStorage(buffers[i]);
    giveAll(call, std::move(dq), std::move(dk), std::move(dv));
}
constexpr Operator efficientOperator{"ScaledDotProductEfficientAttentionBackward0", efficientBackward};

/// F.pad of the last dimension (constant_pad_nd); its gradient is padded by the negative amount: a copy.
Tensor padLast(const Tensor &t, std::int64_t to)
{
    if (halted(t))
        return {};
    static constexpr Operator op{"ConstantPadNdBackward0", [](BackwardCall &call) {
                                     call.give(0, call.tape.empty(call.node.sizes, call.grad.dtype(), "aten.constant_pad_nd.default"));
                                 }};
    Tape &tape = *t->tape;
    Node *node = tape.record(op, {&t});
    if (node)
        node->sizes = t.sizes();
    Dims sizes = t.sizes();
    sizes[sizes.rank() - 1] = to;
    Tensor out = tape.empty(sizes, t.dtype(), "aten.constant_pad_nd.default");
    tape.attach(node, out);
    return out;
}

Tensor flash(const Tensor &q, const Tensor &k, const Tensor &v)
{
    if (halted(q) || !k || !v)
        return {};
    Tape &tape = *q->tape;
    Node *node = tape.record(flashOperator, {&q, &k, &v});
    tape.save(node, 0, q);
    tape.save(node, 1, k);
    tape.save(node, 2, v);
    if (tape.stopped())
        return {};
    Tensor out = emptyLike(q, flashName);
    if (!tape.lastWasKept())
        countAttention(tape, q, k, v);
    Tensor lse = tape.empty({q.size(0), q.size(1), q.size(2)}, DType::Float32, flashName);
    Tensor seed = tape.empty({2}, DType::Int64, flashName);
    Tensor offset = tape.empty({}, DType::Int64, flashName);
    tape.attach(node, out);
    tape.save(node, 3, out);
    tape.save(node, 4, lse);
    tape.save(node, 5, seed);
    tape.save(node, 6, offset);
    return out;
}

Tensor efficient(const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &bias)
{
    if (halted(q) || !k || !v)
        return {};
    Tape &tape = *q->tape;
    Node *node = tape.record(efficientOperator, {&q, &k, &v});
    tape.save(node, 0, q);
    tape.save(node, 1, k);
    tape.save(node, 2, v);
    tape.save(node, 3, bias);
    if (tape.stopped())
        return {};
    Dims sizes = q.sizes();
    sizes[sizes.rank() - 1] = v.size(-1);
    Tensor out = emptyHeadsInside(q, sizes, efficientName);
    if (!tape.lastWasKept())
        countAttention(tape, q, k, v);
    Tensor lse = tape.empty({q.size(0), q.size(1), roundUp(q.size(2), 32)}, DType::Float32, efficientName);
    Tensor seed = tape.empty({}, DType::Int64, efficientName);
    Tensor offset = tape.empty({}, DType::Int64, efficientName);
    tape.attach(node, out);
    tape.save(node, 4, out);
    tape.save(node, 5, lse);
    tape.save(node, 6, seed);
    tape.save(node, 7, offset);
    return out;
}

/// A boolean mask as an additive one (attention.cpp: convert_boolean_attn_mask).
Tensor additiveMask(const Tensor &mask, DType dtype)
{
    Tape &tape = *mask->tape;
    Tensor low = tape.empty({}, dtype, "aten.scalar_tensor.default");
    Tensor zero = tape.empty({}, dtype, "aten.scalar_tensor.default");
    return tape.empty(mask.sizes(), dtype, "aten.where.self");
}

/// _scaled_dot_product_attention_math: made of operators, with the gradients of each.
Tensor math(Tensor q, Tensor k, Tensor v, Tensor mask, double dropoutP, bool causal)
{
    if (halted(q) || !k || !v)
        return {};
    Tape &tape = *q->tape;
    const DType origin = q.dtype();
    const Tensor given[] = {q, k, v}; // the caller's arguments
    if (isHalf(origin)) {
        q = to(q, DType::Float32);
        k = to(k, DType::Float32);
        v = to(v, DType::Float32);
    }
    Tensor scaled = mulScalar(q);
    if (halted(scaled))
        return {};
    if (causal) {
        Tensor ones = tape.empty({q.size(-2), k.size(-2)}, DType::Bool, "aten.ones.default");
        Tensor lower = tape.empty({q.size(-2), k.size(-2)}, DType::Bool, "aten.tril.default");
        ones.reset();
        mask = additiveMask(lower, q.dtype());
    }
    Tensor scores;
    {
        const Tensor scaledKey = mulScalar(transpose(k, k.rank() - 2, k.rank() - 1));
        scores = matmul(scaled, scaledKey);
    }
    if (mask)
        scores = add(scores, mask);
    scores = safeSoftmax(scores);
    scores = dropout(scores, dropoutP);
    if (halted(scores))
        return {};
    const Tensor returned = to(scores, origin); // beside the output, and made before it
    const Tensor out = matmul(scores, v);
    return halted(out) ? Tensor() : to(out, origin);
}

/// repeat_interleave over the heads: expanded, always copied, flattened.
Tensor repeatHeads(const Tensor &t, std::int64_t n)
{
    if (halted(t) || n == 1)
        return t;
    const Dims grouped{t.size(0), t.size(1), n, t.size(2), t.size(3)};
    const Tensor copied = clone(expand(unsqueeze(t, 2), grouped), contiguousStrides(grouped));
    return view(copied, {t.size(0), t.size(1) * n, t.size(2), t.size(3)});
}

} // namespace

Tensor scaledDotProductAttention(Tensor query, Tensor key, Tensor value, Tensor mask, double dropoutP, bool causal, bool groupedHeads)
{
    if (halted(query) || !key || !value)
        return {};
    Tape &tape = *query->tape;
    query = tape.autocastCast(query);
    key = tape.autocastCast(key);
    value = tape.autocastCast(value);
    if (mask && isFloating(mask.dtype()))
        mask = tape.autocastCast(mask);
    const DType dtype = query.dtype();
    const std::int64_t d = query.size(-1);

    if (isHalf(dtype) && !mask && d <= 256 && value.size(-1) == d) {
        const std::int64_t padded = roundUp(d, 8);
        if (padded == d)
            return flash(query, key, value);
        // all three are padded before any of the unpadded ones goes
        Tensor paddedQuery = padLast(query, padded), paddedKey = padLast(key, padded), paddedValue = padLast(value, padded);
        query = std::move(paddedQuery);
        key = std::move(paddedKey);
        value = std::move(paddedValue);
        return sliceLast(flash(query, key, value), 0, d);
    }
    if (query.size(1) == key.size(1) && (isHalf(dtype) || dtype == DType::Float32) && d % 4 == 0) {
        if (mask && mask.dtype() == DType::Bool) {
            Tensor bias = tape.empty(mask.sizes(), dtype, "aten.zeros_like.default");
            Tensor inverted = tape.empty(mask.sizes(), DType::Bool, "aten.logical_not.default");
            inverted.reset();
            mask = std::move(bias);
        }
        if (mask)
            mask = expand(mask, {query.size(0), query.size(1), query.size(2), key.size(2)});
        return efficient(query, key, value, mask);
    }
    if (groupedHeads && query.size(1) != key.size(1)) {
        const std::int64_t n = query.size(1) / key.size(1);
        key = repeatHeads(key, n);
        value = repeatHeads(value, n);
    }
    return math(std::move(query), std::move(key), std::move(value), std::move(mask), dropoutP, causal);
}

} // namespace headroom::autograd
