// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Activations that model code writes out in operators.
#include "core/autograd/operators.h"

namespace headroom::autograd {

namespace {

constexpr const char *mulName = "aten.mul.Tensor", *addName = "aten.add.Tensor";

/// tanh(0.79788456 * x * (1 + 0.044715 * x * x))
Tensor bloomTanh(const Tensor &x)
{
    Tensor inner = unary(x, mulName);
    {
        Tensor factor = unary(x, mulName);
        factor = unary(factor, mulName);
        factor = unary(factor, addName);
        inner = unary(inner, mulName);
    }
    return unary(inner, "aten.tanh.default");
}

// bloom_gelu_back: 0.5 * x * ((1 - tanh * tanh) * (0.79788456 + 0.1070322243 * x * x)) + 0.5 * (1 + tanh), times the gradient
void bloomGeluBackward(BackwardCall &call)
{
    const Tensor x = call.unpack(0);
    const Tensor bounded = bloomTanh(x);
    Tensor factor;
    {
        Tensor left = unary(x, mulName), right;
        {
            Tensor slope = unary(bounded, mulName);
            slope = unary(slope, "aten.rsub.Scalar");
            Tensor polynomial = unary(x, mulName);
            polynomial = unary(polynomial, mulName);
            polynomial = unary(polynomial, addName);
            right = unary(slope, mulName);
        }
        left = unary(left, mulName);
        right.reset();
        Tensor half = unary(bounded, addName);
        half = unary(half, mulName);
        factor = unary(left, addName);
    }
    call.give(0, unary(factor, mulName));
}
constexpr Operator bloomGeluOperator{"GeLUFunctionBackward", bloomGeluBackward};

} // namespace

/// modeling_bloom.py: GeLUFunction, bloom_gelu_forward: x * 0.5 * (1.0 + tanh(...)). A Python function's forward records nothing.
Tensor bloomGelu(const Tensor &a)
{
    if (halted(a))
        return {};
    Tape &tape = *a->tape;
    Node *node = tape.record(bloomGeluOperator, {&a});
    Tensor out;
    {
        const Tensor half = unary(a, mulName);
        Tensor bounded = bloomTanh(a);
        bounded = unary(bounded, addName);
        out = unary(half, mulName);
    }
    tape.attach(node, out);
    tape.save(node, 0, a);
    return out;
}

namespace {

/// On autocast's list of operators in fp32.
Tensor raised(const Tensor &a) { return a->tape->autocast() ? to(a, DType::Float32) : a; }

void softplusBackward(BackwardCall &call)
{
    const Tensor self = call.unpack(0);
    call.give(0, unary(self, "aten.softplus_backward.default"));
}
constexpr Operator softplusOperator{"SoftplusBackward0", softplusBackward};

void expm1Backward(BackwardCall &call)
{
    // grad * (result + 1)
    const Tensor result = call.unpack(0);
    const Tensor slope = unary(result, "aten.add.Scalar");
    call.give(0, unary(slope, mulName));
}
constexpr Operator expm1Operator{"Expm1Backward0", expm1Backward};

void minimumBackward(BackwardCall &call)
{
    // where(self == other, grad / 2, grad).masked_fill_(self > other, 0)
    const Tensor self = call.unpack(0), limit = call.unpack(1);
    const Tensor half = unary(call.grad, "aten.div.Scalar");
    const Tensor equal = unary(self, "aten.eq.Tensor", DType::Bool);
    Tensor gradient = unary(call.grad, "aten.where.self");
    const Tensor greater = unary(self, "aten.gt.Tensor", DType::Bool);
    call.give(0, std::move(gradient));
}
constexpr Operator minimumOperator{"MinimumBackward0", minimumBackward};

void whereBackward(BackwardCall &call)
{
    const Tensor mask = call.unpack(0);
    for (int i = 0; i < call.node.edgeCount; ++i) {
        if (!call.needs(i))
            continue;
        const Tensor zero = call.tape.empty({}, call.grad.dtype(), "aten.scalar_tensor.default");
        call.give(i, unary(call.grad, "aten.where.self"));
    }
}
constexpr Operator whereOperator{"WhereBackward0", whereBackward};

} // namespace

Tensor softplus(const Tensor &a)
{
    if (halted(a))
        return {};
    const Tensor x = raised(a);
    Tape &tape = *x->tape;
    Node *node = tape.record(softplusOperator, {&x});
    tape.save(node, 0, x);
    if (tape.stopped())
        return {};
    Tensor out = unary(x, "aten.softplus.default");
    tape.attach(node, out);
    return out;
}

Tensor expm1(const Tensor &a)
{
    if (halted(a))
        return {};
    const Tensor x = raised(a);
    Tape &tape = *x->tape;
    Node *node = tape.record(expm1Operator, {&x});
    Tensor out = unary(x, "aten.expm1.default");
    tape.attach(node, out);
    tape.save(node, 0, out);
    return out;
}

Tensor minimum(const Tensor &a, const Tensor &limit)
{
    if (halted(a) || !limit)
        return {};
    Tape &tape = *a->tape;
    Node *node = tape.record(minimumOperator, {&a});
    tape.save(node, 0, a);
    tape.save(node, 1, limit);
    if (tape.stopped())
        return {};
    Tensor out = unary(a, "aten.minimum.default");
    tape.attach(node, out);
    return out;
}

namespace {

/// `b` undefined: a number
Tensor chosen(const Tensor &mask, const Tensor &a, const Tensor &b)
{
    Tape &tape = *a->tape;
    Node *node = tape.record(whereOperator, {&a, &b});
    tape.save(node, 0, mask);
    if (tape.stopped())
        return {};
    Tensor out = unary(a, "aten.where.self");
    tape.attach(node, out);
    return out;
}

} // namespace

Tensor where(const Tensor &mask, const Tensor &a, const Tensor &b) { return halted(a) || !b || !mask ? Tensor() : chosen(mask, a, b); }
Tensor keepWhere(const Tensor &mask, const Tensor &a) { return halted(a) || !mask ? Tensor() : chosen(mask, a, {}); }

} // namespace headroom::autograd
