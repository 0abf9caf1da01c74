// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The autograd engine: torch/csrc/autograd/engine.cpp, input_buffer.cpp, functions/accumulate_grad.h (PyTorch 2.13).
#include "core/autograd/tape.h"

#include "core/autograd/operators.h"

#include <algorithm>
#include <cassert>

namespace headroom::autograd {

namespace {

bool runsBefore(const Node *a, const Node *b)
{
    return a->sequence < b->sequence; // a heap of the highest sequence number; AccumulateGrad has the highest there is
}

/// Whether the buffer holds the last reference to this gradient, so that the next one may be added into it
/// (input_buffer.cpp: can_accumulate_inplace). A view never qualifies: its base shares the storage.
bool ownsAlone(const Tensor &gradient, std::uint32_t storageReferences)
{
    return gradient->references == 1 && storageReferences == 1 && isDense(gradient->sizes, gradient->strides);
}

bool hasGradient(const Node &node)
{
    return std::any_of(node.results.begin(), node.results.end(), [](const NodeResult &result) { return result.buffer.defined(); });
}

} // namespace

Tensor BackwardCall::unpack(int slot) { return tape.unpack(node, slot); }

Tensor Tape::unpack(Node &node, int slot)
{
    SavedSlot &saved = node.saved[static_cast<std::size_t>(slot)];
    if (!saved.frame)
        return saved.tensor;
    if (!saved.frame->recomputed)
        recompute(*saved.frame);
    return std::move(saved.frame->tensors[saved.index]);
}

/// Brings a gradient to the sizes and dtype of what it belongs to (engine.cpp: validate_outputs).
void Tape::fit(Tensor &gradient, const Edge &edge)
{
    const NodeResult &target = edge.node->results[edge.input];
    if (!(gradient->sizes == target.sizes))
        gradient = sumTo(std::move(gradient), target.sizes);
    if (gradient->dtype != target.dtype)
        gradient = toCopy(gradient, target.dtype);
}

namespace {

/// Whether a gradient lies as its leaf does. A dimension of one element may have any stride but 0, which a view would have.
bool sameStrides(const TensorImpl &gradient, const TensorImpl &leaf)
{
    for (int i = 0; i < gradient.sizes.rank(); ++i)
        if (gradient.sizes[i] == 1 ? gradient.strides[i] == 0 : gradient.strides[i] != leaf.strides[i])
            return false;
    return true;
}

} // namespace

void Tape::evaluate(Node *node, std::vector<Node *> &ready)
{
    if (node->variable) { // AccumulateGrad
        Tensor gradient = std::move(node->results[0].buffer);
        TensorImpl *leaf = node->variable;
        ParameterScope scope(*this, Tensor(leaf));
        if (leaf->grad) {
            gradient.reset(); // added into .grad in place
        } else {
            // Stolen where nobody else holds it and its layout is the leaf's, or, of a leaf that is no dense tensor,
            // contiguous; else cloned (utils/grad_layout_contract.h: obeys_layout_contract, clone_obey_contract).
            const bool dense = isDense(leaf->sizes, leaf->strides);
            const bool obeys = dense ? sameStrides(*gradient.impl(), *leaf) : isContiguous(gradient->sizes, gradient->strides);
            if (!(obeys && gradient->references == 1))
                gradient = dense ? make(gradient->sizes, leaf->strides, gradient->dtype, "aten.new_empty_strided.default")
                                 : make(gradient->sizes, contiguousStrides(gradient->sizes), gradient->dtype, "aten.clone.default");
            Tensor own = detach(gradient);
            gradient.reset();
            setRole(own, Role::Gradient);
            leaf->grad = own.impl();
            ++leaf->grad->references;
        }
        if (afterAccumulate)
            afterAccumulate(Tensor(leaf));
        return;
    }

    BackwardCall call(*this, *node);
    const char *module = std::exchange(m_module, node->module);
    const std::int16_t layer = std::exchange(m_layer, node->layer);
    node->op->backward(call);
    for (std::size_t i = 0; i < node->edgeCount; ++i)
        if (node->edges[i].node && call.outputs[i])
            fit(call.outputs[i], node->edges[i]);
    for (Tensor &gradient : call.grads)
        gradient.reset();
    releaseSaved(*node);

    for (std::size_t i = 0; i < node->edgeCount; ++i) {
        Node *next = node->edges[i].node;
        if (!next)
            continue;
        Tensor &output = call.outputs[i];
        if (output) {
            Tensor &buffer = next->results[node->edges[i].input].buffer;
            if (!buffer) {
                buffer = std::move(output);
            } else if (ownsAlone(buffer, storageReferences(buffer->storage))) {
                output.reset(); // old.add_(new)
            } else {
                buffer = add(buffer, output);
                output.reset();
            }
        }
        assert(next->dependencies > 0);
        if (--next->dependencies == 0 && hasGradient(*next)) {
            ready.push_back(next);
            std::push_heap(ready.begin(), ready.end(), runsBefore);
        }
    }
    m_module = module;
    m_layer = layer;
}

void Tape::backward(const Tensor &root, const Tensor &gradient, const Tensor &second, const Tensor &secondGradient)
{
    assert(root.requiresGrad());
    NoGrad noGrad(*this);
    const bool within = std::exchange(m_inBackward, true);
    // _make_grads: the root's own gradient lives until backward returns.
    Tensor rootGradient = gradient ? gradient : empty(root.sizes(), root.dtype(), "aten.ones_like.default");

    Node *start = root->gradFunction;
    const std::uint32_t epoch = ++m_epoch;
    std::vector<Node *> pending{start};
    start->epoch = epoch;
    start->dependencies = 0;
    while (!pending.empty()) { // compute_dependencies
        Node *node = pending.back();
        pending.pop_back();
        for (std::size_t i = 0; i < node->edgeCount; ++i) {
            Node *next = node->edges[i].node;
            if (!next)
                continue;
            if (next->epoch != epoch) {
                next->epoch = epoch;
                next->dependencies = 0;
                pending.push_back(next);
            }
            ++next->dependencies;
        }
    }

    start->results[root->outputIndex].buffer = rootGradient;
    if (second.requiresGrad()) {
        assert(second->gradFunction->epoch == epoch);
        second->gradFunction->results[second->outputIndex].buffer = secondGradient;
    }
    std::vector<Node *> ready{start};
    while (!ready.empty()) {
        std::pop_heap(ready.begin(), ready.end(), runsBefore);
        Node *node = ready.back();
        ready.pop_back();
        evaluate(node, ready);
    }
    m_inBackward = within;
}

} // namespace headroom::autograd
