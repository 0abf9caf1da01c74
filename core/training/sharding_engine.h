// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/tape.h"
#include "core/model/model_config.h"
#include "core/network/causal_lm.h"
#include "core/plan/training_plan.h"

#include <memory>

namespace headroom::training {

/// What wraps the model and the optimizer of one data-parallel rank: it decides where parameters, gradients and optimizer
/// state live, and what it allocates besides. It hooks into the tape (gradients that are ready) and into the modules
/// (before and after their forward and backward); the loop calls the rest.
class ShardingEngine
{
public:
    virtual ~ShardingEngine() = default;

    /// Brings the model from host memory to the engine's initial state on the device.
    virtual void load(network::CausalLm &model) = 0;
    /// engine.backward(loss). `last`: of the step's micro-batches, that after which the optimizer steps.
    virtual void backward(const autograd::Tensor &loss, bool last) = 0;
    /// engine.step() after the last micro-batch: norm, clipping, the optimizer, zero_grad.
    virtual void step() = 0;
};

/// The engine that the plan's step runs in, or null where PyTorch alone does. The recipes bf16-master and fp16-master
/// without an engine are DeepSpeed's ZeRO-0 on one rank.
bool hasShardingEngine(const TrainingPlan &plan);
std::unique_ptr<ShardingEngine> makeShardingEngine(autograd::Tape &tape, const TrainingPlan &plan, const ModelConfig &model);

} // namespace headroom::training
