// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/training/optimizer_state.h"

#include "core/autograd/operators.h"
#include "core/units/checked.h"

#include <algorithm>
#include <numeric>

namespace headroom::training {

using namespace autograd;

namespace {

/// torch/optim/adam.py, adamw.py. exp_avg and exp_avg_sq have the parameter's dtype. The step count is on the host unless
/// the implementation is fused, where each is a block of its own on the device.
class Adam : public Optimizer
{
public:
    Adam(Tape &tape, OptimizerImplementation implementation)
        : m_tape(tape)
        , m_implementation(implementation)
    {}

    void step(const std::vector<Tensor> &parameters) override
    {
        m_states.resize(parameters.size());
        for (std::size_t i = 0; i < parameters.size(); ++i) { // _init_group
            State &state = m_states[i];
            Tape::ParameterScope scope(m_tape, parameters[i]);
            if (state.average)
                continue;
            if (m_implementation == OptimizerImplementation::Fused) {
                state.step = m_tape.empty({}, DType::Float32, "aten.zeros.default");
                m_tape.setRole(state.step, Role::OptimizerState);
            }
            state.average = keepStateLike(parameters[i], "aten.zeros_like.default");
            state.square = keepStateLike(parameters[i], "aten.zeros_like.default");
        }
        if (m_implementation == OptimizerImplementation::Foreach)
            foreachStep(parameters);
        else if (m_implementation == OptimizerImplementation::ForLoop)
            forLoopStep(parameters);
    }

private:
    struct State {
        Tensor step, average, square;
    };

    /// _multi_tensor_adam: sqrt(exp_avg_sq) of a whole group of one dtype; the variable is bound anew by the next group.
    void foreachStep(const std::vector<Tensor> &parameters)
    {
        std::vector<Tensor> roots;
        for (const auto &[dtype, members] : groupsByDtype(parameters)) {
            std::vector<Tensor> next;
            next.reserve(members.size());
            for (std::size_t i : members) {
                Tape::ParameterScope scope(m_tape, parameters[i]);
                next.push_back(unary(m_states[i].square, "aten._foreach_sqrt.default"));
            }
            roots = std::move(next);
        }
    }

    /// _single_tensor_adam: denom = exp_avg_sq.sqrt() / bias_correction2_sqrt, kept until the next parameter's.
    void forLoopStep(const std::vector<Tensor> &parameters)
    {
        Tensor denominator;
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            Tape::ParameterScope scope(m_tape, parameters[i]);
            const Tensor root = unary(m_states[i].square, "aten.sqrt.default");
            Tensor next = unary(root, "aten.div.Tensor");
            denominator = std::move(next);
        }
    }

    Tape &m_tape;
    OptimizerImplementation m_implementation;
    std::vector<State> m_states;
};

/// torch/optim/sgd.py. With momentum the buffer starts as a clone of the first gradient.
class Sgd : public Optimizer
{
public:
    Sgd(Tape &tape, bool momentum, OptimizerImplementation implementation)
        : m_tape(tape)
        , m_momentum(momentum)
        , m_grouped(implementation != OptimizerImplementation::ForLoop)
    {}

    void step(const std::vector<Tensor> &parameters) override
    {
        if (!m_momentum)
            return;
        m_buffers.resize(parameters.size());
        if (m_grouped) {
            for (const DtypeGroup &group : groupsByDtype(parameters))
                for (const std::size_t i : group.members)
                    keepBuffer(parameters, i);
        } else {
            for (std::size_t i = 0; i < parameters.size(); ++i)
                keepBuffer(parameters, i);
        }
    }

private:
    void keepBuffer(const std::vector<Tensor> &parameters, std::size_t i)
    {
        Tape::ParameterScope scope(m_tape, parameters[i]);
        if (!m_buffers[i])
            m_buffers[i] = keepStateLike(Tensor(parameters[i]->grad), "aten.clone.default");
    }

    Tape &m_tape;
    bool m_momentum, m_grouped;
    std::vector<Tensor> m_buffers;
};

} // namespace

std::vector<DtypeGroup> groupsByDtype(const std::vector<Tensor> &parameters)
{
    std::vector<DtypeGroup> groups;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const auto known =
            std::find_if(groups.begin(), groups.end(), [&](const DtypeGroup &group) { return group.dtype == parameters[i].dtype(); });
        if (known == groups.end())
            groups.insert(groups.begin(), {parameters[i].dtype(), {i}});
        else
            known->members.push_back(i);
    }
    return groups;
}

std::unique_ptr<Optimizer> makeOptimizer(Tape &tape, const OptimizerChoice &choice)
{
    switch (choice.kind) {
    case OptimizerKind::Sgd: return std::make_unique<Sgd>(tape, false, choice.implementation);
    case OptimizerKind::SgdMomentum: return std::make_unique<Sgd>(tape, true, choice.implementation);
    case OptimizerKind::Adafactor: return makeAdafactor(tape, choice.implementation == OptimizerImplementation::ForLoop);
    case OptimizerKind::Muon: return makeMuon(tape);
    case OptimizerKind::Lion:
    case OptimizerKind::AdamW8bit:
    case OptimizerKind::PagedAdamW8bit:
    case OptimizerKind::PagedAdamW32bit:
    case OptimizerKind::Lion8bit: return makeBitsAndBytes(tape, choice.kind);
    case OptimizerKind::AdamW:
    case OptimizerKind::Adam: break;
    }
    return std::make_unique<Adam>(tape, choice.implementation);
}

void zeroGrad(const std::vector<Tensor> &parameters, ZeroGrad how)
{
    if (how == ZeroGrad::Zeros)
        return;
    for (const Tensor &parameter : parameters)
        if (TensorImpl *grad = std::exchange(parameter->grad, nullptr)) {
            Tensor dropped(grad);
            --grad->references; // the parameter's own
        }
}

namespace {

constexpr std::int64_t normChunk = 65536; ///< kChunkSize

/// output_per_tensor of one group's norms.
Tensor normBuffer(Tape &tape, const std::vector<Tensor> &parameters, const std::vector<std::int64_t> &counts, const DtypeGroup &group)
{
    std::int64_t tensors = 0, chunks = 0;
    for (const std::size_t i : group.members) {
        tensors += counts[i];
        chunks = std::max(chunks, (parameters[i].sizes().elements() + normChunk - 1) / normChunk);
    }
    return tape.empty({checkedMultiply(tensors, chunks)}, DType::Float32, "aten._foreach_norm.Scalar (kernel buffer)");
}

} // namespace

void clipGradNorm(Tape &tape, const std::vector<Tensor> &parameters, const std::vector<std::int64_t> &counts, bool kernelBuffers)
{
    const char *norm = "aten.linalg_vector_norm.default";
    Tensor total;
    {
        std::vector<Tensor> norms;
        norms.reserve(parameters.size());
        DType dtype = DType::Float16;
        for (const DtypeGroup &group : groupsByDtype(parameters)) {
            const Tensor buffer = kernelBuffers ? normBuffer(tape, parameters, counts, group) : Tensor();
            for (const std::size_t i : group.members) {
                Tape::ParameterScope scope(tape, parameters[i]);
                norms.push_back(tape.empty({}, Tensor(parameters[i]->grad).dtype(), norm));
                dtype = promote(norms.back().dtype(), norms.size() == 1 ? norms.back().dtype() : dtype);
            }
        }
        if (norms.empty())
            return;
        Tensor stacked = tape.empty({std::accumulate(counts.begin(), counts.end(), std::int64_t{0})}, dtype, "aten.stack.default");
        total = tape.empty({}, dtype, norm);
    }
    Tensor shifted = unary(total, "aten.add.Tensor");
    Tensor reciprocal = unary(shifted, "aten.reciprocal.default");
    Tensor coefficient = unary(reciprocal, "aten.mul.Tensor");
    reciprocal.reset();
    shifted.reset();
    const Tensor clamped = unary(coefficient, "aten.clamp.default");
    coefficient.reset();
}

} // namespace headroom::training
