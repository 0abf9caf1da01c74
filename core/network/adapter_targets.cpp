// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// peft 0.21, utils/transformers_weight_conversion.py: _convert_peft_config_moe; tuners/tuners_utils.py:
// check_target_module_exists, _maybe_include_all_linear_layers.
#include "core/network/adapter_targets.h"

#include <algorithm>
#include <array>

namespace headroom::network {

namespace {

constexpr std::string_view router = "gate.weight", gateUp = "gate_up_proj", down = "down_proj";

/// _MOE_TARGET_MODULE_MAPPING: a Linear of the model's older versions, and the parameter that holds it now.
struct Joined {
    std::string_view module, parameter;
};
constexpr std::array mixtralModules{Joined{"gate", router}, Joined{"w1", gateUp}, Joined{"w3", gateUp}, Joined{"w2", down}};
constexpr std::array otherModules{Joined{"gate", router}, Joined{"gate_proj", gateUp}, Joined{"up_proj", gateUp},
                                  Joined{"down_proj", down}};

const std::array<Joined, 4> &modulesOf(bool mixtral) { return mixtral ? mixtralModules : otherModules; }

/// Of the model types that are executed those that transformers 5.24, conversion_mapping.py: _MODEL_TO_CONVERSION_PATTERN lists as
/// "mixtral" or "qwen2_moe" beside Mixtral itself.
bool isJoined(std::string_view modelType)
{
    constexpr std::array types{"mixtral", "qwen3_moe", "olmoe", "glm4_moe", "deepseek_v3", "glm4_moe_lite"};
    return std::find(types.begin(), types.end(), modelType) != types.end();
}

const Joined *findJoined(bool mixtral, std::string_view name)
{
    for (const Joined &joined : modulesOf(mixtral))
        if (namesModule(name, joined.module))
            return &joined;
    return nullptr;
}

} // namespace

bool isSaved(std::string_view module, const std::vector<std::string> &names)
{
    return std::any_of(names.begin(), names.end(), [&](const std::string &name) { return module.ends_with(name); });
}

bool namesModule(std::string_view module, std::string_view name)
{
    return module == name || (module.size() > name.size() && module.ends_with(name) && module[module.size() - name.size() - 1] == '.');
}

AdapterTargets::AdapterTargets(const ModelConfig &config, const Method &method, Version transformers)
    : m_allLinear(method.targets.allLinear)
    , m_saved(method.modulesToSave)
    , m_joined(transformers >= Version{5, 0} && isJoined(config.modelType))
    , m_mixtral(config.modelType == "mixtral")
{
    const Targets &targets = method.targets;
    for (const std::string &name : targets.names)
        if (!meansParameter(name))
            m_names.push_back(name);
    if (!m_joined)
        return;
    const auto named = [&](const Joined &joined) {
        return targets.allLinear || std::any_of(targets.names.begin(), targets.names.end(),
                                                [&](const std::string &name) { return findJoined(m_mixtral, name) == &joined; });
    };
    for (const std::string_view parameter : {router, gateUp, down}) {
        std::int64_t given = 0, all = 0;
        for (const Joined &joined : modulesOf(m_mixtral)) {
            if (joined.parameter != parameter)
                continue;
            ++all;
            given += named(joined);
        }
        if (given > 0)
            m_parameters.push_back({parameter, all, given == all});
    }
}

bool AdapterTargets::takes(std::string_view module) const
{
    const auto isNamed = [&](const std::string &name) { return namesModule(module, name); };
    if (std::any_of(m_saved.begin(), m_saved.end(), isNamed))
        return false;
    if (m_allLinear)
        return module != "lm_head" && !meansParameter(module);
    return std::any_of(m_names.begin(), m_names.end(), isNamed);
}

const ParameterTarget *AdapterTargets::parameter(std::string_view name) const
{
    for (const ParameterTarget &target : m_parameters)
        if (namesModule(name, target.name))
            return &target;
    return nullptr;
}

bool AdapterTargets::meansParameter(std::string_view name) const { return m_joined && findJoined(m_mixtral, name) != nullptr; }

} // namespace headroom::network
