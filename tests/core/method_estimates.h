// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/core/trace_difference.h"

#include "core/estimate/step_record.h"
#include "core/model/model_json.h"
#include "core/plan/plan_json.h"
#include "core/training/step.h"

#include <fmt/format.h>

#include <functional>
#include <string_view>

/// Estimates of small plans, and what a test asks about the storages behind them.
namespace headroom::test {

/// A Llama of one layer: hidden size 1024, MLP 4096, 16 heads of 64, vocabulary 2048.
inline constexpr std::string_view smallLlama =
    R"({"model_type": "llama", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 1, "num_attention_heads": 16,
        "num_key_value_heads": 16, "vocab_size": 2048, "max_position_embeddings": 4096, "tie_word_embeddings": false})";

/// `fields`: further top-level keys of the plan, as JSON text, each with a comma before it. Null where it is refused.
inline std::shared_ptr<const Estimate> estimateOf(std::string_view fields, std::string_view config = smallLlama,
                                                  std::string_view transformers = "5.24")
{
    const Result<TrainingPlan> plan = readPlan(fmt::format(
        R"({{"headroom_plan": 1, "model": {{"config": {}}}, "runtime": {{"transformers": "{}", "allocator": "rounded",
            "cublas_workspace_bytes": 0}}{}}})",
        config, transformers, fields));
    if (!plan)
        return nullptr;
    const auto result = estimate(*plan);
    return result ? *result : nullptr;
}

/// Whether the trace of `layers` layers made from fewer is the one that executing all of them gives.
inline bool layersRepeat(std::string_view fields, std::string_view config, std::int64_t layers)
{
    const Result<TrainingPlan> plan = readPlan(fmt::format(R"({{"headroom_plan": 1, "model": {{"config": {}}}{}}})", config, fields));
    Result<ModelConfig> model = readModelConfig(config);
    if (!plan || !model)
        return false;
    model->layers = layers;
    using tracedifference::workspaceBytes;
    const training::TrainingRun copied = training::run(*plan, *model, 3, workspaceBytes);
    const training::TrainingRun executed = training::run(*plan, *model, 3, workspaceBytes, {}, training::Repeat::Execute);
    const autograd::Trace &a = copied.trace, &b = executed.trace;
    if (copied.executedGroups == 0 || copied.parametersTotal != executed.parametersTotal ||
        copied.parametersTrainable != executed.parametersTrainable || a.events.size() != b.events.size() ||
        a.storages.size() != b.storages.size() || a.cacheReleases != b.cacheReleases)
        return false;
    for (std::size_t i = 0; i < a.events.size(); ++i)
        if (a.events[i].release != b.events[i].release || a.storages[a.events[i].storage].bytes != b.storages[b.events[i].storage].bytes)
            return false;
    return true;
}

using Condition = std::function<bool(const autograd::StorageRecord &)>;

/// Storages of loading and three steps.
inline std::int64_t countOf(const Estimate &estimate, const Condition &condition)
{
    const auto record = recordOfSteps(estimate, 3);
    std::int64_t n = 0;
    for (const autograd::StorageRecord &storage : record->trace().storages)
        n += condition(storage) ? 1 : 0;
    return n;
}

/// Their bytes, as requested, not rounded.
inline std::int64_t bytesOf(const Estimate &estimate, const Condition &condition)
{
    const auto record = recordOfSteps(estimate, 3);
    std::int64_t sum = 0;
    for (const autograd::StorageRecord &storage : record->trace().storages)
        sum += condition(storage) ? storage.bytes : 0;
    return sum;
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

} // namespace headroom::test
