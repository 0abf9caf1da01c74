// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/autograd/operators_liger.h"

#include "core/autograd/operators.h"

#include <algorithm>
#include <array>
#include <bit>

namespace headroom::autograd {

namespace {

/// t.view(-1, t.shape[-1])
Tensor rowsOf(const Tensor &t)
{
    const std::int64_t width = t.size(-1);
    const Dims sizes{width == 0 ? 0 : t.sizes().elements() / width, width};
    return t->tape->view(t, sizes, contiguousStrides(sizes));
}

/// rows.view(*sizes)
Tensor seenAs(const Tensor &rows, const Dims &sizes) { return rows->tape->view(rows, sizes, contiguousStrides(sizes)); }

void rmsNormBackward(BackwardCall &call)
{
    const Tensor x = call.unpack(0), weight = call.unpack(1), inverseRoot = call.unpack(2);
    const bool inPlace = call.node.scalars[0] != 0;
    const Tensor grad = contiguous(call.grad); // ensure_contiguous
    const Tensor rows = rowsOf(grad);
    Tape &tape = call.tape;
    Tensor partial; // a row for each program of the kernel
    if (call.needs(1))
        partial = tape.empty({call.node.scalars[1], rows.size(1)}, DType::Float32);
    const Tensor written = inPlace ? rows : tape.empty(rows.sizes(), rows.dtype(), "aten.zeros_like.default");
    call.give(0, seenAs(written, grad.sizes()));
    if (call.needs(1)) {
        const Tensor sum = tape.empty({rows.size(1)}, DType::Float32, "aten.sum.dim_IntList");
        call.give(1, to(sum, weight.dtype()));
    }
}
constexpr Operator rmsNormOperator{"LigerRMSNormFunctionBackward", rmsNormBackward};

void gatedActivationBackward(BackwardCall &call)
{
    const Tensor gate = call.unpack(0), up = call.unpack(1);
    const Tensor grad = contiguous(call.grad);
    call.give(0, seenAs(gate, grad.sizes()));
    call.give(1, seenAs(up, grad.sizes()));
}
constexpr Operator gatedActivationOperator{"LigerSiLUMulFunctionBackward", gatedActivationBackward};

/// t.transpose(1, 2).contiguous(), turned by the kernel, and transposed back.
Tensor turned(const Tensor &t) { return transpose(contiguous(transpose(t, 1, 2)), 1, 2); }

void rotaryBackward(BackwardCall &call)
{
    const Tensor cos = call.unpack(0), sin = call.unpack(1);
    Tensor query = transpose(call.grads[0], 1, 2), key = transpose(call.grads[1], 1, 2);
    query = contiguous(query);
    key = contiguous(key);
    call.give(0, transpose(query, 1, 2));
    call.give(1, transpose(key, 1, 2));
}
constexpr Operator rotaryOperator{"LigerRopeFunctionBackward", rotaryBackward};

constexpr std::int64_t rowsPerTile = 64; // BLOCK_M_TOKEN

/// What compute_routing_metadata() returns; all but the first is kept for backward.
struct RoutingMetadata {
    Tensor perExpert, expertStart, gather, scatter, reverseScatter, tileStart, tileExpert;
};

RoutingMetadata routingMetadata(Tape &tape, std::int64_t tokens, std::int64_t perToken, std::int64_t experts)
{
    const std::int64_t pairs = checkedMultiply(tokens, perToken);
    const auto block = std::max<std::int64_t>(1, 1024 / static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(perToken))));
    const auto make = [&](const Dims &sizes, const char *op = "aten.empty.memory_format") { return tape.empty(sizes, DType::Int32, op); };
    RoutingMetadata out;
    const Tensor counts = make({experts, divideUp(tokens, block)});
    out.perExpert = make({experts}, "aten.sum.dim_IntList");
    out.expertStart = make({experts + 1});
    const Tensor tileOffset = make({experts + 1});
    const std::int64_t each = pairs / experts, more = pairs % experts; // so many experts have one row more
    const std::int64_t tiles = more * divideUp(each + 1, rowsPerTile) + (experts - more) * divideUp(each, rowsPerTile);
    out.tileStart = make({tiles});
    out.tileExpert = make({tiles});
    out.scatter = make({pairs});
    out.reverseScatter = make({pairs});
    out.gather = make({pairs});
    return out;
}

void expertsBackward(BackwardCall &call)
{
    const Tensor x = call.unpack(0), gateUp = call.unpack(1), down = call.unpack(2), before = call.unpack(3), weights = call.unpack(4);
    std::array<Tensor, 6> metadata;
    for (int i = 0; i < 6; ++i)
        metadata[static_cast<std::size_t>(i)] = call.unpack(5 + i);
    const Tensor grad = contiguous(call.grad);
    Tape &tape = call.tape;
    const std::int64_t pairs = weights.size(0);
    const Tensor beforeGrad = tape.empty(before.sizes(), grad.dtype());
    const Tensor weighted = tape.empty({pairs, down.size(2)}, grad.dtype());
    const Tensor weightsGrad = tape.empty({pairs}, grad.dtype(), "aten.zeros.default");
    call.give(2, tape.empty(down.sizes(), down.dtype(), "aten.zeros_like.default"));
    const Tensor expanded = tape.empty({pairs, x.size(1)}, grad.dtype());
    call.give(0, tape.empty(x.sizes(), grad.dtype(), "aten.zeros.default"));
    call.give(1, tape.empty(gateUp.sizes(), gateUp.dtype(), "aten.zeros_like.default"));
    call.give(3, seenAs(weightsGrad, {x.size(0), pairs / x.size(0)}));
}
constexpr Operator expertsOperator{"LigerFusedMoEFunctionBackward", expertsBackward};

} // namespace

Tensor ligerRmsNorm(const Tensor &x, const Tensor &weight, bool inPlace, int multiprocessors)
{
    if (halted(x))
        return {};
    Tape &tape = *x->tape;
    Node *node = tape.record(rmsNormOperator, {&x, &weight});
    if (node)
        node->scalars = {inPlace, multiprocessors, 0, 0};
    Tensor out, rows, inverseRoot;
    {
        Tape::NoGrad inFunction(tape);
        rows = rowsOf(contiguous(x));
        out = seenAs(tape.empty(rows.sizes(), x.dtype()), x.sizes());
        inverseRoot = tape.empty({rows.size(0)}, DType::Float32);
    }
    tape.save(node, 0, rows);
    tape.save(node, 1, weight);
    tape.save(node, 2, inverseRoot);
    if (tape.stopped())
        return {};
    tape.attach(node, out);
    return out;
}

Tensor ligerGatedActivation(const Tensor &gate, const Tensor &up)
{
    if (halted(gate) || !up)
        return {};
    Tape &tape = *gate->tape;
    Node *node = tape.record(gatedActivationOperator, {&gate, &up});
    Tensor out, gateRows, upRows;
    {
        Tape::NoGrad inFunction(tape);
        const Tensor gateCopy = contiguous(gate), upCopy = contiguous(up);
        gateRows = rowsOf(gateCopy);
        upRows = rowsOf(upCopy);
        out = seenAs(tape.empty(gateRows.sizes(), gate.dtype(), "aten.empty_like.default"), gate.sizes());
    }
    tape.save(node, 0, gateRows);
    tape.save(node, 1, upRows);
    if (tape.stopped())
        return {};
    tape.attach(node, out);
    return out;
}

void ligerRotary(Tensor &query, Tensor &key, const Tensor &cos, const Tensor &sin)
{
    if (halted(query) || !key)
        return;
    Tape &tape = *query->tape;
    Node *node = tape.record(rotaryOperator, {&query, &key});
    Tensor turnedQuery, turnedKey;
    {
        Tape::NoGrad inFunction(tape);
        turnedQuery = turned(query);
        turnedKey = turned(key);
    }
    tape.save(node, 0, cos);
    tape.save(node, 1, sin);
    if (tape.stopped()) {
        query.reset();
        key.reset();
        return;
    }
    tape.attach(node, turnedQuery, 0);
    tape.attach(node, turnedKey, 1);
    query = std::move(turnedQuery);
    key = std::move(turnedKey);
}

Tensor ligerExperts(const Tensor &x, const Tensor &gateUp, const Tensor &down, const Tensor &weights, const Tensor &indices)
{
    if (halted(x) || !weights || !indices)
        return {};
    Tape &tape = *x->tape;
    const std::int64_t tokens = x.size(0), perToken = indices.size(1), pairs = checkedMultiply(tokens, perToken);
    const std::int64_t width = down.size(2);
    Node *node = tape.record(expertsOperator, {&x, &gateUp, &down, &weights});
    Tensor out, rows, before, flatWeights;
    RoutingMetadata routing;
    {
        Tape::NoGrad inFunction(tape);
        rows = contiguous(x);
        routing = routingMetadata(tape, tokens, perToken, gateUp.size(0));
        before = tape.empty({pairs, checkedMultiply(2, width)}, x.dtype());
        const Tensor after = tape.empty({pairs, width}, x.dtype());
        const Tensor results = tape.empty({pairs, x.size(1)}, x.dtype());
        flatWeights = contiguous(reshape(weights, {pairs}));
        out = tape.empty(x.sizes(), x.dtype());
    }
    const Tensor *kept[] = {&rows,
                            &gateUp,
                            &down,
                            &before,
                            &flatWeights,
                            &routing.expertStart,
                            &routing.gather,
                            &routing.scatter,
                            &routing.reverseScatter,
                            &routing.tileStart,
                            &routing.tileExpert};
    for (int slot = 0; const Tensor *tensor : kept)
        tape.save(node, slot++, *tensor);
    if (tape.stopped())
        return {};
    tape.attach(node, out);
    return out;
}

} // namespace headroom::autograd
