// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/operators.h"

#include <optional>

namespace headroom::network {

using autograd::Tensor;

/// Names under which an adapted parameter's allocations are filed: string literals.
struct ParameterNames {
    const char *module; ///< "mlp.experts"
    const char *name;   ///< "mlp.experts.gate_up_proj"
    const char *a, *b;  ///< "mlp.experts.lora_A"
};

/// A parameter that PEFT can adapt although no Linear holds it (peft 0.21, tuners/lora/layer.py: ParamWrapper): a router's
/// matrix, or all experts' in one tensor.
struct AdaptableParameter {
    ParameterNames names;
    Tensor weight;           ///< [out, in]; experts: [experts, out, in], or [experts, in, out] where `transposed`
    bool transposed = false; ///< the module's is_transposed
    Tensor a, b;             ///< [experts * rank, in], [out, experts * rank]; undefined: not adapted

    std::int64_t experts() const { return weight.rank() == 3 ? weight.size(0) : 1; }
    std::int64_t inFeatures() const { return weight.size(weight.rank() - (transposed ? 2 : 1)); }
    std::int64_t outFeatures() const { return weight.size(weight.rank() - (transposed ? 1 : 2)); }
};

/// The parametrization that stands while the wrapped module's forward runs: the low-rank update is folded into the weight at its
/// first use, and the sum kept to the end.
class ActiveParameter
{
public:
    explicit ActiveParameter(const AdaptableParameter &parameter);
    /// The parameter, or the sum that computes instead of it.
    const Tensor &weight();

private:
    Tensor folded() const;

    const AdaptableParameter &m_parameter;
    Tensor m_left, m_right; ///< get_delta_factors; of a matrix: the update itself, and nothing
    Tensor m_sum;
};

} // namespace headroom::network
