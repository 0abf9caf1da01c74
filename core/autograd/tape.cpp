// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/autograd/tape.h"

#include "core/units/cancelled.h"

#include <algorithm>
#include <cassert>

namespace headroom::autograd {

namespace {

constexpr StorageId storagesBetweenPolls = 256;

} // namespace

const char *const workspaceName = "cuBLAS workspace";

const Dims &Tensor::emptyDims()
{
    static const Dims none;
    return none;
}

void Tensor::destroy(TensorImpl *impl) { impl->tape->releaseTensor(impl); }

Tape::Tape() = default;

Tape::~Tape()
{
    // Where an exception ended a run, nodes may still hold tensors; they must go while all of this is alive.
    m_autocastCache.clear();
    m_nodes.forEach([this](Node &node) {
        releaseSaved(node);
        for (NodeResult &result : node.results)
            result.buffer.reset();
        node.context.reset();
    });
}

// ---------------------------------------------------------------------------------------------------------------------
// tensors and storages

TensorImpl *Tape::newImpl()
{
    if (!m_freeImpls.empty()) {
        TensorImpl *impl = m_freeImpls.back(); // as releaseTensor() left it
        m_freeImpls.pop_back();
        assert(!impl->accumulator && !impl->base && !impl->grad && !impl->gradFunction);
        return impl;
    }
    TensorImpl &impl = m_impls.add();
    impl.tape = this;
    return &impl;
}

StorageId Tape::allocateStorage(std::int64_t bytes, const char *op, std::uint8_t stream)
{
    const auto id = static_cast<StorageId>(m_trace.storages.size());
    if (id % storagesBetweenPolls == 0)
        throwIfCancelled(m_cancel);
    StorageRecord &record = m_trace.storages.emplace_back();
    record.bytes = bytes;
    record.op = op;
    record.module = m_module;
    record.layer = m_layer;
    record.phase = m_phase;
    record.stream = stream ? stream : m_stream;
    record.recomputed = m_phase == TracePhase::Backward && m_gradEnabled;
    m_storageReferences.push_back(1);
    m_trace.events.push_back({id, 0});
    return id;
}

void Tape::freeStorage(StorageId storage) { releaseStorageReference(storage); }

void Tape::releaseStorageReference(StorageId storage)
{
    if (storage != noStorage && --m_storageReferences[storage] == 0)
        m_trace.events.push_back({storage, 1});
}

Tensor Tape::make(const Dims &sizes, const Dims &strides, DType dtype, const char *op)
{
    // Up to the last element: as large as the elements where the layout is dense (ATen/EmptyTensor.cpp: computeStorageNbytes).
    std::int64_t extent = sizes.elements() == 0 ? 0 : 1;
    for (int i = 0; i < sizes.rank() && extent > 0; ++i)
        extent = checkedAdd(extent, checkedMultiply(sizes[i] - 1, strides[i]));
    const std::int64_t bytes = checkedMultiply(extent, elementSize(dtype));
    Tensor kept = keptResult(op);
    m_lastWasKept = kept.defined();
    if (m_lastWasKept)
        return kept;
    TensorImpl *impl = newImpl();
    impl->sizes = sizes;
    impl->strides = strides;
    impl->dtype = dtype;
    if (bytes > 0 && !m_onHost) {
        impl->storage = allocateStorage(bytes, op);
        StorageRecord &record = m_trace.storages[impl->storage];
        record.shape = sizes;
        record.dtype = dtype;
    }
    Tensor made(impl);
    offerResult(op, made);
    return made;
}

void Tape::setData(const Tensor &tensor, const Tensor &value)
{
    const StorageId storage = value ? value->storage : noStorage;
    if (storage != noStorage)
        ++m_storageReferences[storage];
    releaseStorageReference(std::exchange(tensor->storage, storage));
}

Tensor Tape::view(const Tensor &tensor, const Dims &sizes, const Dims &strides)
{
    TensorImpl *impl = newImpl();
    impl->sizes = sizes;
    impl->strides = strides;
    impl->dtype = tensor->dtype;
    impl->storage = tensor->storage;
    if (impl->storage != noStorage)
        ++m_storageReferences[impl->storage];
    impl->base = tensor->base ? tensor->base : tensor.impl();
    ++impl->base->references;
    return Tensor(impl);
}

Tensor Tape::detach(const Tensor &tensor)
{
    TensorImpl *impl = newImpl();
    impl->sizes = tensor->sizes;
    impl->strides = tensor->strides;
    impl->dtype = tensor->dtype;
    impl->storage = tensor->storage;
    if (impl->storage != noStorage)
        ++m_storageReferences[impl->storage];
    return Tensor(impl);
}

void Tape::releaseTensor(TensorImpl *impl)
{
    releaseStorageReference(impl->storage);
    TensorImpl *base = impl->base, *grad = impl->grad;
    Node *function = impl->gradFunction;
    assert(!impl->accumulator && impl->references == 0);
    impl->storage = noStorage;
    impl->base = impl->grad = nullptr;
    impl->gradFunction = nullptr;
    impl->requiresGrad = false;
    impl->outputIndex = 0;
    m_freeImpls.push_back(impl); // whoever takes it gives it sizes, strides and a dtype
    if (base && --base->references == 0)
        releaseTensor(base);
    if (grad && --grad->references == 0)
        releaseTensor(grad);
    if (function)
        dropNode(function);
}

// ---------------------------------------------------------------------------------------------------------------------
// recording

Node *Tape::newNode()
{
    Node *node = nullptr;
    if (!m_freeNodes.empty()) {
        node = m_freeNodes.back();
        m_freeNodes.pop_back();
    } else {
        node = &m_nodes.add();
        node->tape = this;
    }
    node->sequence = m_sequence++;
    node->module = m_module;
    node->layer = m_layer;
    return node;
}

Node *Tape::accumulatorOf(TensorImpl *leaf)
{
    static constexpr Operator accumulateGrad{"AccumulateGrad", nullptr};
    if (!leaf->accumulator) {
        Node *node = newNode();
        node->op = &accumulateGrad;
        node->sequence = UINT64_MAX;
        node->variable = leaf;
        node->results[0].sizes = leaf->sizes;
        node->results[0].dtype = leaf->dtype;
        leaf->accumulator = node;
        ++leaf->references; // the accumulator keeps its leaf; the leaf does not keep the accumulator
    }
    return leaf->accumulator;
}

Node *Tape::record(const Operator &op, std::initializer_list<const Tensor *> inputs)
{
    if (!m_gradEnabled || std::none_of(inputs.begin(), inputs.end(), [](const Tensor *t) { return t->requiresGrad(); }))
        return nullptr;
    Node *node = newNode();
    node->op = &op;
    assert(inputs.size() <= Node::maxEdges);
    for (const Tensor *input : inputs) {
        Edge &edge = node->edges[node->edgeCount++];
        if (!input->requiresGrad())
            continue;
        edge.node = (*input)->gradFunction ? (*input)->gradFunction : accumulatorOf(input->impl());
        edge.input = (*input)->outputIndex;
        ++edge.node->references;
    }
    return node;
}

void Tape::save(Node *node, int slot, const Tensor &tensor)
{
    if (!node || m_stopped || !tensor)
        return;
    SavedSlot &saved = node->saved[static_cast<std::size_t>(slot)];
    node->savedCount = std::max<std::uint8_t>(node->savedCount, static_cast<std::uint8_t>(slot + 1));
    if (m_recomputing) {
        CheckpointFrame &frame = *m_recomputing;
        const std::uint32_t index = m_recomputedCount++;
        // A view requires a gradient where its base does, even if no gradients were recorded (variable.h: DifferentiableViewMeta).
        const bool requiresGrad = tensor.requiresGrad() || (tensor->base && tensor->base->requiresGrad);
        Tensor kept = requiresGrad ? detach(tensor) : tensor;
        if (frame.wanted[index])
            frame.tensors[index] = kept;
        saved.tensor = std::move(kept);
        m_stopped = m_recomputedCount == frame.savedCount;
        if (m_stopped && node->references == 0)
            m_unattached = node; // its operator will not get as far as a result that could own it
    } else if (m_packing) {
        saved.frame = m_packing;
        saved.index = m_packing->savedCount++;
        m_packing->wanted.push_back(true);
        ++m_packing->references;
    } else {
        saved.tensor = tensor.impl()->gradFunction == node ? detach(tensor) : tensor; // an own output would be a cycle
    }
}

void Tape::attach(Node *node, Tensor &output, std::uint8_t index)
{
    if (!node)
        return;
    output->gradFunction = node;
    output->outputIndex = index;
    output->requiresGrad = true;
    ++node->references;
    node->results[index].sizes = output->sizes;
    node->results[index].dtype = output->dtype;
}

void Tape::rebase(Node *node, Tensor &tensor)
{
    Node *before = std::exchange(tensor->gradFunction, nullptr);
    attach(node, tensor);
    if (before)
        dropNode(before);
}

void Tape::dropFrame(CheckpointFrame *frame)
{
    if (--frame->references == 0)
        delete frame;
}

void Tape::releaseSaved(Node &node)
{
    for (std::size_t i = 0; i < node.savedCount; ++i) {
        SavedSlot &slot = node.saved[i];
        slot.tensor.reset();
        if (CheckpointFrame *frame = std::exchange(slot.frame, nullptr)) {
            frame->wanted[slot.index] = false;
            if (frame->recomputed)
                frame->tensors[slot.index].reset();
            dropFrame(frame);
        }
    }
    node.savedCount = 0;
}

void Tape::dropNode(Node *node)
{
    assert(node->references > 0);
    if (--node->references > 0)
        return;
    // The latest first, so that what a graph's death releases goes layer by layer; nobody else sees the order.
    const auto earlier = [](const Node *a, const Node *b) { return a->sequence < b->sequence; };
    const auto dies = [&](Node *dead) {
        m_dying.push_back(dead);
        std::push_heap(m_dying.begin(), m_dying.end(), earlier);
    };
    dies(node);
    if (m_releasing)
        return;
    m_releasing = true;
    while (!m_dying.empty()) {
        std::pop_heap(m_dying.begin(), m_dying.end(), earlier);
        Node *dead = m_dying.back();
        m_dying.pop_back();
        releaseSaved(*dead);
        for (NodeResult &result : dead->results)
            result.buffer.reset();
        for (std::size_t i = 0; i < dead->edgeCount; ++i)
            if (Node *next = std::exchange(dead->edges[i].node, nullptr))
                if (--next->references == 0)
                    dies(next);
        dead->edgeCount = 0;
        dead->block = nullptr; // a Python function's context, unlike what it saved, lives as long as its node
        dead->context.reset();
        if (TensorImpl *leaf = std::exchange(dead->variable, nullptr)) {
            leaf->accumulator = nullptr;
            if (--leaf->references == 0)
                releaseTensor(leaf);
        }
        dead->epoch = 0;
        m_freeNodes.push_back(dead);
    }
    m_releasing = false;
}

// ---------------------------------------------------------------------------------------------------------------------
// modes

Tape::Autocast::Autocast(Tape &tape, std::optional<DType> dtype)
    : m_tape(tape)
    , m_active(dtype.has_value())
    , m_before(tape.m_autocastDtype)
{
    if (m_active) {
        tape.m_autocastDtype = dtype;
        ++tape.m_autocastDepth;
    }
}

Tape::Autocast::~Autocast()
{
    if (!m_active)
        return;
    m_tape.m_autocastDtype = m_before;
    if (--m_tape.m_autocastDepth == 0)
        m_tape.clearAutocastCache();
}

void Tape::clearAutocastCache() { m_autocastCache.clear(); }

void Tape::useBlas()
{
    StorageId &workspace = m_workspaces[m_phase == TracePhase::Backward ? 1 : 0];
    if (m_workspaceBytes == 0 || workspace != noStorage)
        return;
    const char *module = std::exchange(m_module, "cuBLAS");
    const std::int16_t layer = std::exchange(m_layer, static_cast<std::int16_t>(-1));
    workspace = allocateStorage(m_workspaceBytes, workspaceName);
    m_trace.storages[workspace].role = Role::EngineBuffer;
    m_module = module;
    m_layer = layer;
}

void Tape::mark(TracePhase phase)
{
    const Mark last = m_trace.marks.empty() ? Mark{} : m_trace.marks.back();
    mark(phase, last.step, last.microBatch);
}

void Tape::mark(TracePhase phase, int step, int microBatch)
{
    m_phase = phase;
    if (phase == TracePhase::Forward) {
        m_flops.forward.clear();
        m_flops.again.clear();
    }
    m_trace.marks.push_back({static_cast<std::uint32_t>(m_trace.events.size()), phase, static_cast<std::int16_t>(step), microBatch});
}

} // namespace headroom::autograd
