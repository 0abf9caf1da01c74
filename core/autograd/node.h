// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/tensor.h"

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace headroom::autograd {

class BackwardCall;
struct Node;

/// A block under checkpointing, called with its tensor arguments. `besides`: what it returns besides its output, if anything.
using CheckpointedBlock = std::function<Tensor(std::span<const Tensor> inputs, Tensor &besides)>;

/// What all nodes of one kind share: PyTorch's name and the gradient formula.
struct Operator {
    const char *name;                     ///< "MulBackward0"
    void (*backward)(BackwardCall &call); ///< torch/csrc/autograd/FunctionsManual.cpp, tools/autograd/derivatives.yaml
};

/// Where a gradient goes: it belongs to result `input` of `node`'s forward.
struct Edge {
    Node *node = nullptr;
    std::uint8_t input = 0;
};

/// What a node knows of a tensor that its operator returned, and the gradient that comes in for it.
struct NodeResult {
    Dims sizes; ///< incoming gradients are fitted to these
    DType dtype = DType::Float32;
    Tensor buffer; ///< InputBuffer: the gradients summed up so far, while a backward runs
};

/// Which operators' results selective checkpointing keeps (torch/utils/checkpoint.py: the policy_fn that
/// create_selective_checkpoint_contexts takes). One for each call of a checkpointed block: it may count.
class KeptResultPolicy
{
public:
    virtual ~KeptResultPolicy() = default;
    /// Whether results of this operator, by PyTorch's name ("aten.mm.default"), may be kept at all.
    virtual bool considers(std::string_view op) const = 0;
    /// Whether this one is; asked once for each, in the order in which the block runs.
    virtual bool keeps(std::string_view op, std::string_view module) = 0;
};

/// What selective checkpointing keeps of a block (_CachingTorchDispatchMode): a place for each result that its policy
/// considers, undefined where it is to be computed again. The recomputation takes them out in the same order
/// (_CachedTorchDispatchMode); what an early stop leaves is kept as long as the frame.
struct KeptResults {
    std::unique_ptr<KeptResultPolicy> policy;
    std::vector<Tensor> results;
    std::size_t taken = 0;
};

/// A block run under non-reentrant checkpointing (torch/utils/checkpoint.py: _CheckpointFrame). It keeps the block's
/// input and counts what the block saves; the first request for any of it runs the block again and keeps all that it
/// saves. Alive as long as a saved slot refers to it.
struct CheckpointFrame {
    std::uint32_t references = 0;
    std::function<void(const Tensor &)> run; ///< the block; its output is dropped
    Tensor input;
    std::uint32_t savedCount = 0;
    std::vector<bool> wanted; ///< by order of saving: the slot that asked for it still exists
    bool recomputed = false;
    KeptResults kept;            ///< without a policy nothing is
    std::vector<Tensor> tensors; ///< by order of saving; empty until recomputed, each taken out on request
    const char *module = "";
    std::int16_t layer = -1;
};

/// A SavedVariable: the tensor itself, or a place in a checkpoint frame.
struct SavedSlot {
    Tensor tensor;
    CheckpointFrame *frame = nullptr;
    std::uint32_t index = 0;
};

/// A node of the backward graph (torch/csrc/autograd/function.h). Reference-counted: by the tensors whose gradFunction
/// it is and by the edges that lead to it.
struct Node {
    static constexpr std::size_t maxEdges = 4, maxSaved = 11, maxResults = 3;

    const Operator *op = nullptr;
    Tape *tape = nullptr;
    std::uint64_t sequence = 0; ///< order of creation; AccumulateGrad: the highest there is
    std::uint32_t references = 0;
    std::uint8_t edgeCount = 0;
    std::uint8_t savedCount = 0;
    std::array<Edge, maxEdges> edges;
    std::array<SavedSlot, maxSaved> saved;
    std::array<std::int64_t, 4> scalars{}; ///< what the formula needs besides tensors (a dimension, a size, a flag)
    Dims sizes;                            ///< sizes of an input, where the formula needs them
    Dims strides;
    std::array<NodeResult, maxResults> results;
    const char *module = "";
    std::int16_t layer = -1;
    TensorImpl *variable = nullptr;      ///< AccumulateGrad: the leaf, kept alive; null for all other nodes
    CheckpointedBlock block;             ///< CheckpointFunction: the block to run again
    std::shared_ptr<const void> context; ///< a Python function's ctx: what it keeps besides saved tensors, as long as the node lives

    // while a backward runs
    std::uint32_t dependencies = 0;
    std::uint32_t epoch = 0;
};

/// One call of a node's formula: the gradients that came in, the saved tensors, and the gradients to hand on.
class BackwardCall
{
public:
    /// Takes the gradients out of the node's buffers.
    BackwardCall(Tape &onTape, Node &ofNode)
        : tape(onTape)
        , node(ofNode)
        , grads{std::move(ofNode.results[0].buffer), std::move(ofNode.results[1].buffer), std::move(ofNode.results[2].buffer)}
        , grad(grads[0])
    {
        static_assert(Node::maxResults == 3);
    }

    /// SavedVariable::unpack(): under checkpointing the first call runs the block again.
    Tensor unpack(int slot);
    /// Whether input `i` of the forward needs a gradient.
    bool needs(int i) const { return node.edges[static_cast<std::size_t>(i)].node != nullptr; }
    void give(int i, Tensor gradient) { outputs[static_cast<std::size_t>(i)] = std::move(gradient); }

    Tape &tape;
    Node &node;
    std::array<Tensor, Node::maxResults> grads; ///< by result; undefined where none came
    Tensor &grad;                               ///< the first, which is the only one for most operators
    std::array<Tensor, Node::maxEdges> outputs;
};

} // namespace headroom::autograd
