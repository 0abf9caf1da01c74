// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/training/executed_fields.h"

#include "core/training/step.h"

#include <algorithm>

namespace headroom::training {

namespace {

/// Whether `judge` holds for any of the values that stand for all of the field's: every choice, the ends of a range and
/// what lies next to the lower.
template<typename Judge>
bool holdsForAnyValue(const Field &field, const Judge &judge)
{
    if (field.nullable && judge(FieldValue{}))
        return true;
    switch (field.type) {
    case FieldType::Boolean: return judge(FieldValue{false}) || judge(FieldValue{true});
    case FieldType::Integer: {
        const auto low = static_cast<std::int64_t>(field.minimum);
        return judge(FieldValue{low}) || judge(FieldValue{low + 1}) || judge(FieldValue{static_cast<std::int64_t>(field.maximum)});
    }
    case FieldType::Real: return judge(FieldValue{field.minimum}) || judge(FieldValue{field.maximum});
    case FieldType::Choice:
        return std::any_of(field.choices.begin(), field.choices.end(),
                           [&](const FieldChoice &choice) { return judge(FieldValue{std::string(choice.value)}); });
    case FieldType::Text:
    case FieldType::TextList: break; // no value stands for others
    }
    return false;
}

/// A plan of every method under every engine, with what the engine needs.
std::vector<TrainingPlan> plansOfEveryKind()
{
    std::vector<TrainingPlan> plans;
    for (const MethodKind method : {MethodKind::Full, MethodKind::Lora, MethodKind::Qlora}) {
        for (const Engine engine : {Engine::None, Engine::Ddp, Engine::DeepSpeed, Engine::Fsdp1, Engine::Fsdp2, Engine::Megatron}) {
            for (const Recipe recipe : {Recipe::Bf16, Recipe::Bf16Master}) {
                for (const int stage : {0, 1, 2, 3}) {
                    TrainingPlan plan;
                    plan.method.kind = method;
                    plan.precision.recipe = recipe;
                    plan.checkpointing = Checkpointing::Full;
                    plan.batch.gradientAccumulation = 2;
                    plan.parallel.engine = engine;
                    if (engine != Engine::None) {
                        plan.parallel.data = 2;
                        plan.parallel.zeroStage = stage;
                    }
                    plans.push_back(plan);
                    if (engine == Engine::None) {
                        plan.checkpointing = Checkpointing::Selective;
                        plan.selective.every = 2;
                        plans.push_back(plan);
                    }
                    if (engine == Engine::None)
                        break;
                }
            }
        }
    }
    return plans;
}

} // namespace

bool canTakeEffect(const Field &field)
{
    static const TrainingPlan defaults;
    static const ModelConfig model = [] {
        ModelConfig llama;
        llama.modelType = "llama";
        return llama;
    }();
    static const std::vector<TrainingPlan> plans = [] {
        std::vector<TrainingPlan> all = plansOfEveryKind();
        std::erase_if(all, [&](const TrainingPlan &plan) { return unsupported(plan, model).has_value(); });
        return all;
    }();
    if (field.type == FieldType::Text || field.type == FieldType::TextList)
        return std::any_of(plans.begin(), plans.end(),
                           [&](const TrainingPlan &plan) { return !field.inapplicable || field.inapplicable(plan).empty(); });
    const FieldValue usual = field.get(defaults);
    return std::any_of(plans.begin(), plans.end(), [&](const TrainingPlan &plan) {
        return holdsForAnyValue(field, [&](const FieldValue &value) {
            TrainingPlan probe = plan;
            if (value == usual || setField(probe, field, value))
                return false;
            return (!field.inapplicable || field.inapplicable(probe).empty()) && !unsupported(probe, model);
        });
    });
}

} // namespace headroom::training
