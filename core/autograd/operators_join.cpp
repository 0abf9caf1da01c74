// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Tensors laid together, and one repeated.
#include "core/autograd/operators.h"

namespace headroom::autograd {

namespace {

void catBackward(BackwardCall &call)
{
    // narrow(): views of the gradient
    for (int i = 0; i < 2; ++i)
        if (call.needs(i))
            call.give(i, sliceLast(call.grad, 0, call.node.scalars[static_cast<std::size_t>(i)]));
}
constexpr Operator catOperator{"CatBackward0", catBackward};

// stack_tensors_backward: grad.select(dim, i), views of the gradient
void stackBackward(BackwardCall &call)
{
    const Dims sizes = call.grad.sizes().leading(), strides = call.grad.strides().leading();
    for (int i = 0; i < 2; ++i)
        if (call.needs(i))
            call.give(i, call.tape.view(call.grad, sizes, strides));
}
constexpr Operator stackOperator{"StackBackward0", stackBackward};

} // namespace

Tensor catLast(const Tensor &a, const Tensor &b)
{
    if (halted(a) || !b)
        return {};
    Tape &tape = *a->tape;
    Node *node = tape.record(catOperator, {&a, &b});
    if (node)
        node->scalars = {a.size(-1), b.size(-1), 0, 0};
    Dims sizes = a.sizes();
    sizes[sizes.rank() - 1] = a.size(-1) + b.size(-1);
    Tensor out = tape.empty(sizes, promote(a.dtype(), b.dtype()), "aten.cat.default");
    tape.attach(node, out);
    return out;
}

Tensor stackLast(const Tensor &a, const Tensor &b)
{
    if (halted(a) || !b)
        return {};
    Tape &tape = *a->tape;
    Node *node = tape.record(stackOperator, {&a, &b});
    Dims sizes = a.sizes();
    sizes.append(2);
    Tensor out = tape.empty(sizes, promote(a.dtype(), b.dtype()), "aten.stack.default");
    tape.attach(node, out);
    return out;
}

Tensor repeatInterleaveLast(const Tensor &a, std::int64_t n)
{
    if (halted(a))
        return {};
    Dims repeated = a.sizes(), flat = a.sizes();
    repeated.append(n);
    flat[flat.rank() - 1] *= n;
    return view(clone(expand(unsqueeze(a, a.rank()), repeated), contiguousStrides(repeated)), flat);
}

namespace {

void copySlicesBackward(BackwardCall &call)
{
    Tensor base = call.tape.empty(call.node.sizes, call.grad.dtype(), "aten.new_empty_strided.default");
    const Dims &slice = call.node.strides; // the source's sizes
    Tensor cut = call.tape.empty(slice, call.grad.dtype(), "aten.clone.default");
    Tensor zeros = call.needs(0) ? call.tape.empty(slice, call.grad.dtype(), "aten.zeros_like.default") : Tensor();
    if (call.needs(1))
        call.give(1, to(cut, static_cast<DType>(call.node.scalars[0])));
    cut.reset();
    zeros.reset();
    if (call.needs(0))
        call.give(0, std::move(base));
}
constexpr Operator copySlicesOperator{"CopySlices", copySlicesBackward};

} // namespace

void copyIntoSlice(Tensor &base, const Tensor &source)
{
    if (halted(source) || !base)
        return base.reset();
    Tape &tape = *base->tape;
    Node *node = tape.record(copySlicesOperator, {&base, &source});
    if (!node)
        return;
    node->sizes = base.sizes();
    node->strides = source.sizes();
    node->scalars[0] = static_cast<std::int64_t>(source.dtype());
    tape.rebase(node, base);
}

} // namespace headroom::autograd
