// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/training/step.h"

#include "core/network/causal_lm.h"
#include "core/plan/fields.h"
#include "core/training/layer_repeat.h"
#include "core/training/optimizer.h"
#include "core/training/sharding_engine.h"
#include "core/training/step_repeat.h"

#include <algorithm>
#include <numeric>
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
            if (auto optimizer = makeOptimizer(tape, plan.optimizer); optimizer->takes(parameter))
                m_optimizers.emplace(parameter.impl(), std::move(optimizer));
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

double sum(const FlopsByLayer::Counts &counts) { return std::accumulate(counts.layers.begin(), counts.layers.end(), 0.0); }

/// Of the group of layers that stands for those between, as repeatLayers() takes it.
double ofMiddleGroup(const FlopsByLayer::Counts &counts, int executed, std::int64_t period)
{
    double flops = 0;
    for (std::int64_t i = middleLayer(executed) * period; i < (middleLayer(executed) + 1) * period; ++i)
        flops += static_cast<std::size_t>(i + 1) < counts.layers.size() ? counts.layers[static_cast<std::size_t>(i + 1)] : 0;
    return flops;
}

/// The run as it is: every layer, `steps` steps, `micros` micro-batches each.
/// `standsFor`: layers of the model that this one, with fewer, is executed for. `laterMicros`: of all steps but the first.
TrainingRun execute(const TrainingPlan &plan, const ModelConfig &config, std::int64_t standsFor, int steps, int micros, int laterMicros,
                    std::int64_t workspaceBytes, const std::stop_token &cancel)
{
    const ResolvedPrecision precision = resolvePrecision(plan.precision);
    TrainingRun result;
    result.steps = steps;
    Tape tape;
    tape.setWorkspaceBytes(workspaceBytes);
    tape.setCancel(cancel);

    network::NetworkOptions options;
    options.weights = precision.weights;
    options.attention = plan.attention;
    options.method = plan.method;
    options.checkpointing = plan.checkpointing;
    options.selective = plan.selective;
    options.reentrant = plan.reentrantCheckpointing;
    options.transformers = transformersVersion(plan);
    options.compute = precision.autocast.value_or(precision.weights);
    options.gpu = kernelGpu(plan);
    options.loss = plan.loss;
    options.kernels = plan.kernels;
    const std::unique_ptr<ShardingEngine> engine = makeShardingEngine(tape, plan, config);
    if (engine)
        options.method.adapterDtype = precision.weights; // DeepSpeed casts the whole model
    CausalLm model = [&] {
        std::optional<Tape::OnHost> host;
        if (engine)
            host.emplace(tape);
        return CausalLm(tape, config, options);
    }();
    if (engine)
        engine->load(model);
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
    if (!engine && plan.optimizer.inBackward)
        inBackward.emplace(tape, plan, trainable);
    else if (!engine)
        optimizer = makeOptimizer(tape, plan.optimizer);

    std::vector<Tensor> stepped;
    if (optimizer)
        std::copy_if(trainable.begin(), trainable.end(), std::back_inserter(stepped), [&](const Tensor &t) { return optimizer->takes(t); });

    const auto hostBytes = [&](const Tensor &parameter) {
        return !engine && parameter.requiresGrad() ? pagedStateBytes(plan.optimizer.kind, parameter.sizes().elements()) : 0;
    };
    // What one layer counts for, where the run stands for a deeper model's.
    std::vector<std::int64_t> counts; // of trainable tensors: how many of the deeper model's each stands for
    int layer = -1;
    for (std::size_t i = 0; i < model.parameters().size(); ++i) {
        const Tensor &parameter = model.parameters()[i];
        if (parameter->storage != noStorage) // what has no elements stands among its layer's other parameters
            layer = tape.trace().storages[parameter->storage].layer;
        if (!engine && layer == 1) {
            const std::int64_t elements = model.parameterElements()[i];
            result.layerTotal += elements;
            result.layerTrainable += parameter.requiresGrad() ? elements : 0;
            result.layerHostBytes += hostBytes(parameter);
        }
        if (parameter.requiresGrad())
            counts.push_back(!engine && layer == 1 ? 1 + standsFor - config.layers : 1);
        result.hostBytes = checkedAdd(result.hostBytes, hostBytes(parameter));
    }

    for (int step = 0; step < steps; ++step) {
        const int now = step == 0 ? micros : laterMicros;
        for (int micro = 0; micro < now; ++micro) {
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
            if (!engine && plan.batch.gradientAccumulation > 1)
                loss = divNumber(loss);
            tape.mark(TracePhase::Backward, step, micro);
            if (engine)
                engine->backward(loss, micro == now - 1);
            else
                tape.backward(loss);
        }
        tape.mark(TracePhase::Optimizer, step, 0);
        if (engine) {
            engine->step();
        } else if (optimizer) {
            if (plan.loop.clipGradNorm)
                clipGradNorm(tape, trainable, counts, plan.runtime.allocator != AllocatorKind::Rounded);
            optimizer->step(trainable);
            zeroGrad(stepped, plan.loop.zeroGrad);
        }
        tape.mark(TracePhase::Idle, step, 0);
    }
    tape.afterAccumulate = nullptr;
    result.flops = tape.flops();
    result.flopsForward = sum(result.flops.forward);
    result.flopsAgain = sum(result.flops.again);
    result.trace = tape.takeTrace();
    return result;
}

/// After how many layers they repeat: with every n-th checkpointed, after n; where that is the first layer alone, the others
/// are all alike.
std::int64_t layerPeriod(const TrainingPlan &plan, std::int64_t layers)
{
    const std::int64_t every = plan.checkpointing == Checkpointing::Selective ? plan.selective.every.value_or(1) : 1;
    return every < layers ? every : 1;
}

/// A deeper model's run from that of one with so many groups of layers; nothing where that is not proven to be the same.
std::optional<TrainingRun> executeSomeLayers(const TrainingPlan &plan, const ModelConfig &config, int groups, int steps, int micros,
                                             std::int64_t workspaceBytes, const std::stop_token &cancel)
{
    // A sharding engine's flat buffers hold all layers: their sizes are the whole model's.
    const bool flat = plan.parallel.engine != Engine::None || resolvePrecision(plan.precision).master;
    const std::int64_t period = layerPeriod(plan, config.layers), executed = groups * period + config.layers % period;
    if (hasShardingEngine(plan) || config.layers <= executed || !config.uniformLayers() || flat)
        return std::nullopt;
    TrainingRun run = execute(plan, config.withLayers(executed), config.layers, steps, micros, micros, workspaceBytes, cancel);
    std::optional<Trace> trace = repeatLayers(run.trace, groups, static_cast<int>(config.layers), static_cast<int>(period));
    if (!trace)
        return std::nullopt;
    const std::int64_t more = config.layers - executed;
    run.trace = std::move(*trace);
    const auto moreGroups = static_cast<double>(more / period);
    run.flopsForward += moreGroups * ofMiddleGroup(run.flops.forward, groups, period);
    run.flopsAgain += moreGroups * ofMiddleGroup(run.flops.again, groups, period);
    run.executedGroups = groups;
    run.parametersTotal = checkedAdd(run.parametersTotal, checkedMultiply(more, run.layerTotal));
    run.parametersTrainable = checkedAdd(run.parametersTrainable, checkedMultiply(more, run.layerTrainable));
    run.hostBytes = checkedAdd(run.hostBytes, checkedMultiply(more, run.layerHostBytes));
    return run;
}

/// Under ZeRO-3 every micro-batch is alike from the third on, over steps: then one of the second step is executed and the others
/// are copied. Nothing where that is not proven to be the same.
std::optional<TrainingRun> executeSomeMicroBatches(const TrainingPlan &plan, const ModelConfig &config, int steps, int micros,
                                                   std::int64_t workspaceBytes, const std::stop_token &cancel)
{
    // What the loop holds of one micro-batch dies in the next.
    if (plan.parallel.engine != Engine::DeepSpeed || plan.parallel.zeroStage != 3 || steps != 2 || micros < 3 || plan.loop.outputsHeld)
        return std::nullopt;
    TrainingRun run = execute(plan, config, config.layers, steps, micros, 1, workspaceBytes, cancel);
    run.copiedMicroBatches = repeatMicroBatch(run.trace, micros - 1);
    return run.copiedMicroBatches ? std::optional(std::move(run)) : std::nullopt;
}

} // namespace

int executedMicroBatches(const TrainingPlan &plan)
{
    // From the second on gradients exist, and every further one allocates the same; but engines do in the last what they do
    // not do in those between.
    return static_cast<int>(std::min<std::int64_t>(plan.batch.gradientAccumulation, hasShardingEngine(plan) ? 3 : 2));
}

TrainingRun run(const TrainingPlan &plan, const ModelConfig &config, int steps, std::int64_t workspaceBytes, std::stop_token cancel,
                Repeat repeat)
{
    const std::int64_t accumulation = plan.batch.gradientAccumulation;
    const auto executeAll = [&](int allSteps, int allMicros) {
        return execute(plan, config, config.layers, allSteps, allMicros, allMicros, workspaceBytes, cancel);
    };
    if (repeat == Repeat::Execute)
        return executeAll(steps, static_cast<int>(std::min<std::int64_t>(accumulation, 1000)));

    // The first step makes the optimizer's state; from the second on every step is like the one before.
    const int micros = executedMicroBatches(plan);
    const int executed = std::min(steps, 2);
    std::optional<TrainingRun> run;
    for (const int groups : groupsToExecute)
        if (!run)
            run = executeSomeLayers(plan, config, groups, executed, micros, workspaceBytes, cancel);
    if (!run)
        run = executeSomeMicroBatches(plan, config, executed, micros, workspaceBytes, cancel);
    if (!run)
        run = executeAll(executed, micros);
    for (; run->steps < steps; ++run->steps)
        if (!repeatLastStep(run->trace))
            return executeAll(steps, micros);
    return std::move(*run);
}

} // namespace headroom::training
