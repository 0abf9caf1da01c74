// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Values held within bounds, and the largest.
#include "core/autograd/operators.h"

namespace headroom::autograd {

namespace {

// clamp_backward: at::where(self >= min && self <= max, grad, zero); one comparison where there is one bound.
void clampBackward(BackwardCall &call)
{
    const Tensor self = call.unpack(0);
    const Tensor zero = call.tape.empty({}, call.grad.dtype(), "aten.scalar_tensor.default");
    const bool both = call.node.scalars[0] != 0;
    const Dims strides = elementwiseStrides(self, {}, self.sizes());
    const Tensor inside = call.tape.make(self.sizes(), strides, DType::Bool, both ? "aten.ge.Scalar" : "aten.le.Scalar");
    const Tensor below = both ? call.tape.make(self.sizes(), strides, DType::Bool, "aten.le.Scalar") : Tensor(); // logical_and_
    call.give(0, call.tape.make(self.sizes(), elementwiseStrides(inside, call.grad, self.sizes()), call.grad.dtype(), "aten.where.self"));
}
constexpr Operator clampOperator{"ClampBackward1", clampBackward};

// value_selecting_reduction_backward: zeros, the gradient scattered into them in place.
void maxBackward(BackwardCall &call)
{
    const Tensor indices = call.unpack(0);
    call.give(0, call.tape.empty(call.node.sizes, call.grad.dtype(), "aten.new_zeros.default"));
}
constexpr Operator maxOperator{"MaxBackward0", maxBackward};

} // namespace

Tensor clamp(const Tensor &a, bool fromBelowToo)
{
    if (halted(a))
        return {};
    Tape &tape = *a->tape;
    Node *node = tape.record(clampOperator, {&a});
    if (node)
        node->scalars[0] = fromBelowToo;
    tape.save(node, 0, a);
    if (tape.stopped())
        return {};
    Tensor out = tape.make(a.sizes(), elementwiseStrides(a, {}, a.sizes()), a.dtype(), "aten.clamp.default");
    tape.attach(node, out);
    return out;
}

Tensor maxLast(const Tensor &a)
{
    if (halted(a))
        return {};
    Tape &tape = *a->tape;
    Node *node = tape.record(maxOperator, {&a});
    if (node)
        node->sizes = a.sizes();
    Dims sizes = a.sizes();
    sizes[sizes.rank() - 1] = 1;
    Tensor values = tape.empty(sizes, a.dtype(), "aten.max.dim");
    const Tensor indices = tape.empty(sizes, DType::Int64, "aten.max.dim");
    tape.attach(node, values);
    tape.save(node, 0, indices);
    return values;
}

} // namespace headroom::autograd
