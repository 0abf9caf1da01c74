// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/fields.h"
#include "core/report/sections.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace headroom {

namespace {

/// Shown whatever their value: a reader looks for them. Of the others only what differs from the default.
constexpr std::array<std::string_view, 13> alwaysShown = {"method.kind",
                                                          "precision.recipe",
                                                          "batch.micro_batch",
                                                          "batch.sequence_length",
                                                          "batch.gradient_accumulation",
                                                          "optimizer.kind",
                                                          "checkpointing",
                                                          "attention",
                                                          "loss",
                                                          "parallel.engine",
                                                          "stack",
                                                          "runtime.torch",
                                                          "runtime.transformers"};

std::string modelText(const Estimate &estimate)
{
    const ModelChoice &choice = estimate.plan.model;
    if (!choice.configPath.empty())
        return fmt::format("{} ({})", choice.configPath, estimate.model.modelType);
    return choice.config.empty() ? choice.preset : fmt::format("the plan's own config ({})", estimate.model.modelType);
}

std::string selectiveText(const Selective &selective)
{
    if (selective.every)
        return fmt::format("every {} layers", *selective.every);
    if (!selective.operators.empty())
        return fmt::format("saved: {}", fmt::join(selective.operators, ", "));
    switch (selective.policy) {
    case SelectivePolicy::Torchtitan: return "torchtitan's policy";
    case SelectivePolicy::Megatron: return "Megatron's policy";
    case SelectivePolicy::None: break;
    }
    return "not given";
}

ReportTable settingsTable(const Estimate &estimate)
{
    ReportTable table{"Settings", {"Setting", "Value", "Field"}, {false, false, false}, {}};
    table.rows.push_back({"Model", modelText(estimate), "model"});
    const TrainingPlan defaults;
    for (const Field &field : fields()) {
        if (field.path == "name" || field.path == "gpus")
            continue;
        const FieldValue value = field.get(estimate.plan);
        const bool always = std::find(alwaysShown.begin(), alwaysShown.end(), field.path) != alwaysShown.end();
        const bool applies = !field.inapplicable || field.inapplicable(estimate.plan).empty();
        // Given but without effect in this plan: leaving it out keeps the table to what moved the figures.
        if (!applies || (!always && value == field.get(defaults)))
            continue;
        table.rows.push_back({std::string(field.label), displayValue(field, value), std::string(field.path)});
        if (field.path == "checkpointing" && estimate.plan.checkpointing == Checkpointing::Selective)
            table.rows.push_back({"Selective checkpointing", selectiveText(estimate.plan.selective), "selective"});
    }
    return table;
}

ReportTable modelTable(const Estimate &estimate)
{
    const ModelConfig &model = estimate.model;
    ReportTable table{"Model", {"Property", "Value"}, {false, true}, {}};
    const auto add = [&table](std::string property, std::string value) { table.rows.push_back({std::move(property), std::move(value)}); };
    add("Architecture", model.modelType);
    add("Parameters", formatCount(estimate.parametersTotal));
    add("Trainable parameters", formatCount(estimate.parametersTrainable));
    add("Layers", formatCount(model.layers));
    add("Hidden size", formatCount(model.hiddenSize));
    add("Intermediate size", formatCount(model.intermediateSize));
    add("Attention heads", formatCount(model.heads));
    add("Key and value heads", formatCount(model.keyValueHeads));
    add("Size of a head", formatCount(model.headDim));
    add("Vocabulary", formatCount(model.vocabSize));
    add("Output head", model.tiedEmbeddings ? "shares the embedding's weight" : "has a weight of its own");
    return table;
}

} // namespace

ReportSection planSection(const Estimate &estimate)
{
    ReportSection section;
    section.heading = "What is planned";
    section.paragraphs.emplace_back("Settings that are not listed have the defaults of the plan format or no effect in this plan.");
    section.tables.push_back(settingsTable(estimate));
    section.tables.push_back(modelTable(estimate));
    return section;
}

} // namespace headroom
