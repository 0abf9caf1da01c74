// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Activation checkpointing as torch/utils/checkpoint.py does it (PyTorch 2.13).
#include "core/autograd/tape.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace headroom::autograd {

Tensor Tape::keptResult(const char *op)
{
    KeptResults *kept = m_recomputing ? &m_recomputing->kept : nullptr;
    if (!kept || !kept->policy || m_insideOperator || !kept->policy->considers(op))
        return {};
    assert(kept->taken < kept->results.size());
    return std::move(kept->results[kept->taken++]);
}

void Tape::offerResult(const char *op, const Tensor &result)
{
    KeptResults *kept = m_packing ? &m_packing->kept : nullptr;
    if (!kept || !kept->policy || m_insideOperator || !kept->policy->considers(op))
        return;
    const bool keeps = kept->policy->keeps(op, m_module);
    if (keeps && result->storage != noStorage)
        m_trace.storages[result->storage].kept = true;
    kept->results.push_back(keeps ? detach(result) : Tensor()); // _detach_helper
}

Tensor Tape::checkpoint(std::function<Tensor(const Tensor &)> block, const Tensor &input, std::unique_ptr<KeptResultPolicy> policy)
{
    auto *frame = new CheckpointFrame;
    frame->kept.policy = std::move(policy);
    frame->references = 1;
    frame->input = input;
    frame->module = m_module;
    frame->layer = m_layer;
    const std::optional<DType> autocast = this->autocast();
    frame->run = [this, autocast, block](const Tensor &again) {
        Autocast context(*this, autocast);
        block(again);
    };
    CheckpointFrame *outer = std::exchange(m_packing, frame);
    Tensor output;
    try {
        output = block(input);
    } catch (...) {
        m_packing = outer;
        dropFrame(frame);
        throw;
    }
    m_packing = outer;
    dropFrame(frame); // from here on the saved slots keep it
    return output;
}

void Tape::recompute(CheckpointFrame &frame)
{
    NoGrad enableGrad(*this, true);
    frame.tensors.resize(frame.savedCount);
    CheckpointFrame *outer = std::exchange(m_recomputing, &frame);
    const std::uint32_t outerCount = std::exchange(m_recomputedCount, 0);
    {
        Scope scope(*this, frame.module, frame.layer);
        RunningAgain again(*this);
        frame.run(frame.input);
    }
    assert(m_stopped);
    m_stopped = false;
    if (Node *node = std::exchange(m_unattached, nullptr)) {
        node->references = 1;
        dropNode(node);
    }
    m_recomputing = outer;
    m_recomputedCount = outerCount;
    frame.recomputed = true;
}

namespace {

constexpr std::size_t mostInputs = 4;

/// CheckpointFunction.backward: run the block on detached inputs, then a backward of its own.
void checkpointFunctionBackward(BackwardCall &call)
{
    Tape &tape = call.tape;
    std::array<Tensor, mostInputs> inputs, detached;
    const std::size_t count = call.node.edgeCount;
    // A Python function gets zeros for a result that no gradient came for (PyNode::apply: materialize_grads).
    const NodeResult &besides = call.node.results[1];
    if (call.node.scalars[0] != 0 && !call.grads[1])
        call.grads[1] = tape.empty(besides.sizes, besides.dtype, "aten.zeros.default");
    for (std::size_t i = 0; i < count; ++i)
        inputs[i] = call.unpack(static_cast<int>(i));
    for (std::size_t i = 0; i < count; ++i) {
        if (!inputs[i])
            continue;
        detached[i] = tape.detach(inputs[i]);
        detached[i]->requiresGrad = call.needs(static_cast<int>(i));
    }
    Tensor output, second;
    {
        Tape::NoGrad enableGrad(tape, true);
        Tape::RunningAgain again(tape);
        output = call.node.block(std::span(detached).first(count), second);
    }
    tape.backward(output, call.grad, second, call.grads[1]);
    for (std::size_t i = 0; i < count; ++i)
        if (detached[i] && detached[i]->grad)
            call.give(static_cast<int>(i), Tensor(detached[i]->grad));
}

constexpr Operator checkpointFunction{"CheckpointFunctionBackward", checkpointFunctionBackward};

} // namespace

Tensor Tape::checkpointReentrant(CheckpointedBlock block, std::initializer_list<Tensor> given, Tensor *besides)
{
    assert(given.size() <= mostInputs);
    std::array<Tensor, mostInputs> inputs;
    std::copy(given.begin(), given.end(), inputs.begin());
    Node *node = record(checkpointFunction, {&inputs[0], &inputs[1], &inputs[2], &inputs[3]});
    if (node)
        node->edgeCount = static_cast<std::uint8_t>(given.size());
    for (std::size_t i = 0; i < given.size(); ++i)
        save(node, static_cast<int>(i), inputs[i]);
    Tensor output, second;
    {
        NoGrad noGrad(*this);
        output = block(std::span(inputs).first(given.size()), second);
    }
    if (node) {
        const std::optional<DType> autocast = this->autocast();
        node->block = [this, autocast, block = std::move(block)](std::span<const Tensor> again, Tensor &more) {
            Autocast context(*this, autocast);
            return block(again, more);
        };
        attach(node, output);
        node->scalars[0] = second ? 1 : 0;
        if (second)
            attach(node, second, 1);
    }
    if (besides)
        *besides = std::move(second);
    return output;
}

Tensor Tape::checkpointReentrant(const std::function<Tensor(const Tensor &)> &block, const Tensor &input)
{
    return checkpointReentrant([block](std::span<const Tensor> inputs, Tensor &) { return block(inputs.front()); }, {input});
}

} // namespace headroom::autograd
