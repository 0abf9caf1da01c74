// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/training/deepspeed_zero0.h"

#include "core/autograd/operators.h"

namespace headroom::training::deepspeed {

using namespace autograd;

namespace {

/// engine.py: MEMORY_OPT_ALLREDUCE_SIZE
constexpr std::int64_t allreduceElements = 500'000'000;

} // namespace

std::vector<Tensor> ZeroStage0::allMasters() const
{
    std::vector<Tensor> masters;
    for (const Group &group : m_groups)
        masters.insert(masters.end(), group.masters.begin(), group.masters.end());
    return masters;
}

void ZeroStage0::load(network::CausalLm &model)
{
    moveToDevice(m_tape, model);
    m_trainable = model.trainable();
    Tape::Scope scope(m_tape, moduleName);
    for (const std::vector<Tensor> &parameters : parameterGroups(m_trainable)) {
        Group &group = m_groups.emplace_back();
        group.parameters = parameters;
        for (const Tensor &parameter : parameters)
            group.masters.push_back(masterOf(m_tape, parameter));
    }
    m_optimizer = makeOptimizer(m_tape, m_options.optimizer);

    // initialize_optimizer_states(): a step on gradients of zeros, for the 16-bit parameters too
    const auto zeros = [this](const Tensor &parameter) {
        setGradient(parameter, m_tape.empty(parameter.sizes(), parameter.dtype(), "aten.zeros.default"));
    };
    for (const Group &group : m_groups)
        for (const Tensor &parameter : group.parameters)
            zeros(parameter);
    const std::vector<Tensor> masters = allMasters();
    for (const Tensor &master : masters)
        zeros(master);
    m_optimizer->step(masters);
    dropGradients();
    for (const Tensor &parameter : m_trainable)
        setGradient(parameter, {});
}

void ZeroStage0::dropGradients()
{
    for (const Group &group : m_groups)
        for (const Tensor &master : group.masters)
            setGradient(master, {});
}

void ZeroStage0::backward(const Tensor &loss, bool last)
{
    const Tensor divided = divNumber(loss);
    m_tape.backward(divided);
    if (last)
        reduceGradients();
}

/// buffered_allreduce_fallback()
void ZeroStage0::reduceGradients()
{
    Tape::Scope scope(m_tape, moduleName);
    std::vector<std::int64_t> pieces;
    pieces.reserve(m_trainable.size());
    for (const Tensor &parameter : m_trainable)
        pieces.push_back(parameter.sizes().elements());
    reduceUpTo(m_tape, m_options, pieces, allreduceElements);
}

/// get_weight_norm(), then the gradients in fp32
void ZeroStage0::checkGroup(const Group &group)
{
    {
        const auto scalar = [this](const char *op) { return m_tape.empty({}, DType::Float32, op); };
        Tensor total, norm;
        for (const Tensor &parameter : group.parameters) {
            {
                const Tensor wide = m_tape.empty(parameter.sizes(), DType::Float32, "aten._to_copy.default");
                Tensor next = scalar("aten.linalg_vector_norm.default");
                norm = std::move(next);
            }
            const Tensor square = scalar("aten.pow.Tensor_Scalar");
            if (!total)
                total = scalar("aten.add.Tensor");
        }
        const Tensor sum = flat(m_tape, 1, DType::Float32, "aten._to_copy.default");
    }
    for (std::size_t i = 0; i < group.parameters.size(); ++i) {
        const Tensor gradient = m_tape.empty(group.parameters[i].sizes(), DType::Float32, "aten._to_copy.default");
        setGradient(group.masters[i], gradient);
    }
}

void ZeroStage0::step()
{
    Tape::Scope scope(m_tape, moduleName);
    for (const Group &group : m_groups)
        for (std::size_t i = 0; i < group.parameters.size(); ++i)
            checkForInfinities(m_tape, m_options.parameters);
    flat(m_tape, 1, DType::UInt8, "aten._to_copy.default");
    for (const Group &group : m_groups)
        checkGroup(group);
    m_optimizer->step(allMasters());
    dropGradients();
    for (const Tensor &parameter : m_trainable)
        setGradient(parameter, {});
}

} // namespace headroom::training::deepspeed
