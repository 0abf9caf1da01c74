// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/step_record.h"
#include "core/plan/plan_json.h"

#include <QTest>

#include <utility>
#include <vector>

/// Plans of many kinds, small enough that all of them are executed in a moment.
namespace planspread {

using namespace headroom;

/// A plan from its JSON; our own mistake where that is wrong.
inline TrainingPlan planOf(const std::string &json)
{
    Result<TrainingPlan> plan = readPlan(json);
    if (!plan)
        qFatal("%s", toString(plan.issue()).c_str());
    return *std::move(plan);
}

/// The estimate of a plan that must have one.
inline std::shared_ptr<const Estimate> estimated(const TrainingPlan &plan)
{
    auto result = estimate(plan);
    if (!result)
        qFatal("%s", toString(result.issue()).c_str());
    return *std::move(result);
}

/// A field set by its path, as --set does.
inline void set(TrainingPlan &plan, std::string_view path, std::string_view value)
{
    if (const auto issue = assign(plan, path, value))
        qFatal("%s", toString(*issue).c_str());
}

/// A small model: three layers, grouped heads.
inline std::string smallConfig(const std::string &type, const std::string &more = {})
{
    return R"({"model_type": ")" + type +
           R"(", "hidden_size": 256, "intermediate_size": 704, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 1000)" +
           more + "}";
}

inline TrainingPlan smallPlan(const std::string &type = "llama", const std::string &more = {})
{
    TrainingPlan plan;
    plan.batch.microBatch = 2;
    plan.batch.sequenceLength = 192;
    plan.model = {{}, smallConfig(type, more), {}};
    return plan;
}

struct NamedPlan {
    QByteArray name;
    TrainingPlan plan;
};

/// Models x methods x recipes x checkpointing x attention, and each optimizer and choice of the loop.
inline std::vector<NamedPlan> spread()
{
    using Fields = std::vector<std::pair<const char *, const char *>>;
    const std::pair<const char *, TrainingPlan> models[] = {
        {"llama", smallPlan("llama")}, {"qwen3", smallPlan("qwen3")}, {"tied", smallPlan("qwen2", R"(, "tie_word_embeddings": true)")}};
    const std::pair<const char *, Fields> methods[] = {
        {"full", {}},
        {"lora", {{"method.kind", "lora"}}},
        {"lora-dropout", {{"method.kind", "lora"}, {"method.dropout", "0.1"}, {"method.adapter_dtype", "bfloat16"}}}};
    const std::pair<const char *, Fields> recipes[] = {
        {"bf16", {}}, {"fp32", {{"precision.recipe", "fp32"}}}, {"autocast", {{"precision.recipe", "bf16-autocast"}}}};
    const std::pair<const char *, Fields> checkpointing[] = {
        {"", {}}, {"-ac", {{"checkpointing", "full"}}}, {"-reentrant", {{"checkpointing", "full"}, {"reentrant_checkpointing", "true"}}}};
    const std::pair<const char *, Fields> attention[] = {{"", {}}, {"-eager", {{"attention", "eager"}}}};
    const auto apply = [](TrainingPlan &plan, const Fields &values) {
        for (const auto &[path, value] : values)
            set(plan, path, value);
    };
    std::vector<NamedPlan> out;
    for (const auto &[model, base] : models)
        for (const auto &[method, methodFields] : methods)
            for (const auto &[recipe, recipeFields] : recipes)
                for (const auto &[ac, acFields] : checkpointing)
                    for (const auto &[kind, kindFields] : attention) {
                        NamedPlan &named = out.emplace_back(NamedPlan{QByteArray(model) + "-" + method + "-" + recipe + ac + kind, base});
                        for (const Fields &values : {methodFields, recipeFields, acFields, kindFields})
                            apply(named.plan, values);
                    }
    const std::pair<const char *, Fields> others[] = {
        {"foreach", {{"optimizer.implementation", "foreach"}}},
        {"for-loop", {{"optimizer.implementation", "for-loop"}}},
        {"sgd", {{"optimizer.kind", "sgd"}}},
        {"momentum", {{"optimizer.kind", "sgd-momentum"}, {"optimizer.implementation", "foreach"}}},
        {"in-backward", {{"optimizer.in_backward", "true"}}},
        {"accumulation", {{"batch.gradient_accumulation", "3"}}},
        {"zeros", {{"loop.zero_grad", "zeros"}}},
        {"held-clip", {{"loop.outputs_held", "true"}, {"loop.clip_grad_norm", "true"}}},
        {"liger", {{"kernels", "liger"}, {"loss", "fused-linear"}}},
        {"torchtitan", {{"checkpointing", "selective"}, {"selective.policy", "torchtitan"}}},
        {"megatron", {{"checkpointing", "selective"}, {"selective.policy", "megatron"}, {"attention", "eager"}}},
        {"operators", {{"checkpointing", "selective"}, {"selective.operators", R"(["attention", "mlp"])"}}},
        {"expandable", {{"runtime.expandable_segments", "true"}}},
        {"rounded", {{"runtime.allocator", "rounded"}, {"runtime.cublas_workspace_bytes", "0"}}},
        {"long", {{"batch.micro_batch", "1"}, {"batch.sequence_length", "4096"}}},
        {"one-token", {{"batch.micro_batch", "1"}, {"batch.sequence_length", "1"}}},
    };
    for (const auto &[name, values] : others)
        for (const char *method : {"full", "lora"}) {
            NamedPlan &named = out.emplace_back(NamedPlan{QByteArray(name) + "-" + method, smallPlan("llama")});
            set(named.plan, "method.kind", method);
            apply(named.plan, values);
        }
    return out;
}

/// A row of the test for each plan, with the column "index".
inline void addRows(const std::vector<NamedPlan> &plans)
{
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < plans.size(); ++i)
        QTest::newRow(plans[i].name) << static_cast<int>(i);
}

} // namespace planspread
