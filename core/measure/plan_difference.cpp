// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/measure/plan_difference.h"

#include "core/estimate/estimate.h"
#include "core/plan/choices.h"
#include "core/plan/fields.h"
#include "core/units/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headroom {

namespace {

bool sameModel(const TrainingPlan &a, const TrainingPlan &b)
{
    if (a.model == b.model && (a.model.configPath.empty() || a.folder == b.folder))
        return true;
    const Result<ModelConfig> first = resolveModel(a), second = resolveModel(b);
    return first && second && *first == *second;
}

std::string modelText(const TrainingPlan &plan)
{
    const ModelChoice &choice = plan.model;
    if (choice.config.empty())
        return excerpt(choice.configPath.empty() ? choice.preset : choice.configPath);
    const Result<ModelConfig> model = resolveModel(plan);
    if (!model)
        return "a config.json of its own";
    return fmt::format("{} of {} layers, hidden size {}", excerpt(model->modelType), model->layers, model->hiddenSize);
}

std::string selectiveText(const Selective &selective)
{
    if (selective.every)
        return fmt::format("every {} layers", *selective.every);
    if (!selective.operators.empty())
        return excerpt(fmt::format("{}", fmt::join(selective.operators, ", ")), 200);
    if (selective.policy != SelectivePolicy::None)
        return std::string(choices::selectivePolicy[static_cast<std::size_t>(selective.policy)].value);
    return "none";
}

bool hasEffect(const Field &field, const TrainingPlan &plan) { return field.inapplicable == nullptr || field.inapplicable(plan).empty(); }

} // namespace

std::vector<PlanDifference> planDifferences(const TrainingPlan &ran, const TrainingPlan &given)
{
    std::vector<PlanDifference> differences;
    for (const Field &field : fields()) {
        if (field.path == "name") {
            if (!sameModel(ran, given))
                differences.push_back({"model", "Model", modelText(ran), modelText(given)});
            continue;
        }
        if (field.path == "gpus")
            continue;
        const FieldValue there = field.get(ran), here = field.get(given);
        if (there != here && (hasEffect(field, ran) || hasEffect(field, given)))
            differences.push_back({std::string(field.path), std::string(field.label), excerpt(displayValue(field, there), 200),
                                   excerpt(displayValue(field, here), 200)});
        if (field.path == "checkpointing" && ran.selective != given.selective &&
            (ran.checkpointing == Checkpointing::Selective || given.checkpointing == Checkpointing::Selective))
            differences.push_back({"selective", "Selective checkpointing", selectiveText(ran.selective), selectiveText(given.selective)});
    }
    return differences;
}

std::string differencesText(const std::vector<PlanDifference> &differences)
{
    std::string text;
    for (const PlanDifference &difference : differences)
        text += fmt::format("{}{} ({} there, {} here)", text.empty() ? "" : ", ", difference.label, difference.ran, difference.given);
    return text;
}

} // namespace headroom
