// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What routed experts are made of: choosing, gathering, grouped products.
#include "core/autograd/operators.h"

#include <cassert>
#include <initializer_list>

namespace headroom::autograd {

namespace {

// value_selecting_reduction_backward: zeros, the gradient scattered into them in place.
void topKBackward(BackwardCall &call)
{
    Tensor indices = call.unpack(0);
    call.give(0, call.tape.empty(call.node.sizes, call.grad.dtype(), "aten.new_zeros.default"));
}
constexpr Operator topKOperator{"TopkBackward0", topKBackward};

// index_backward: zeros, the gradient added to its rows in place (index_put_).
void indexBackward(BackwardCall &call)
{
    const std::array<Tensor, 2> indices{call.unpack(0), call.node.savedCount > 1 ? call.unpack(1) : Tensor()};
    call.give(0, call.tape.empty(call.node.sizes, call.grad.dtype(), "aten.new_zeros.default"));
}
constexpr Operator indexOperator{"IndexBackward0", indexBackward};

// The changed tensor's gradient is the one that came, the source's its rows: grad.index_select(0, index).expand_as(source).
void indexAddBackward(BackwardCall &call)
{
    Tensor rows = call.needs(1) ? call.unpack(0) : Tensor();
    Tensor source = call.needs(1) ? call.unpack(1) : Tensor();
    if (call.needs(1))
        call.give(1, call.tape.empty(source.sizes(), call.grad.dtype(), "aten.index_select.default"));
    if (call.needs(0))
        call.give(0, call.grad);
}
constexpr Operator indexAddOperator{"IndexAddBackward0", indexAddBackward};

// sum_backward: grad.unsqueeze(dim).expand(sizes), a view
void sumBackward(BackwardCall &call)
{
    const int dim = static_cast<int>(call.node.scalars[0]);
    const bool keepsDim = call.node.scalars[1] != 0;
    call.give(0, expand(keepsDim ? call.grad : unsqueeze(call.grad, dim), call.node.sizes));
}
constexpr Operator sumOperator{"SumBackward1", sumBackward};

void divBackward(BackwardCall &call)
{
    // Formulas run in the order of the arguments' names: other before self. -grad * ((self / other) / other)
    Tensor other = call.unpack(1), self = call.needs(1) ? call.unpack(0) : Tensor();
    const DType dtype = promote(call.grad.dtype(), other.dtype());
    if (call.needs(1)) {
        const Tensor quotient = unary(self, "aten.div.Tensor", dtype);
        const Tensor twice = unary(quotient, "aten.div.Tensor", dtype);
        const Tensor negated = unary(call.grad, "aten.neg.default");
        call.give(1, unary(negated, "aten.mul.Tensor", dtype));
    }
    if (call.needs(0))
        call.give(0, unary(call.grad, "aten.div.Tensor", dtype));
}
constexpr Operator divOperator{"DivBackward0", divBackward};

constexpr const char *groupedName = "aten._grouped_mm.default";

/// An output of grouped_mm: rows padded to 16 bytes (ATen/native/GroupedMMUtils.h: create_grouped_gemm_output_tensor).
Tensor groupedOutput(Tape &tape, const Dims &sizes, DType dtype)
{
    const std::int64_t row = roundUp(sizes.back(), 16 / elementSize(dtype));
    const Dims strides = sizes.rank() == 3 ? Dims{checkedMultiply(sizes[1], row), row, 1} : Dims{row, 1};
    Tensor out = tape.make(sizes, strides, dtype, groupedName);
    if (!tape.lastWasKept())
        tape.useBlas();
    return out;
}

void groupedBackward(BackwardCall &call)
{
    Tensor self = call.needs(1) ? call.unpack(0) : Tensor();
    Tensor mat2 = call.needs(0) ? call.unpack(1) : Tensor();
    Tensor offsets = call.unpack(2);
    const Dims &sizes = call.node.sizes, &strides = call.node.strides; // [E, in, out] of the weight
    if (call.needs(1)) {
        // For a weight seen through its transpose it is computed transposed, so that it lies as the weight does.
        const bool transposed = strides[1] == 1;
        Tensor gradient = groupedOutput(call.tape, transposed ? Dims{sizes[0], sizes[2], sizes[1]} : sizes, call.grad.dtype());
        call.give(1, transposed ? transpose(gradient, 1, 2) : gradient);
    }
    if (call.needs(0))
        call.give(0, groupedOutput(call.tape, {call.grad.size(0), sizes[1]}, call.grad.dtype()));
}
constexpr Operator groupedOperator{"GroupedMmBackward0", groupedBackward};

/// t[indices...], of these sizes: a copy.
Tensor indexed(const Tensor &t, std::initializer_list<const Tensor *> indices, const Dims &sizes)
{
    Tape &tape = *t->tape;
    Node *node = tape.record(indexOperator, {&t});
    if (node)
        node->sizes = t.sizes();
    int slot = 0;
    for (const Tensor *index : indices)
        tape.save(node, slot++, *index);
    if (tape.stopped())
        return {};
    Tensor out = tape.empty(sizes, t.dtype(), "aten.index.Tensor");
    tape.attach(node, out);
    return out;
}

} // namespace

TopK topK(const Tensor &x, std::int64_t k)
{
    if (halted(x))
        return {};
    Tape &tape = *x->tape;
    Node *node = tape.record(topKOperator, {&x});
    if (node)
        node->sizes = x.sizes();
    Dims sizes = x.sizes();
    sizes[sizes.rank() - 1] = k;
    TopK out;
    out.values = tape.empty(sizes, x.dtype(), "aten.topk.default");
    out.indices = tape.empty(sizes, DType::Int64, "aten.topk.default");
    tape.attach(node, out.values);
    tape.save(node, 0, out.indices);
    return out;
}

Tensor gather(const Tensor &t, const Tensor &indices)
{
    // gather_backward: zeros, the gradient added to them in place (scatter_add_)
    static constexpr Operator op{"GatherBackward0", [](BackwardCall &call) {
                                     const Tensor chosen = call.unpack(0);
                                     call.give(0, call.tape.empty(call.node.sizes, call.grad.dtype(), "aten.new_zeros.default"));
                                 }};
    if (halted(t) || !indices)
        return {};
    Tape &tape = *t->tape;
    Node *node = tape.record(op, {&t});
    if (node)
        node->sizes = t.sizes();
    tape.save(node, 0, indices);
    if (tape.stopped())
        return {};
    Tensor out = tape.empty(indices.sizes(), t.dtype(), "aten.gather.default");
    tape.attach(node, out);
    return out;
}

Tensor maskedFill(const Tensor &t, const Tensor &mask)
{
    static constexpr Operator op{"MaskedFillBackward0", [](BackwardCall &call) {
                                     const Tensor filled = call.unpack(0);
                                     call.give(0, unary(call.grad, "aten.masked_fill.Scalar"));
                                 }};
    if (halted(t) || !mask)
        return {};
    Tape &tape = *t->tape;
    Node *node = tape.record(op, {&t});
    tape.save(node, 0, mask);
    if (tape.stopped())
        return {};
    Tensor out = unary(t, "aten.masked_fill.Scalar");
    tape.attach(node, out);
    return out;
}

Tensor indexRows(const Tensor &t, const Tensor &rows, int dim)
{
    if (halted(t) || !rows)
        return {};
    Dims sizes = t.sizes();
    sizes[dim] = rows.size(0);
    return indexed(t, {&rows}, sizes);
}

Tensor indexPairs(const Tensor &t, const Tensor &rows, const Tensor &columns)
{
    if (halted(t) || !rows || !columns)
        return {};
    Dims sizes{rows.size(0)};
    for (int i = 2; i < t.rank(); ++i)
        sizes.append(t.size(i));
    return indexed(t, {&rows, &columns}, sizes);
}

void addRows(Tensor &t, const Tensor &rows, const Tensor &source)
{
    if (halted(t) || !rows || !source)
        return t.reset();
    Tape &tape = *t->tape;
    Node *node = tape.record(indexAddOperator, {&t, &source});
    if (!node)
        return;
    if (source.requiresGrad()) {
        tape.save(node, 0, rows);
        tape.save(node, 1, source);
    }
    if (tape.stopped())
        return t.reset();
    tape.rebase(node, t);
}

Tensor sumOver(const Tensor &t, int dim, bool keepDim)
{
    if (halted(t))
        return {};
    Tape &tape = *t->tape;
    Node *node = tape.record(sumOperator, {&t});
    if (node) {
        node->sizes = t.sizes();
        node->scalars = {dim, keepDim, 0, 0};
    }
    Dims sizes;
    for (int i = 0; i < t.rank(); ++i)
        if (i != dim)
            sizes.append(t.size(i));
        else if (keepDim)
            sizes.append(1);
    // autocast sums in fp32 (autocast_mode.h: fp32_set_opt_dtype)
    const DType dtype = tape.autocast() && isHalf(t.dtype()) ? DType::Float32 : t.dtype();
    Tensor out = tape.empty(sizes, dtype, "aten.sum.dim_IntList");
    tape.attach(node, out);
    return out;
}

void divideInPlace(Tensor &a, const Tensor &b)
{
    if (halted(a) || !b)
        return;
    Tape &tape = *a->tape;
    Node *node = tape.record(divOperator, {&a, &b});
    if (!node)
        return;
    // The formula needs what `a` was: autograd copies it first.
    const Tensor before = tape.make(a.sizes(), preservedStrides(a), a.dtype(), "aten.clone.default");
    tape.save(node, 0, before);
    tape.save(node, 1, b);
    if (tape.stopped())
        return a.reset();
    tape.rebase(node, a);
}

Tensor groupedMm(const Tensor &x, const Tensor &weight, const Tensor &offsets)
{
    if (halted(x) || !weight || !offsets)
        return {};
    assert(x.rank() == 2 && weight.rank() == 3 && x.size(1) == weight.size(1) && x.dtype() == weight.dtype());
    Tape &tape = *x->tape;
    Node *node = tape.record(groupedOperator, {&x, &weight});
    if (node) {
        node->sizes = weight.sizes();
        node->strides = weight.strides();
        if (weight.requiresGrad())
            tape.save(node, 0, x);
        if (x.requiresGrad())
            tape.save(node, 1, weight);
        tape.save(node, 2, offsets);
    }
    if (tape.stopped())
        return {};
    Tensor out = groupedOutput(tape, {x.size(0), weight.size(2)}, x.dtype());
    if (!tape.lastWasKept()) // each row by the matrix of its expert; flop_counter has no formula for it
        tape.countFlops(2.0 * static_cast<double>(x.sizes().elements()) * static_cast<double>(weight.size(2)));
    tape.attach(node, out);
    return out;
}

} // namespace headroom::autograd
