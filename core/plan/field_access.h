// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/plan/choices.h"
#include "core/plan/fields.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <type_traits>

/// How the field table reaches into a plan: from a path of member pointers to a field's get and set.
namespace headroom::access {

template<auto First, auto... Rest>
decltype(auto) memberOf(auto &object)
{
    if constexpr (sizeof...(Rest) == 0)
        return (object.*First);
    else
        return memberOf<Rest...>(object.*First);
}

struct Access {
    FieldValue (*get)(const TrainingPlan &);
    void (*set)(TrainingPlan &, const FieldValue &);
};

/// A bool, std::int64_t, double, std::string or std::vector<std::string>, as it is.
template<typename T, auto... Path>
inline constexpr Access plain{
    [](const TrainingPlan &plan) -> FieldValue { return memberOf<Path...>(plan); },
    [](TrainingPlan &plan, const FieldValue &value) { memberOf<Path...>(plan) = std::get<T>(value); },
};

/// The same in a std::optional<Stored>.
template<typename T, typename Stored, auto... Path>
inline constexpr Access optionally{
    [](const TrainingPlan &plan) -> FieldValue {
        const auto &member = memberOf<Path...>(plan);
        return member ? FieldValue(static_cast<T>(*member)) : FieldValue();
    },
    [](TrainingPlan &plan, const FieldValue &value) {
        const T *given = std::get_if<T>(&value);
        memberOf<Path...>(plan) = given != nullptr ? std::optional<Stored>(static_cast<Stored>(*given)) : std::nullopt;
    },
};

inline std::size_t indexOf(std::span<const FieldChoice> choices, std::string_view value)
{
    const auto found = std::find_if(choices.begin(), choices.end(), [&](const FieldChoice &choice) { return choice.value == value; });
    assert(found != choices.end());
    return static_cast<std::size_t>(found - choices.begin());
}

/// An enumeration whose values are the choices' indices.
template<const auto &Choices, auto... Path>
inline constexpr Access enumerated{
    [](const TrainingPlan &plan) -> FieldValue { return std::string(Choices[static_cast<std::size_t>(memberOf<Path...>(plan))].value); },
    [](TrainingPlan &plan, const FieldValue &value) {
        auto &member = memberOf<Path...>(plan);
        member = static_cast<std::remove_reference_t<decltype(member)>>(indexOf(Choices, std::get<std::string>(value)));
    },
};

inline DType dtypeNamed(std::string_view name)
{
    if (name == "bfloat16")
        return DType::BFloat16;
    return name == "float16" ? DType::Float16 : DType::Float32;
}

template<auto... Path>
inline constexpr Access dtype{
    [](const TrainingPlan &plan) -> FieldValue { return std::string(name(memberOf<Path...>(plan))); },
    [](TrainingPlan &plan, const FieldValue &value) { memberOf<Path...>(plan) = dtypeNamed(std::get<std::string>(value)); },
};

template<auto... Path>
inline constexpr Access optionalDtype{
    [](const TrainingPlan &plan) -> FieldValue {
        const auto &member = memberOf<Path...>(plan);
        return member ? FieldValue(std::string(name(*member))) : FieldValue();
    },
    [](TrainingPlan &plan, const FieldValue &value) {
        const std::string *given = std::get_if<std::string>(&value);
        memberOf<Path...>(plan) = given != nullptr ? std::optional<DType>(dtypeNamed(*given)) : std::nullopt;
    },
};

template<auto... Path>
inline constexpr Access dtypeOverride{
    [](const TrainingPlan &plan) -> FieldValue {
        const DtypeOverride &member = memberOf<Path...>(plan);
        switch (member.state) {
        case DtypeOverride::State::FromRecipe: return {};
        case DtypeOverride::State::None: return std::string("none");
        case DtypeOverride::State::Given: return std::string(name(member.dtype));
        }
        return {};
    },
    [](TrainingPlan &plan, const FieldValue &value) {
        DtypeOverride &member = memberOf<Path...>(plan);
        member = {};
        if (const std::string *given = std::get_if<std::string>(&value)) {
            member.state = *given == "none" ? DtypeOverride::State::None : DtypeOverride::State::Given;
            if (member.state == DtypeOverride::State::Given)
                member.dtype = dtypeNamed(*given);
        }
    },
};

inline constexpr Access targets{
    [](const TrainingPlan &plan) -> FieldValue {
        return plan.method.targets.allLinear ? FieldValue(std::string("all-linear")) : FieldValue(plan.method.targets.names);
    },
    [](TrainingPlan &plan, const FieldValue &value) {
        const auto *names = std::get_if<std::vector<std::string>>(&value);
        plan.method.targets = names != nullptr ? Targets{false, *names} : Targets{};
    },
};

/// selective says one thing at most: what is set takes the place of the others.
inline constexpr Access selectiveEvery{
    [](const TrainingPlan &plan) -> FieldValue { return plan.selective.every ? FieldValue(*plan.selective.every) : FieldValue(); },
    [](TrainingPlan &plan, const FieldValue &value) {
        if (const auto *every = std::get_if<std::int64_t>(&value))
            plan.selective = {*every, {}, SelectivePolicy::None};
        else
            plan.selective.every.reset();
    },
};
inline constexpr Access selectiveOperators{
    [](const TrainingPlan &plan) -> FieldValue { return plan.selective.operators; },
    [](TrainingPlan &plan, const FieldValue &value) {
        const auto *names = std::get_if<std::vector<std::string>>(&value);
        if (names != nullptr && !names->empty())
            plan.selective = {{}, *names, SelectivePolicy::None};
        else
            plan.selective.operators.clear();
    },
};
inline constexpr Access selectivePolicy{
    [](const TrainingPlan &plan) -> FieldValue {
        if (plan.selective.policy == SelectivePolicy::None)
            return {};
        return std::string(choices::selectivePolicy[static_cast<std::size_t>(plan.selective.policy)].value);
    },
    [](TrainingPlan &plan, const FieldValue &value) {
        if (const auto *policy = std::get_if<std::string>(&value))
            plan.selective = {{}, {}, static_cast<SelectivePolicy>(indexOf(choices::selectivePolicy, *policy))};
        else
            plan.selective.policy = SelectivePolicy::None;
    },
};

} // namespace headroom::access
