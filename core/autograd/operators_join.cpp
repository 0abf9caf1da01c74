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

} // namespace headroom::autograd
