// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/training/deepspeed_common.h"

namespace headroom::training::deepspeed {

/// ZeRO stage 0 (deepspeed/runtime/fp16/unfused_optimizer.py, engine.py): nothing is sharded. Each 16-bit parameter has an
/// fp32 master copy with moments of its own, made when the engine starts; after the last micro-batch all gradients are
/// copied into one buffer and reduced, on one rank too.
class ZeroStage0 : public ShardingEngine
{
public:
    ZeroStage0(Tape &tape, const Options &options)
        : m_tape(tape)
        , m_options(options)
    {}

    void load(network::CausalLm &model) override;
    void backward(const Tensor &loss, bool last) override;
    void step() override;

private:
    struct Group {
        std::vector<Tensor> parameters, masters;
    };

    void reduceGradients();
    void checkGroup(const Group &group);
    void dropGradients();
    std::vector<Tensor> allMasters() const;

    Tape &m_tape;
    Options m_options;
    std::vector<Tensor> m_trainable; ///< in the order of model.parameters()
    std::vector<Group> m_groups;
    std::unique_ptr<Optimizer> m_optimizer;
};

} // namespace headroom::training::deepspeed
