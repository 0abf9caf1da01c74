// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/autograd/module_hooks.h"
#include "core/autograd/operators.h"

#include <cassert>

namespace headroom::autograd {

namespace {

/// `inner`: what is summed over.
Tensor product(Tape &tape, const Dims &sizes, std::int64_t inner, DType dtype, const char *op)
{
    Tensor out = tape.empty(sizes, dtype, op);
    if (tape.lastWasKept())
        return out;
    tape.useBlas();
    tape.countFlops(2.0 * static_cast<double>(sizes.elements()) * static_cast<double>(inner));
    return out;
}

Tensor firstFactorGradient(BackwardCall &call)
{
    return product(call.tape, {call.grad.size(0), call.node.sizes[0]}, call.grad.size(1), call.grad.dtype(), "aten.mm.default");
}

/// For a weight seen through t() it is (grad.t() @ a).t(), so that its memory has the weight's own layout
/// (FunctionsManual.cpp: mm_mat2_backward).
Tensor secondFactorGradient(BackwardCall &call)
{
    const Dims &sizes = call.node.sizes, &strides = call.node.strides;
    const bool columnMajor = strides[0] == 1 && strides[1] == sizes[0];
    const std::int64_t rows = call.grad.size(0);
    return columnMajor ? transposed2d(product(call.tape, {sizes[1], sizes[0]}, rows, call.grad.dtype(), "aten.mm.default"))
                       : product(call.tape, {sizes[0], sizes[1]}, rows, call.grad.dtype(), "aten.mm.default");
}

void mmBackward(BackwardCall &call)
{
    // Formulas run in the order of the arguments' names: mat2 before self.
    Tensor a = call.needs(1) ? call.unpack(0) : Tensor();
    Tensor b = call.needs(0) ? call.unpack(1) : Tensor();
    if (call.needs(1))
        call.give(1, secondFactorGradient(call));
    if (call.needs(0))
        call.give(0, firstFactorGradient(call));
}
constexpr Operator mmOperator{"MmBackward0", mmBackward};

void addmmBackward(BackwardCall &call)
{
    // Edges: the two factors as for mm, the bias third. Formulas run by the arguments' names: mat1, mat2, self. The
    // bias's gradient is grad itself, summed over the rows by the engine.
    Tensor a = call.needs(1) ? call.unpack(0) : Tensor();
    Tensor b = call.needs(0) ? call.unpack(1) : Tensor();
    if (call.needs(0))
        call.give(0, firstFactorGradient(call));
    if (call.needs(1))
        call.give(1, secondFactorGradient(call));
    if (call.needs(2))
        call.give(2, call.grad);
}
constexpr Operator addmmOperator{"AddmmBackward0", addmmBackward};

void bmmBackward(BackwardCall &call)
{
    Tensor a = call.needs(1) ? call.unpack(0) : Tensor();
    Tensor b = call.needs(0) ? call.unpack(1) : Tensor();
    const Dims &s = call.node.sizes; // [b, k, m] of the second factor
    if (call.needs(1))
        call.give(1, product(call.tape, {s[0], s[1], s[2]}, call.grad.size(1), call.grad.dtype(), "aten.bmm.default"));
    if (call.needs(0))
        call.give(0, product(call.tape, {s[0], call.grad.size(1), s[1]}, s[2], call.grad.dtype(), "aten.bmm.default"));
}
constexpr Operator bmmOperator{"BmmBackward0", bmmBackward};

void baddbmmBackward(BackwardCall &call)
{
    Tensor b = call.needs(1) ? call.unpack(1) : Tensor();
    Tensor a = call.needs(2) ? call.unpack(0) : Tensor();
    const auto scaled = [&](const Tensor &raw) { return unary(raw, "aten.mul.Scalar"); }; // maybe_multiply(..., alpha)
    const Dims &grad = call.grad.sizes();
    if (call.needs(1))
        call.give(1, scaled(product(call.tape, {grad[0], grad[1], b.size(1)}, grad[2], call.grad.dtype(), "aten.bmm.default")));
    if (call.needs(2))
        call.give(2, scaled(product(call.tape, {grad[0], a.size(2), grad[2]}, grad[1], call.grad.dtype(), "aten.bmm.default")));
    if (call.needs(0))
        call.give(0, call.grad);
}
constexpr Operator baddbmmOperator{"BaddbmmBackward0", baddbmmBackward};

/// A view that autograd does not track as one (at::_unsafe_view): the result owns the storage alone once `t` is gone.
Tensor unsafeView(Tensor &&t, const Dims &sizes)
{
    if (halted(t))
        return {};
    static constexpr Operator op{"UnsafeViewBackward0", [](BackwardCall &call) { call.give(0, reshape(call.grad, call.node.sizes)); }};
    Tape &tape = *t->tape;
    Node *node = tape.record(op, {&t});
    if (node)
        node->sizes = t.sizes();
    Tensor out = tape.detach(t);
    out->sizes = sizes;
    out->strides = contiguousStrides(sizes);
    tape.attach(node, out);
    t.reset();
    return out;
}

void saveFactors(Tape &tape, Node *node, const Tensor &a, const Tensor &b)
{
    if (!node)
        return;
    node->sizes = b.sizes();
    node->strides = b.strides();
    if (b.requiresGrad())
        tape.save(node, 0, a);
    if (a.requiresGrad())
        tape.save(node, 1, b);
}

Tensor addProduct(const Tensor &bias, const Tensor &a, const Tensor &b)
{
    if (halted(a) || !b)
        return {};
    Tape &tape = *a->tape;
    Node *node = tape.record(addmmOperator, {&a, &b, &bias});
    saveFactors(tape, node, a, b);
    if (tape.stopped())
        return {};
    Tensor out = product(tape, {a.size(0), b.size(1)}, a.size(1), a.dtype(), "aten.addmm.default");
    tape.attach(node, out);
    return out;
}

/// Whether [..., n, k] x [k, m] is one product of matrices: where that takes no copy of the first, or spares one of the second in
/// backward (aten/src/ATen/native/LinearAlgebra.cpp: should_fold).
bool folds(const Tensor &a, const Tensor &b)
{
    if (b.requiresGrad() || a.rank() < 3)
        return true;
    for (int i = 0; i < a.rank() - 2; ++i)
        if (a.strides()[i] != a.strides()[i + 1] * a.size(i + 1))
            return false;
    return true;
}

} // namespace

Tensor mm(const Tensor &a, const Tensor &b)
{
    if (halted(a) || !b)
        return {};
    assert(a.rank() == 2 && b.rank() == 2 && a.size(1) == b.size(0));
    Tape &tape = *a->tape;
    Node *node = tape.record(mmOperator, {&a, &b});
    saveFactors(tape, node, a, b);
    if (tape.stopped())
        return {};
    Tensor out = product(tape, {a.size(0), b.size(1)}, a.size(1), a.dtype(), "aten.mm.default");
    tape.attach(node, out);
    return out;
}

Tensor bmm(const Tensor &a, const Tensor &b)
{
    if (halted(a) || !b)
        return {};
    assert(a.rank() == 3 && b.rank() == 3 && a.size(2) == b.size(1));
    Tape &tape = *a->tape;
    Node *node = tape.record(bmmOperator, {&a, &b});
    saveFactors(tape, node, a, b);
    if (tape.stopped())
        return {};
    Tensor out = product(tape, {a.size(0), a.size(1), b.size(2)}, a.size(2), a.dtype(), "aten.bmm.default");
    tape.attach(node, out);
    return out;
}

Tensor baddbmm(const Tensor &sum, const Tensor &a, const Tensor &b)
{
    if (halted(a) || !b)
        return {};
    assert(a.rank() == 3 && b.rank() == 3 && a.size(2) == b.size(1));
    Tape &tape = *a->tape;
    Node *node = tape.record(baddbmmOperator, {&sum, &a, &b});
    if (node) {
        if (b.requiresGrad())
            tape.save(node, 0, a);
        if (a.requiresGrad())
            tape.save(node, 1, b);
    }
    if (tape.stopped())
        return {};
    Tensor out = product(tape, {a.size(0), a.size(1), b.size(2)}, a.size(2), sum.dtype(), "aten.baddbmm.default");
    tape.attach(node, out);
    return out;
}

Tensor matmul(const Tensor &a, const Tensor &b)
{
    if (halted(a) || !b)
        return {};
    Tape &tape = *a->tape;
    Tensor right = tape.autocastCast(b); // arguments are cast from the last to the first
    Tensor left = tape.autocastCast(a);
    if (right.rank() == 2 && folds(left, right)) { // the leading dimensions are rows
        const std::int64_t rows = left.sizes().leading().elements();
        Tensor folded = reshape(left, {rows, left.size(-1)});
        Dims sizes = left.sizes();
        sizes[sizes.rank() - 1] = right.size(1);
        return unsafeView(mm(folded, right), sizes);
    }
    const Dims leading = broadcast(left.sizes().leading().leading(), right.sizes().leading().leading());
    const auto spread = [&](const Tensor &t) {
        if (t.sizes().leading().leading() == leading)
            return t;
        Dims sizes = leading;
        sizes.append(t.size(-2));
        sizes.append(t.size(-1));
        return expand(t, sizes);
    };
    left = spread(left);
    right = spread(right);
    const std::int64_t batch = leading.elements();
    Tensor foldedLeft = reshape(left, {batch, left.size(-2), left.size(-1)});
    Tensor foldedRight = reshape(right, {batch, right.size(-2), right.size(-1)});
    Dims sizes = left.sizes();
    sizes[sizes.rank() - 1] = right.size(-1);
    return unsafeView(bmm(foldedLeft, foldedRight), sizes);
}

Tensor linear(const Tensor &x, const Tensor &weight, const Tensor &bias)
{
    if (halted(x))
        return {};
    Tape &tape = *x->tape;
    if (ModuleHooks *hooks = tape.moduleHooks())
        return hooks->linear(x, weight, bias);
    Tensor castBias = bias ? tape.autocastCast(bias) : Tensor();
    Tensor castWeight = tape.autocastCast(weight);
    Tensor input = tape.autocastCast(x);
    if (input.rank() == 2) { // nothing to fold
        const Tensor seen = transposed2d(castWeight);
        return bias ? addProduct(castBias, input, seen) : mm(input, seen);
    }
    if (!bias) {
        Tensor seen = transposed2d(castWeight);
        const std::int64_t rows = input.sizes().leading().elements();
        Tensor folded = reshape(input, {rows, input.size(-1)});
        Dims sizes = input.sizes();
        sizes[sizes.rank() - 1] = weight.size(0);
        return unsafeView(mm(folded, seen), sizes);
    }
    // addmm over the flattened input (aten/src/ATen/native/Linear.cpp: _flatten_nd_linear)
    const std::int64_t rows = input.sizes().leading().elements();
    Tensor folded = reshape(input, {rows, input.size(-1)});
    Tensor seen = transposed2d(castWeight);
    const Tensor out = addProduct(castBias, folded, seen);
    if (halted(out))
        return {};
    Dims sizes = input.sizes();
    sizes[sizes.rank() - 1] = weight.size(0);
    return view(out, sizes);
}

Tensor addmm(const Tensor &bias, const Tensor &a, const Tensor &b)
{
    if (halted(a) || !b)
        return {};
    Tape &tape = *a->tape;
    const Tensor right = tape.autocastCast(b), left = tape.autocastCast(a), added = tape.autocastCast(bias);
    return addProduct(added, left, right);
}

Tensor Tape::autocastCast(const Tensor &tensor)
{
    const std::optional<DType> target = autocast();
    if (!target || !tensor || !isFloating(tensor.dtype()) || tensor.dtype() == *target)
        return tensor;
    const bool cacheable = tensor.dtype() == DType::Float32 && tensor.requiresGrad() && tensor.isLeaf() && !tensor->base;
    if (!cacheable)
        return toCopy(tensor, *target);
    for (const CachedCast &cached : m_autocastCache)
        if (cached.source.impl() == tensor.impl())
            return cached.cast;
    Tensor cast = toCopy(tensor, *target);
    m_autocastCache.push_back({tensor, cast});
    return cast;
}

} // namespace headroom::autograd
