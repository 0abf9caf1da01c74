// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model_config.h"
#include "core/plan/training_plan.h"
#include "core/units/version.h"

#include <string_view>
#include <vector>

namespace headroom::network {

/// A parameter that is adapted where it stands, and how many times the plan's rank it gets.
struct ParameterTarget {
    std::string_view name; ///< "experts.gate_up_proj"
    std::int64_t ranks = 1;
    bool complete = true; ///< false: PEFT stops, for only one of the projections that are joined in it is named
};

/// What PEFT adapts of a model: its target_modules and target_parameters once transformers' newer module names are seen to.
class AdapterTargets
{
public:
    AdapterTargets(const ModelConfig &config, const Method &method, Version transformers);

    /// Whether the Linear of that name is adapted: modules to save are not, whatever the targets say.
    bool takes(std::string_view module) const;
    /// "all-linear" leaves embeddings out.
    bool takesEmbedding(std::string_view module) const { return !m_allLinear && takes(module); }
    /// The target for a parameter of that name, or null.
    const ParameterTarget *parameter(std::string_view name) const;
    const std::vector<ParameterTarget> &parameters() const { return m_parameters; }
    /// Whether a name of the plan means a parameter, not a module.
    bool meansParameter(std::string_view name) const;

private:
    bool m_allLinear;
    std::vector<std::string> m_names, m_saved;
    bool m_joined;  ///< the experts of a layer are one tensor, and PEFT knows which Linears they were
    bool m_mixtral; ///< which had names of its own for them
    std::vector<ParameterTarget> m_parameters;
};

/// PEFT's rule for modules_to_save: any module whose full name ends so (peft/utils/other.py: _set_trainable).
bool isSaved(std::string_view module, const std::vector<std::string> &names);

/// PEFT's rule for target_modules: the name itself or what follows one of its dots.
bool namesModule(std::string_view module, std::string_view name);

} // namespace headroom::network
