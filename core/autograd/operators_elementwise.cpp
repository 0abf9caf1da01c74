// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/autograd/operators.h"

#include <algorithm>
#include <cassert>

namespace headroom::autograd {

DType promote(DType a, DType b)
{
    if (a == b)
        return a;
    if (isHalf(a) && isHalf(b))
        return DType::Float32;
    return std::max(a, b); // the enumeration is in promotion order, the two half types apart
}

Dims elementwiseStrides(const Tensor &a, const Tensor &b, const Dims &sizes)
{
    const bool same = a.sizes() == sizes && (!b || b.sizes() == sizes);
    if (same) { // compute_fast_setup_type
        if (isContiguous(sizes, a.strides()) && (!b || isContiguous(sizes, b.strides())))
            return contiguousStrides(sizes);
        if (isDense(sizes, a.strides()) && (!b || b.strides() == a.strides()))
            return a.strides();
    }
    const int rank = sizes.rank();
    const Tensor *operands[] = {&a, &b};
    const auto strideOf = [&](const Tensor &t, int dim) -> std::int64_t {
        const int i = dim - (rank - t.rank());
        return i < 0 || (t.size(i) == 1 && sizes[dim] != 1) ? 0 : t.strides()[i];
    };
    std::array<int, Dims::capacity> order{};
    for (int i = 0; i < rank; ++i)
        order[static_cast<std::size_t>(i)] = rank - 1 - i;
    const auto shouldSwap = [&](int d0, int d1) {
        for (const Tensor *t : operands) {
            if (!t->defined())
                continue;
            const std::int64_t s0 = strideOf(*t, d0), s1 = strideOf(*t, d1);
            if (s0 == 0 || s1 == 0)
                continue;
            if (s0 != s1)
                return s0 < s1 ? -1 : 1;
            if (sizes[d0] > sizes[d1])
                return 1;
        }
        return 0;
    };
    for (int i = 1; i < rank; ++i) { // insertion sort, as TensorIterator's
        int d1 = i;
        for (int d0 = i - 1; d0 >= 0; --d0) {
            int &p0 = order[static_cast<std::size_t>(d0)], &p1 = order[static_cast<std::size_t>(d1)];
            const int comparison = shouldSwap(p0, p1);
            if (comparison > 0) {
                std::swap(p0, p1);
                d1 = d0;
            } else if (comparison < 0) {
                break;
            }
        }
    }
    Dims strides = sizes;
    std::int64_t next = 1;
    for (int i = 0; i < rank; ++i) {
        const int d = order[static_cast<std::size_t>(i)];
        strides[d] = next;
        next = checkedMultiply(next, std::max<std::int64_t>(sizes[d], 1));
    }
    return strides;
}

Dims preservedStrides(const Tensor &a)
{
    // ATen/ExpandUtils.h: infer_dense_strides sorts as TensorIterator does
    return isDense(a.sizes(), a.strides()) ? a.strides() : elementwiseStrides(a, {}, a.sizes());
}

namespace {

/// An elementwise result of one or two tensors, without a graph.
Tensor compute(const Tensor &a, const Tensor &b, DType dtype, const char *op)
{
    const Dims sizes = b ? broadcast(a.sizes(), b.sizes()) : a.sizes();
    return a->tape->make(sizes, elementwiseStrides(a, b, sizes), dtype, op);
}

void addBackward(BackwardCall &call)
{
    if (call.needs(0))
        call.give(0, call.grad);
    if (call.needs(1))
        call.give(1, call.grad);
}
constexpr Operator addOperator{"AddBackward0", addBackward};

void mulBackward(BackwardCall &call)
{
    // Formulas run in the order of the arguments' names: other's gradient, grad * self, comes before self's, grad * other.
    // Sums over broadcast dimensions are the engine's.
    Tensor other = call.needs(0) ? call.unpack(1) : Tensor();
    Tensor self = call.needs(1) ? call.unpack(0) : Tensor();
    if (call.needs(1))
        call.give(1, compute(call.grad, self, promote(call.grad.dtype(), self.dtype()), "aten.mul.Tensor"));
    if (call.needs(0))
        call.give(0, compute(call.grad, other, promote(call.grad.dtype(), other.dtype()), "aten.mul.Tensor"));
}
constexpr Operator mulOperator{"MulBackward0", mulBackward};

void mulNumberBackward(BackwardCall &call) { call.give(0, compute(call.grad, {}, call.grad.dtype(), "aten.mul.Tensor")); }
constexpr Operator mulNumberOperator{"MulBackward0", mulNumberBackward};

void mulScalarBackward(BackwardCall &call) { call.give(0, compute(call.grad, {}, call.grad.dtype(), "aten.mul.Scalar")); }
constexpr Operator mulScalarOperator{"MulBackward1", mulScalarBackward};

void divNumberBackward(BackwardCall &call) { call.give(0, compute(call.grad, {}, call.grad.dtype(), "aten.div.Tensor")); }
constexpr Operator divNumberOperator{"DivBackward0", divNumberBackward};

void negBackward(BackwardCall &call) { call.give(0, compute(call.grad, {}, call.grad.dtype(), "aten.neg.default")); }
constexpr Operator negOperator{"NegBackward0", negBackward};

void powBackward(BackwardCall &call)
{
    // grad * (exponent * self.pow(exponent - 1))
    Tensor self = call.unpack(0);
    Tensor power = compute(self, {}, self.dtype(), "aten.pow.Tensor_Scalar");
    Tensor scaled = compute(power, {}, self.dtype(), "aten.mul.Scalar");
    call.give(0, compute(call.grad, scaled, self.dtype(), "aten.mul.Tensor"));
}
constexpr Operator powOperator{"PowBackward0", powBackward};

/// A gradient from the result that was saved, or from the input: one kernel.
void fromSaved(BackwardCall &call, const char *op)
{
    Tensor saved = call.unpack(0);
    call.give(0, compute(call.grad, saved, saved.dtype(), op));
}
constexpr Operator tanhOperator{"TanhBackward0", [](BackwardCall &call) { fromSaved(call, "aten.tanh_backward.default"); }};
constexpr Operator sigmoidOperator{"SigmoidBackward0", [](BackwardCall &call) { fromSaved(call, "aten.sigmoid_backward.default"); }};
constexpr Operator reluOperator{"ReluBackward0", [](BackwardCall &call) { fromSaved(call, "aten.threshold_backward.default"); }};
constexpr Operator geluOperator{"GeluBackward0", [](BackwardCall &call) { fromSaved(call, "aten.gelu_backward.default"); }};

void rsqrtBackward(BackwardCall &call)
{
    // -0.5 * grad * result.pow(3)
    Tensor result = call.unpack(0);
    Tensor cubed = compute(result, {}, result.dtype(), "aten.pow.Tensor_Scalar");
    Tensor scaled = compute(cubed, {}, result.dtype(), "aten.mul.Scalar");
    call.give(0, compute(scaled, call.grad, result.dtype(), "aten.mul.Tensor"));
}
constexpr Operator rsqrtOperator{"RsqrtBackward0", rsqrtBackward};

void siluBackward(BackwardCall &call)
{
    Tensor self = call.unpack(0);
    call.give(0, compute(self, {}, self.dtype(), "aten.silu_backward.default"));
}
constexpr Operator siluOperator{"SiluBackward0", siluBackward};

void toCopyBackward(BackwardCall &call) { call.give(0, to(call.grad, static_cast<DType>(call.node.scalars[0]))); }
constexpr Operator toCopyOperator{"ToCopyBackward0", toCopyBackward};

void dropoutBackward(BackwardCall &call)
{
    Tensor mask = call.unpack(0);
    call.give(0, compute(call.grad, mask, call.grad.dtype(), "aten.native_dropout_backward.default"));
}
constexpr Operator dropoutOperator{"NativeDropoutBackward0", dropoutBackward};

Tensor simple(const Operator &op, const Tensor &a, const char *name)
{
    if (halted(a))
        return {};
    Tape &tape = *a->tape;
    Node *node = tape.record(op, {&a});
    Tensor out = compute(a, {}, a.dtype(), name);
    tape.attach(node, out);
    return out;
}

Tensor binary(const Operator &op, const Tensor &a, const Tensor &b, const char *name)
{
    if (halted(a) || !b)
        return {};
    Tape &tape = *a->tape;
    Node *node = tape.record(op, {&a, &b});
    Tensor out = compute(a, b, promote(a.dtype(), b.dtype()), name);
    tape.attach(node, out);
    return out;
}

Tensor savingInput(const Operator &op, const Tensor &a, const char *name)
{
    if (halted(a))
        return {};
    Tape &tape = *a->tape;
    Node *node = tape.record(op, {&a});
    tape.save(node, 0, a);
    if (tape.stopped())
        return {};
    Tensor out = compute(a, {}, a.dtype(), name);
    tape.attach(node, out);
    return out;
}

Tensor savingResult(const Operator &op, const Tensor &a, const char *name)
{
    if (halted(a))
        return {};
    Tape &tape = *a->tape;
    Node *node = tape.record(op, {&a});
    Tensor out = compute(a, {}, a.dtype(), name);
    tape.attach(node, out);
    tape.save(node, 0, out);
    return out;
}

} // namespace

Tensor add(const Tensor &a, const Tensor &b) { return binary(addOperator, a, b, "aten.add.Tensor"); }
Tensor addNumber(const Tensor &a) { return simple(addOperator, a, "aten.add.Tensor"); }

Tensor sub(const Tensor &a, const Tensor &b)
{
    static constexpr Operator op{"SubBackward0", [](BackwardCall &call) {
                                     if (call.needs(0))
                                         call.give(0, call.grad);
                                     if (call.needs(1))
                                         call.give(1, compute(call.grad, {}, call.grad.dtype(), "aten.neg.default"));
                                 }};
    return binary(op, a, b, "aten.sub.Tensor");
}

Tensor subNumber(const Tensor &a)
{
    static constexpr Operator op{"SubBackward0", [](BackwardCall &call) { call.give(0, call.grad); }};
    return simple(op, a, "aten.sub.Tensor");
}

void addInPlace(Tensor &a, const Tensor &b)
{
    if (halted(a) || !b)
        return a.reset();
    Tape &tape = *a->tape;
    if (Node *node = tape.record(addOperator, {&a, &b}))
        tape.rebase(node, a);
}

namespace {

void changeByNumber(const Operator &op, Tensor &a)
{
    if (halted(a))
        return a.reset();
    Tape &tape = *a->tape;
    if (Node *node = tape.record(op, {&a}))
        tape.rebase(node, a);
}

} // namespace

void mulNumberInPlace(Tensor &a) { changeByNumber(mulNumberOperator, a); }
void divNumberInPlace(Tensor &a) { changeByNumber(divNumberOperator, a); }

Tensor div(const Tensor &a, const Tensor &b)
{
    if (halted(a) || !b)
        return {};
    assert(!b.requiresGrad());
    static constexpr Operator op{"DivBackward0", [](BackwardCall &call) {
                                     const Tensor other = call.unpack(0);
                                     call.give(0, compute(call.grad, other, promote(call.grad.dtype(), other.dtype()), "aten.div.Tensor"));
                                 }};
    Tape &tape = *a->tape;
    Node *node = tape.record(op, {&a});
    if (node)
        tape.save(node, 0, b);
    if (tape.stopped())
        return {};
    Tensor out = compute(a, b, promote(a.dtype(), b.dtype()), "aten.div.Tensor");
    tape.attach(node, out);
    return out;
}

Tensor mul(const Tensor &a, const Tensor &b)
{
    if (halted(a) || !b)
        return {};
    Tape &tape = *a->tape;
    Node *node = tape.record(mulOperator, {&a, &b});
    if (b.requiresGrad())
        tape.save(node, 0, a);
    if (a.requiresGrad())
        tape.save(node, 1, b);
    if (tape.stopped())
        return {};
    Tensor out = compute(a, b, promote(a.dtype(), b.dtype()), "aten.mul.Tensor");
    tape.attach(node, out);
    return out;
}

Tensor mulNumber(const Tensor &a) { return simple(mulNumberOperator, a, "aten.mul.Tensor"); }
Tensor mulScalar(const Tensor &a) { return simple(mulScalarOperator, a, "aten.mul.Scalar"); }
Tensor divNumber(const Tensor &a) { return simple(divNumberOperator, a, "aten.div.Tensor"); }
Tensor neg(const Tensor &a) { return simple(negOperator, a, "aten.neg.default"); }
Tensor square(const Tensor &a) { return savingInput(powOperator, a, "aten.pow.Tensor_Scalar"); }
Tensor cube(const Tensor &a)
{
    // pow is on autocast's list of operators in fp32
    return savingInput(powOperator, !halted(a) && a->tape->autocast() ? to(a, DType::Float32) : a, "aten.pow.Tensor_Scalar");
}
Tensor silu(const Tensor &a) { return savingInput(siluOperator, a, "aten.silu.default"); }
Tensor gelu(const Tensor &a) { return savingInput(geluOperator, a, "aten.gelu.default"); }

Tensor rsqrt(const Tensor &a) { return savingResult(rsqrtOperator, a, "aten.rsqrt.default"); }
Tensor tanh(const Tensor &a) { return savingResult(tanhOperator, a, "aten.tanh.default"); }
Tensor sigmoid(const Tensor &a) { return savingResult(sigmoidOperator, a, "aten.sigmoid.default"); }
Tensor relu(const Tensor &a) { return savingResult(reluOperator, a, "aten.relu.default"); }

Tensor toCopy(const Tensor &a, DType dtype)
{
    if (halted(a))
        return {};
    Tape &tape = *a->tape;
    Node *node = tape.record(toCopyOperator, {&a});
    if (node)
        node->scalars[0] = static_cast<std::int64_t>(a.dtype());
    Tensor out = tape.make(a.sizes(), preservedStrides(a), dtype, "aten._to_copy.default");
    tape.attach(node, out);
    return out;
}

Tensor to(const Tensor &a, DType dtype) { return halted(a) || a.dtype() == dtype ? a : toCopy(a, dtype); }

Tensor dropout(const Tensor &a, double p)
{
    if (halted(a))
        return {};
    if (p == 0.0)
        return a;
    Tape &tape = *a->tape;
    Node *node = tape.record(dropoutOperator, {&a});
    Tensor out = compute(a, {}, a.dtype(), "aten.native_dropout.default");
    Tensor mask = compute(a, {}, DType::Bool, "aten.native_dropout.default");
    tape.attach(node, out);
    tape.save(node, 0, mask);
    return out;
}

Tensor unary(const Tensor &a, const char *op, std::optional<DType> dtype)
{
    return halted(a) ? Tensor() : compute(a, {}, dtype.value_or(a.dtype()), op);
}

} // namespace headroom::autograd
