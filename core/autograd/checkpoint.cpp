// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Activation checkpointing as torch/utils/checkpoint.py does it (PyTorch 2.13).
#include "core/autograd/tape.h"

#include <cassert>

namespace headroom::autograd {

Tensor Tape::checkpoint(std::function<Tensor(const Tensor &)> block, const Tensor &input)
{
    auto *frame = new CheckpointFrame;
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

/// CheckpointFunction.backward: run the block on a detached input, then a backward of its own.
void checkpointFunctionBackward(BackwardCall &call)
{
    Tape &tape = call.tape;
    Tensor input = call.unpack(0);
    Tensor detached = tape.detach(input);
    detached->requiresGrad = call.needs(0);
    Tensor output;
    {
        Tape::NoGrad enableGrad(tape, true);
        output = call.node.block(detached);
    }
    tape.backward(output, call.grad);
    if (detached->grad)
        call.give(0, Tensor(detached->grad));
}

constexpr Operator checkpointFunction{"CheckpointFunctionBackward", checkpointFunctionBackward};

} // namespace

Tensor Tape::checkpointReentrant(std::function<Tensor(const Tensor &)> block, const Tensor &input)
{
    Node *node = record(checkpointFunction, {&input});
    save(node, 0, input);
    Tensor output;
    {
        NoGrad noGrad(*this);
        output = block(input);
    }
    if (node) {
        const std::optional<DType> autocast = this->autocast();
        node->block = [this, autocast, block = std::move(block)](const Tensor &again) {
            Autocast context(*this, autocast);
            return block(again);
        };
        attach(node, output);
    }
    return output;
}

} // namespace headroom::autograd
