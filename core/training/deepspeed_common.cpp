// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/training/deepspeed_common.h"

#include "core/plan/fields.h"
#include "core/units/checked.h"

#include <unordered_set>

namespace headroom::training::deepspeed {

using namespace autograd;

Options optionsOf(const TrainingPlan &plan, const ModelConfig &model)
{
    const Parallel &parallel = plan.parallel;
    const int stage = parallel.zeroStage.value_or(0);
    Options options;
    options.ranks = parallel.data;
    options.reduceBucket = parallel.reduceBucketElements;
    options.prefetchBucket = parallel.stage3PrefetchBucketSize;
    options.persistenceThreshold = parallel.stage3ParamPersistenceThreshold;
    options.maxLiveParameters = parallel.stage3MaxLiveParameters;
    options.maxReuseDistance = parallel.stage3MaxReuseDistance;
    if (parallel.bucketSizes == BucketSizes::Auto) { // transformers/integrations/deepspeed.py: trainer_config_finalize
        options.reduceBucket = checkedMultiply(model.hiddenSize, model.hiddenSize);
        options.prefetchBucket =
            static_cast<std::int64_t>(0.9 * static_cast<double>(model.hiddenSize) * static_cast<double>(model.hiddenSize));
        options.persistenceThreshold = checkedMultiply(10, model.hiddenSize);
    }
    options.overlap = parallel.overlapCommunication.value_or(stage == 3);
    options.clip = plan.loop.clipGradNorm;
    options.parameters = resolvePrecision(plan.precision).weights;
    options.communication = parallel.reduceDtype.value_or(options.parameters);
    options.optimizer = plan.optimizer;
    return options;
}

std::vector<std::vector<Tensor>> parameterGroups(const std::vector<Tensor> &trainable)
{
    std::vector<std::vector<Tensor>> groups(2);
    for (const Tensor &parameter : trainable)
        groups[parameter.rank() > 1 ? 0 : 1].push_back(parameter);
    std::erase_if(groups, [](const std::vector<Tensor> &group) { return group.empty(); });
    return groups;
}

namespace {

class Mover : public network::ModuleVisitor
{
public:
    Mover(Tape &tape, const std::function<void(const Tensor &)> &moved)
        : m_tape(tape)
        , m_moved(moved)
    {}

    void linear(network::Linear &module) override
    {
        move(module.weight, module.lora ? module.names.base : module.names.self);
        move(module.bias, module.lora ? module.names.base : module.names.self);
        if (module.lora) {
            move(module.lora->a, module.names.a);
            move(module.lora->b, module.names.b);
        }
        move(module.saved, module.names.self);
        move(module.savedBias, module.names.self);
    }
    void norm(network::RmsNorm &module) override
    {
        move(module.weight, module.name);
        move(module.saved, module.name);
    }
    void layerNorm(network::LayerNorm &module) override
    {
        move(module.weight, module.name);
        move(module.bias, module.name);
        move(module.saved, module.name);
        move(module.savedBias, module.name);
    }
    void embedding(network::Embedding &module) override
    {
        move(module.weight, module.name);
        if (module.lora) {
            move(module.lora->a, module.name);
            move(module.lora->b, module.name);
        }
        move(module.saved, module.name);
    }
    void parameter(Tensor &tensor, const char *module) override { move(tensor, module); }
    void adaptable(network::AdaptableParameter &parameter) override
    {
        move(parameter.a, parameter.names.a);
        move(parameter.b, parameter.names.b);
    }
    void buffer(Tensor &tensor, const char *module) override { place(tensor, module); }

private:
    void move(const Tensor &tensor, const char *module)
    {
        if (!tensor || !m_done.insert(tensor.impl()).second) // a tied head is there already
            return;
        place(tensor, module);
        if (m_moved)
            m_moved(tensor);
    }

    void place(const Tensor &tensor, const char *module)
    {
        Tape::Scope scope(m_tape, module);
        const Tensor data = m_tape.empty(tensor.sizes(), tensor.dtype(), "aten._to_copy.default");
        m_tape.setRole(data, Role::Parameter);
        m_tape.setData(tensor, data);
    }

    Tape &m_tape;
    const std::function<void(const Tensor &)> &m_moved;
    std::unordered_set<TensorImpl *> m_done;
};

} // namespace

void moveToDevice(Tape &tape, network::CausalLm &model, const std::function<void(const Tensor &)> &moved)
{
    Mover mover(tape, moved);
    model.visit(mover);
}

Tensor flat(Tape &tape, std::int64_t elements, DType dtype, const char *op) { return tape.empty({elements}, dtype, op); }

Tensor engineBuffer(Tape &tape, std::int64_t elements, DType dtype, const char *op)
{
    Tensor buffer = flat(tape, elements, dtype, op);
    tape.setRole(buffer, Role::EngineBuffer);
    return buffer;
}

Tensor masterOf(Tape &tape, const Tensor &parameters)
{
    const Tensor copy = tape.empty(parameters.sizes(), parameters.dtype(), "aten.clone.default");
    Tensor master = tape.empty(parameters.sizes(), DType::Float32, "aten._to_copy.default");
    tape.setRole(master, Role::OptimizerState);
    return master;
}

void setGradient(const Tensor &parameter, const Tensor &gradient)
{
    if (gradient)
        ++gradient->references;
    if (TensorImpl *before = std::exchange(parameter->grad, gradient.impl())) {
        const Tensor dropped(before);
        --before->references; // the parameter's own
    }
}

void reduceUpTo(Tape &tape, const Options &options, const std::vector<std::int64_t> &pieces, std::int64_t limit)
{
    std::size_t count = 0;
    std::int64_t total = 0;
    const auto reduce = [&] {
        Tensor together, converted;
        if (count > 1)
            together = engineBuffer(tape, total, options.parameters, reductionName);
        if (options.communication != options.parameters)
            converted = engineBuffer(tape, total, options.communication, "aten._to_copy.default");
        count = 0;
        total = 0;
    };
    for (std::int64_t piece : pieces) {
        ++count;
        total = checkedAdd(total, piece);
        if (total > limit)
            reduce();
    }
    if (count > 0)
        reduce();
}

Tensor isFinite(Tape &tape, std::int64_t elements)
{
    const Dims sizes{elements};
    const Tensor absolute = tape.empty(sizes, DType::Float32, "aten.abs.default");
    const Tensor bounded = tape.empty(sizes, DType::Bool, "aten.ne.Scalar");
    const Tensor number = tape.empty(sizes, DType::Bool, "aten.eq.Tensor");
    return tape.empty(sizes, DType::Bool, "aten.mul.Tensor");
}

void checkForInfinities(Tape &tape, DType dtype)
{
    const auto extreme = [&](const char *op) {
        const Tensor value = tape.empty({}, dtype, op);
        return isFinite(tape, 1);
    };
    Tensor above = extreme("aten.amax.default");
    Tensor below = extreme("aten.amin.default");
    const Tensor both = tape.empty({}, DType::Bool, "aten.logical_and.default");
    above.reset();
    below.reset();
    const Tensor negated = tape.empty({}, DType::Bool, "aten.logical_not.default");
}

namespace {

/// (~torch.isfinite(norms) | (norms < 0)).any()
Tensor anyInvalid(Tape &tape, std::int64_t count)
{
    const Dims sizes{count};
    Tensor finite = isFinite(tape, count);
    Tensor infinite = tape.empty(sizes, DType::Bool, "aten.bitwise_not.default");
    finite.reset();
    Tensor negative = tape.empty(sizes, DType::Bool, "aten.lt.Scalar");
    const Tensor either = tape.empty(sizes, DType::Bool, "aten.bitwise_or.Tensor");
    infinite.reset();
    negative.reset();
    return tape.empty({}, DType::Bool, "aten.any.default");
}

} // namespace

Tensor combineNorms(Tape &tape, std::int64_t groups)
{
    const Tensor stacked = tape.empty({groups}, DType::Float32, "aten.stack.default");
    const Tensor invalid = anyInvalid(tape, groups);
    const Tensor combined = tape.empty({}, DType::Float32, "aten.linalg_vector_norm.default");
    const Tensor infinity = tape.empty({}, DType::Float32, "aten.full_like.default");
    return tape.empty({}, DType::Float32, "aten.where.self");
}

Tensor sumOfSquares(Tape &tape, const std::vector<std::int64_t> &elements, std::vector<Tensor> &norms)
{
    norms.reserve(elements.size());
    for (std::int64_t count : elements) {
        const Tensor wide = flat(tape, count, DType::Float64, "aten._to_copy.default");
        norms.push_back(tape.empty({}, DType::Float64, "aten.linalg_vector_norm.default"));
    }
    const Dims count{static_cast<std::int64_t>(norms.size())};
    Tensor stacked = tape.empty(count, DType::Float64, "aten.stack.default");
    Tensor powers = tape.empty(count, DType::Float64, "aten.pow.Tensor_Scalar");
    stacked.reset();
    return tape.empty({}, DType::Float64, "aten.sum.default");
}

void checkNorm(Tape &tape) { anyInvalid(tape, 1); }

Tensor replaceGlobalNorm(Tape &tape, Tensor &globalNorm, DType dtype)
{
    checkNorm(tape);
    Tensor divided = tape.empty({}, dtype, "aten.div.Tensor");
    tape.setRole(divided, Role::EngineBuffer);
    return std::exchange(globalNorm, std::move(divided));
}

void clipScale(Tape &tape)
{
    const auto scalar = [&](const char *op) { return tape.empty({}, DType::Float32, op); };
    Tensor ratio = scalar("aten.div.Tensor");
    Tensor shifted = scalar("aten.add.Tensor");
    ratio.reset();
    Tensor clip = scalar("aten.div.Tensor");
    shifted.reset();
    const Tensor clamped = scalar("aten.clamp.default");
    clip.reset();
    const Tensor combined = scalar("aten.mul.Tensor");
    const Tensor reciprocal = scalar("aten.reciprocal.default");
    const Tensor scale = scalar("aten.mul.Tensor");
}

} // namespace headroom::training::deepspeed
