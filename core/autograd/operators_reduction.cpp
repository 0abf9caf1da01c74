// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Sums and means over some of the dimensions.
#include "core/autograd/operators.h"

namespace headroom::autograd {

namespace {

void meanBackward(BackwardCall &call)
{
    // grad.expand(sizes) / n
    Tensor spread = expand(call.grad, call.node.sizes);
    call.give(0, call.tape.empty(call.node.sizes, call.grad.dtype(), "aten.div.Scalar"));
}
constexpr Operator meanOperator{"MeanBackward1", meanBackward};

} // namespace

Tensor meanLast(const Tensor &a)
{
    if (halted(a))
        return {};
    Tape &tape = *a->tape;
    Node *node = tape.record(meanOperator, {&a});
    if (node)
        node->sizes = a.sizes();
    Dims sizes = a.sizes();
    sizes[sizes.rank() - 1] = 1;
    Tensor out = tape.empty(sizes, a.dtype(), "aten.mean.dim");
    tape.attach(node, out);
    return out;
}

Tensor sumTo(Tensor &&a, const Dims &sizes)
{
    if (!a || a.sizes() == sizes)
        return std::move(a);
    // at::sum_to: one sum over the leading and the broadcast dimensions, kept as 1; then a view without the leading ones
    const int leading = a.rank() - sizes.rank();
    Dims kept = a.sizes();
    bool reduces = false;
    for (int i = 0; i < kept.rank(); ++i) {
        if (i < leading || (sizes[i - leading] == 1 && kept[i] != 1)) {
            reduces = reduces || i < leading || kept[i] != 1;
            kept[i] = 1;
        }
    }
    Tensor summed = reduces ? a->tape->empty(kept, a.dtype(), "aten.sum.dim_IntList") : std::move(a);
    return leading > 0 ? summed->tape->view(summed, sizes, contiguousStrides(sizes)) : summed;
}

} // namespace headroom::autograd
