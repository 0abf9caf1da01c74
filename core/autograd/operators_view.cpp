// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/autograd/operators.h"

#include <cassert>

namespace headroom::autograd {

namespace {

// Gradients of views are views of the gradient; only where its strides do not allow that is it copied (reshape).
void viewBackward(BackwardCall &call) { call.give(0, reshape(call.grad, call.node.sizes)); }
constexpr Operator viewOperator{"ViewBackward0", viewBackward};
constexpr Operator unsafeViewOperator{"UnsafeViewBackward0", viewBackward};

void transposeBackward(BackwardCall &call)
{
    call.give(0, transpose(call.grad, static_cast<int>(call.node.scalars[0]), static_cast<int>(call.node.scalars[1])));
}
constexpr Operator transposeOperator{"TransposeBackward0", transposeBackward};

void expandBackward(BackwardCall &call) { call.give(0, sumTo(std::move(call.grad), call.node.sizes)); }
constexpr Operator expandOperator{"ExpandBackward0", expandBackward};

// slice_backward: zeros of the input's size, the gradient copied into its place.
void sliceBackward(BackwardCall &call) { call.give(0, call.tape.empty(call.node.sizes, call.grad->dtype, "aten.slice_backward.default")); }
constexpr Operator sliceOperator{"SliceBackward0", sliceBackward};

// select_backward: zeros of the input's size, the gradient copied into its place.
void selectBackward(BackwardCall &call)
{
    call.give(0, call.tape.empty(call.node.sizes, call.grad->dtype, "aten.select_backward.default"));
}
constexpr Operator selectOperator{"SelectBackward0", selectBackward};

// alias: what Python's indexing makes of a slice that takes everything (python_variable_indexing.cpp: applySlicing).
void aliasBackward(BackwardCall &call) { call.give(0, std::move(call.grad)); }
constexpr Operator aliasOperator{"AliasBackward0", aliasBackward};

// split_backward: all pieces' gradients in one again.
void splitBackward(BackwardCall &call) { call.give(0, call.tape.empty(call.node.sizes, call.node.results[0].dtype, "aten.cat.default")); }
constexpr Operator splitOperator{"SplitBackward0", splitBackward};
constexpr Operator splitWithSizesOperator{"SplitWithSizesBackward0", splitBackward};

std::vector<Tensor> pieces(const Tensor &t, Node *node, const Dims &lengths)
{
    Tape &tape = *t->tape;
    Dims sizes = t.sizes();
    std::vector<Tensor> out;
    for (int i = 0; i < lengths.rank(); ++i) {
        sizes[sizes.rank() - 1] = lengths[i];
        Tensor piece = tape.view(t, sizes, t.strides());
        tape.attach(node, piece, static_cast<std::uint8_t>(i));
        out.push_back(std::move(piece));
    }
    return out;
}

void cloneBackward(BackwardCall &call) { call.give(0, std::move(call.grad)); }
constexpr Operator cloneOperator{"CloneBackward0", cloneBackward};

Tensor recordedView(const Operator &op, const Tensor &t, const Dims &sizes, const Dims &strides)
{
    Tape &tape = *t->tape;
    Node *node = tape.record(op, {&t});
    if (node)
        node->sizes = t.sizes();
    Tensor out = tape.view(t, sizes, strides);
    tape.attach(node, out);
    return out;
}

} // namespace

Tensor view(const Tensor &t, const Dims &sizes)
{
    if (halted(t))
        return {};
    Dims strides;
    [[maybe_unused]] const bool fits = viewStrides(t.sizes(), t.strides(), sizes, strides);
    assert(fits);
    return recordedView(viewOperator, t, sizes, strides);
}

Tensor reshape(const Tensor &t, const Dims &sizes)
{
    if (halted(t))
        return {};
    Dims strides;
    if (viewStrides(t.sizes(), t.strides(), sizes, strides))
        return recordedView(viewOperator, t, sizes, strides);
    // clone, then _unsafe_view: the result shares the copy's storage without being a view of it
    Tensor copy = clone(t, contiguousStrides(t.sizes()));
    Tape &tape = *t->tape;
    Node *node = tape.record(unsafeViewOperator, {&copy});
    if (node)
        node->sizes = copy.sizes();
    Tensor out = tape.detach(copy);
    out->sizes = sizes;
    out->strides = contiguousStrides(sizes);
    tape.attach(node, out);
    return out;
}

Tensor transpose(const Tensor &t, int a, int b)
{
    if (halted(t))
        return {};
    Dims sizes = t.sizes(), strides = t.strides();
    std::swap(sizes[a], sizes[b]);
    std::swap(strides[a], strides[b]);
    Tape &tape = *t->tape;
    Node *node = tape.record(transposeOperator, {&t});
    if (node)
        node->scalars = {a, b, 0, 0};
    Tensor out = tape.view(t, sizes, strides);
    tape.attach(node, out);
    return out;
}

Tensor transposed2d(const Tensor &t) { return transpose(t, 0, 1); }

Tensor unsqueeze(const Tensor &t, int dim)
{
    if (halted(t))
        return {};
    Dims sizes, strides;
    for (int i = 0; i <= t.rank(); ++i) {
        if (i == dim) {
            sizes.append(1);
            strides.append(i < t.rank() ? t.size(i) * t.strides()[i] : 1);
        }
        if (i < t.rank()) {
            sizes.append(t.size(i));
            strides.append(t.strides()[i]);
        }
    }
    return recordedView(viewOperator, t, sizes, strides);
}

Tensor expand(const Tensor &t, const Dims &sizes)
{
    if (halted(t))
        return {};
    Dims strides = sizes;
    const int offset = sizes.rank() - t.rank();
    for (int i = 0; i < sizes.rank(); ++i)
        strides[i] = i < offset || t.size(i - offset) != sizes[i] ? 0 : t.strides()[i - offset];
    return recordedView(expandOperator, t, sizes, strides);
}

Tensor sliceLast(const Tensor &t, std::int64_t, std::int64_t length)
{
    if (halted(t))
        return {};
    Dims sizes = t.sizes();
    sizes[sizes.rank() - 1] = length;
    return recordedView(length == t.size(-1) ? aliasOperator : sliceOperator, t, sizes, t.strides());
}

Tensor everySecond(const Tensor &t)
{
    if (halted(t))
        return {};
    Dims sizes = t.sizes(), strides = t.strides();
    sizes[sizes.rank() - 1] /= 2;
    strides[strides.rank() - 1] *= 2;
    return recordedView(sliceOperator, t, sizes, strides);
}

std::vector<Tensor> chunkLast(const Tensor &t, int count)
{
    if (halted(t))
        return std::vector<Tensor>(static_cast<std::size_t>(count));
    Tape &tape = *t->tape;
    Node *node = tape.record(splitOperator, {&t});
    if (node)
        node->sizes = t.sizes();
    Dims lengths;
    for (int i = 0; i < count; ++i)
        lengths.append(t.size(-1) / count);
    return pieces(t, node, lengths);
}

std::vector<Tensor> splitLast(const Tensor &t, const Dims &lengths)
{
    if (halted(t))
        return std::vector<Tensor>(static_cast<std::size_t>(lengths.rank()));
    Tape &tape = *t->tape;
    Node *node = tape.record(splitWithSizesOperator, {&t});
    if (node)
        node->sizes = t.sizes();
    return pieces(t, node, lengths);
}

Tensor sliceRows(const Tensor &t, std::int64_t length)
{
    if (halted(t))
        return {};
    Dims sizes = t.sizes();
    sizes[sizes.rank() - 2] = length;
    return recordedView(sliceOperator, t, sizes, t.strides());
}

Tensor selectRow(const Tensor &t)
{
    if (halted(t))
        return {};
    Dims sizes = t.sizes().leading().leading(), strides = t.strides().leading().leading();
    sizes.append(t.size(-1));
    strides.append(t.strides().back());
    return recordedView(selectOperator, t, sizes, strides);
}

Tensor clone(const Tensor &a, const Dims &strides)
{
    if (halted(a))
        return {};
    Tape &tape = *a->tape;
    Node *node = tape.record(cloneOperator, {&a});
    Tensor out = tape.make(a.sizes(), strides, a.dtype(), "aten.clone.default");
    tape.attach(node, out);
    return out;
}

Tensor contiguous(const Tensor &t)
{
    if (halted(t) || isContiguous(t.sizes(), t.strides()))
        return t;
    return clone(t, contiguousStrides(t.sizes()));
}

} // namespace headroom::autograd
