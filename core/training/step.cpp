// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/training/step.h"

#include "core/network/causal_lm.h"
#include "core/plan/fields.h"
#include "core/training/optimizer.h"

#include <unordered_map>

namespace headroom::training {

using namespace autograd;
using network::CausalLm;
using network::CausalLmOutput;

namespace {

/// optimizer.in_backward: an optimizer for each parameter, stepping as soon as its gradient is there and dropping it
/// (register_post_accumulate_grad_hook).
class StepInBackward
{
public:
    StepInBackward(Tape &tape, const TrainingPlan &plan, const std::vector<Tensor> &parameters)
    {
        for (const Tensor &parameter : parameters)
            m_optimizers.emplace(parameter.impl(), makeOptimizer(tape, plan.optimizer));
        tape.afterAccumulate = [this](const Tensor &leaf) {
            const auto found = m_optimizers.find(leaf.impl());
            if (found == m_optimizers.end())
                return;
            found->second->step({leaf});
            zeroGrad({leaf}, ZeroGrad::ToNone);
        };
    }

private:
    std::unordered_map<TensorImpl *, std::unique_ptr<Optimizer>> m_optimizers;
};

} // namespace

TrainingRun run(const TrainingPlan &plan, const ModelConfig &config, int steps, std::int64_t workspaceBytes, std::stop_token cancel)
{
    const ResolvedPrecision precision = resolvePrecision(plan.precision);
    TrainingRun result;
    result.steps = steps;
    Tape tape;
    tape.setWorkspaceBytes(workspaceBytes);
    {
        network::NetworkOptions options;
        options.weights = precision.weights;
        options.attention = plan.attention;
        options.method = plan.method;
        options.checkpointing = plan.checkpointing;
        options.reentrant = plan.reentrantCheckpointing;
        CausalLm model(tape, config, options);
        result.parametersTotal = model.parameterCount();
        result.parametersTrainable = model.trainableCount();
        const std::vector<Tensor> &trainable = model.trainable();

        const Dims batchSizes{plan.batch.microBatch, plan.batch.sequenceLength};
        const Tensor inputIds = tape.empty(batchSizes, DType::Int64);
        const Tensor labels = tape.empty(batchSizes, DType::Int64);
        tape.setRole(inputIds, Role::Input);
        tape.setRole(labels, Role::Input);

        std::unique_ptr<Optimizer> optimizer;
        std::optional<StepInBackward> inBackward;
        if (plan.optimizer.inBackward)
            inBackward.emplace(tape, plan, trainable);
        else
            optimizer = makeOptimizer(tape, plan.optimizer);

        const std::int64_t accumulation = plan.batch.gradientAccumulation;
        for (int step = 0; step < steps; ++step) {
            // From the second micro-batch on gradients exist and every further one allocates the same; three show it
            // (tests/core/test_training.cpp proves them equal).
            const int micros = static_cast<int>(std::min<std::int64_t>(accumulation, 3));
            for (int micro = 0; micro < micros; ++micro) {
                if (cancel.stop_requested())
                    throw Cancelled{};
                tape.mark(TracePhase::Forward, step, micro);
                CausalLmOutput outputs;
                Tensor loss;
                {
                    Tape::Autocast autocast(tape, precision.autocast);
                    outputs = model.forward(inputIds, labels);
                    loss = outputs.loss;
                }
                if (!plan.loop.outputsHeld)
                    outputs = {};
                if (accumulation > 1)
                    loss = divNumber(loss);
                tape.mark(TracePhase::Backward, step, micro);
                tape.backward(loss);
            }
            tape.mark(TracePhase::Optimizer, step, 0);
            if (optimizer) {
                if (plan.loop.clipGradNorm)
                    clipGradNorm(tape, trainable);
                optimizer->step(trainable);
                zeroGrad(trainable, plan.loop.zeroGrad);
            }
            tape.mark(TracePhase::Idle, step, 0);
        }
        tape.afterAccumulate = nullptr;
        result.trace = tape.takeTrace();
    }
    return result;
}

} // namespace headroom::training
