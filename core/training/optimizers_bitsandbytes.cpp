// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// bitsandbytes 0.50.2, optim/optimizer.py: Optimizer1State, Optimizer2State. Their kernels work in place: a step allocates
// nothing but state.
#include "core/training/optimizer_state.h"

#include "core/autograd/operators.h"

namespace headroom::training {

using namespace autograd;

namespace {

constexpr std::int64_t smallest8bit = 4096, smallestPaged = 100'000, block = 256;

struct Form {
    int states = 2;
    bool eightBit = false, paged = false;
};

Form formOf(OptimizerKind kind)
{
    switch (kind) {
    case OptimizerKind::Lion: return {1, false, false};
    case OptimizerKind::Lion8bit: return {1, true, false};
    case OptimizerKind::AdamW8bit: return {2, true, false};
    case OptimizerKind::PagedAdamW8bit: return {2, true, true};
    default: return {2, false, true}; // paged-adamw-32bit
    }
}

class BitsAndBytes : public Optimizer
{
public:
    BitsAndBytes(Tape &tape, OptimizerKind kind)
        : m_tape(tape)
        , m_form(formOf(kind))
    {}

    void step(const std::vector<Tensor> &parameters) override
    {
        for (std::size_t i = m_initialised; i < parameters.size(); ++i) {
            Tape::ParameterScope scope(m_tape, parameters[i]);
            initState(parameters[i]);
        }
        m_initialised = parameters.size();
    }

private:
    void initState(const Tensor &parameter)
    {
        const std::int64_t n = parameter.sizes().elements();
        const bool eightBit = m_form.eightBit && n >= smallest8bit;
        if (eightBit && m_tables.empty())
            for (int k = 0; k < m_form.states; ++k)
                m_tables.push_back(keepState(m_tape, {256}, {1}, DType::Float32, "aten._to_copy.default"));
        if (!m_form.paged || n < smallestPaged)
            for (int k = 0; k < m_form.states; ++k)
                m_states.push_back(keepState(m_tape, parameter.sizes(), preservedStrides(parameter),
                                             eightBit ? DType::UInt8 : DType::Float32, "aten.zeros_like.default"));
        if (eightBit)
            for (int k = 0; k < m_form.states; ++k)
                m_states.push_back(keepState(m_tape, {n / block + (n % block != 0)}, {1}, DType::Float32, "aten.zeros.default"));
    }

    Tape &m_tape;
    Form m_form;
    std::vector<Tensor> m_tables; ///< name2qmap: what 8-bit codes stand for, one for signed and one for unsigned states
    std::vector<Tensor> m_states;
    std::size_t m_initialised = 0;
};

} // namespace

std::unique_ptr<Optimizer> makeBitsAndBytes(Tape &tape, OptimizerKind kind) { return std::make_unique<BitsAndBytes>(tape, kind); }

std::int64_t pagedStateBytes(OptimizerKind kind, std::int64_t elements)
{
    if (kind != OptimizerKind::PagedAdamW8bit && kind != OptimizerKind::PagedAdamW32bit)
        return 0;
    if (elements < smallestPaged)
        return 0;
    const Form form = formOf(kind);
    return checkedMultiply(elements, form.states * (form.eightBit ? 1 : 4));
}

} // namespace headroom::training
