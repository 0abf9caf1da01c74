// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// peft 0.21, tuners/lora/layer.py: ParamWrapper, _LoraFactorsProxy, _LoraParameterProxy; torch 2.13, nn/utils/parametrize.py.
#include "core/network/parameter_adapter.h"

namespace headroom::network {

using namespace autograd;

namespace {

/// [experts * rank, in] -> [experts, rank, in]
Tensor factorA(const AdaptableParameter &p)
{
    const std::int64_t experts = p.experts();
    return reshape(p.a, {experts, p.a.size(0) / experts, p.a.size(1)});
}

/// [out, rank * experts] -> [experts, out, rank]: reshape(out, -1, experts).permute(2, 0, 1)
Tensor factorB(const AdaptableParameter &p)
{
    const std::int64_t experts = p.experts();
    const Tensor apart = reshape(p.b, {p.b.size(0), p.b.size(1) / experts, experts});
    return halted(apart) ? Tensor() : transpose(transpose(apart, 0, 2), 1, 2);
}

} // namespace

ActiveParameter::ActiveParameter(const AdaptableParameter &parameter)
    : m_parameter(parameter)
{
    if (!parameter.a || parameter.weight->tape->stopped())
        return;
    Tape::Scope scope(*parameter.weight->tape, parameter.names.module);
    const DType dtype = parameter.weight.dtype();
    if (parameter.experts() == 1) { // get_delta_weight: weight_B @ weight_A * scaling
        Tensor update = matmul(parameter.b, parameter.a);
        update = mulNumber(update);
        if (!halted(update))
            m_left = to(update, dtype);
    } else {
        m_right = factorA(parameter); // get_delta_factors: A's views come first, so B's gradient does in backward
        m_left = factorB(parameter);
        if (parameter.transposed && !halted(m_left)) {
            Tensor left = transpose(m_right, 1, 2);
            m_right = transpose(m_left, 1, 2);
            m_left = std::move(left);
        }
        if (!halted(m_left) && m_right) {
            m_left = to(m_left, dtype);
            m_right = to(m_right, dtype);
        }
    }
    const Tensor checked = folded(); // register_parametrization tries whether dtype and shape stay
}

Tensor ActiveParameter::folded() const
{
    if (halted(m_left))
        return {};
    return m_right ? baddbmm(m_parameter.weight, m_left, m_right) : add(m_parameter.weight, m_left);
}

const Tensor &ActiveParameter::weight()
{
    if (!m_parameter.a)
        return m_parameter.weight;
    if (!m_sum)
        m_sum = folded();
    return m_sum;
}

} // namespace headroom::network
