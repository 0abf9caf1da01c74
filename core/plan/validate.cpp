// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/hardware/gpu.h"
#include "core/model/catalogue.h"
#include "core/plan/choices.h"
#include "core/plan/fields.h"
#include "core/units/text.h"

#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace headroom {

namespace {

/// Collects what is found; one function for each part of the plan.
class Validator
{
public:
    explicit Validator(const TrainingPlan &plan)
        : m_plan(plan)
    {}

    std::vector<Issue> run()
    {
        checkModel();
        checkOptimizer();
        checkSaving();
        checkEngine();
        checkSplitting();
        checkRank();
        checkGpus();
        return std::move(m_issues);
    }

private:
    void add(std::string_view where, std::string what, std::string hint)
    {
        m_issues.push_back({{}, 0, std::string(where), std::move(what), std::move(hint)});
    }

    void checkModel()
    {
        const ModelChoice &model = m_plan.model;
        const int given = (model.preset.empty() ? 0 : 1) + (model.config.empty() ? 0 : 1) + (model.configPath.empty() ? 0 : 1);
        if (given != 1)
            return add("model", given == 0 ? "names no model" : "names more than one model", "give a preset, a config or a config_path");
        if (model.preset.empty() || findModelPreset(model.preset) != nullptr)
            return;
        std::vector<std::string_view> ids;
        for (const ModelPreset &preset : modelPresets())
            ids.push_back(preset.id);
        const std::optional<std::string_view> meant = nearest(model.preset, ids);
        add("model.preset", fmt::format("no preset is called \"{}\"", excerpt(model.preset)),
            meant ? fmt::format("did you mean \"{}\"?", *meant)
                  : "headroom-cli presets lists them; or give the model's config.json as config_path");
    }

    void checkOptimizer()
    {
        if (!m_plan.optimizer.inBackward)
            return;
        if (m_plan.batch.gradientAccumulation > 1)
            add("optimizer.in_backward", "a step inside backward frees each gradient before the next micro-batch could add to it",
                "set batch.gradient_accumulation to 1 or optimizer.in_backward to false");
        if (m_plan.loop.clipGradNorm)
            add("loop.clip_grad_norm", "a step inside backward frees each gradient before the norm of all is known",
                "set loop.clip_grad_norm or optimizer.in_backward to false");
    }

    void checkSaving()
    {
        const bool given = m_plan.selective != Selective();
        // torchtitan and Megatron-LM have a selection of their own.
        const bool stackSelects = m_plan.stack == Stack::Torchtitan || m_plan.stack == Stack::Megatron;
        if (m_plan.checkpointing == Checkpointing::Selective && !given && !stackSelects)
            add("selective", "checkpointing is selective, but nothing says what is kept",
                R"(give selective, for example {"every": 2}, or set checkpointing to "none" or "full")");
        if (m_plan.checkpointing != Checkpointing::Selective && given)
            add("selective",
                fmt::format("checkpointing is {}: there is nothing to select",
                            choices::checkpointing[static_cast<std::size_t>(m_plan.checkpointing)].value),
                R"(set checkpointing to "selective" or selective to null)");
        const bool keepsResults = !m_plan.selective.operators.empty() || m_plan.selective.policy == SelectivePolicy::Torchtitan;
        if (keepsResults && m_plan.reentrantCheckpointing)
            add("reentrant_checkpointing", "reentrant checkpointing computes a layer again whole: it keeps no operator's results",
                R"(set it to false, or select layers: {"every": 2})");
    }

    void checkEngine()
    {
        const Parallel &parallel = m_plan.parallel;
        const std::int64_t stage = parallel.zeroStage.value_or(0);
        switch (parallel.engine) {
        case Engine::None:
            if (parallel.data > 1)
                add("parallel.data", fmt::format("{} GPUs without an engine", parallel.data),
                    R"(set parallel.engine, for example to "deepspeed", or parallel.data to 1)");
            if (stage > 0)
                add("parallel.zero_stage", fmt::format("stage {} without an engine", stage),
                    R"(set parallel.engine to "deepspeed", or parallel.zero_stage to null)");
            for (const auto &[path, ranks] : modelParallel())
                if (ranks > 1)
                    add(path, fmt::format("{} GPUs without an engine", ranks), fmt::format("set parallel.engine, or {} to 1", path));
            if (parallel.offload != Offload::None)
                add("parallel.offload", "nobody offloads without an engine", R"(set parallel.engine, or parallel.offload to "none")");
            break;
        case Engine::Ddp:
            if (stage > 0)
                add("parallel.zero_stage", "DDP shards nothing",
                    R"(set parallel.engine to "deepspeed" or "fsdp2", or parallel.zero_stage to 0)");
            if (parallel.offload != Offload::None)
                add("parallel.offload", "DDP offloads nothing", R"(set parallel.offload to "none")");
            break;
        case Engine::DeepSpeed:
            if (parallel.offload == Offload::Optimizer && stage == 0)
                add("parallel.offload", "DeepSpeed offloads optimizer state from stage 1 on", "set parallel.zero_stage to 1, 2 or 3");
            if (parallel.offload == Offload::OptimizerAndParameters && stage != 3)
                add("parallel.offload", "DeepSpeed offloads parameters with stage 3 only", "set parallel.zero_stage to 3");
            break;
        case Engine::Fsdp1:
        case Engine::Fsdp2:
            if (parallel.zeroStage && stage < 2)
                add("parallel.zero_stage", fmt::format("FSDP knows no stage {}", stage),
                    "set it to 3 (full sharding), 2 (gradients and optimizer state) or null");
            break;
        case Engine::Megatron:
            if (stage > 1)
                add("parallel.zero_stage", fmt::format("Megatron-LM knows no stage {}", stage),
                    "set it to 1 (the distributed optimizer), 0 or null");
            break;
        }
    }

    void checkSplitting()
    {
        const Parallel &parallel = m_plan.parallel;
        if (parallel.sequenceParallel && parallel.tensor == 1)
            add("parallel.sequence_parallel", "sequence parallelism divides among the GPUs of tensor parallelism, of which there is one",
                "set parallel.tensor above 1 or parallel.sequence_parallel to false");
        if (parallel.virtualPipeline > 1 && parallel.pipeline == 1)
            add("parallel.virtual_pipeline", "a pipeline of one stage cannot be interleaved",
                "set parallel.pipeline above 1 or parallel.virtual_pipeline to 1");
    }

    void checkRank()
    {
        std::int64_t rank = 0;
        const std::string &text = m_plan.runtime.rank;
        if (std::from_chars(text.data(), text.data() + text.size(), rank).ec != std::errc())
            return;
        // In doubles: the product is only compared.
        double ranks = static_cast<double>(m_plan.parallel.data) * static_cast<double>(m_plan.parallel.tensor);
        ranks *= static_cast<double>(m_plan.parallel.pipeline) * static_cast<double>(m_plan.parallel.context);
        if (static_cast<double>(rank) >= ranks)
            add("runtime.rank", fmt::format("there is no rank {} among {:.0f}", rank, ranks),
                fmt::format("write a number from 0 to {:.0f}", ranks - 1));
    }

    void checkGpus()
    {
        std::vector<std::string_view> ids;
        for (const Gpu &gpu : gpus())
            ids.push_back(gpu.id);
        for (std::size_t i = 0; i < m_plan.gpus.size(); ++i) {
            if (findGpu(m_plan.gpus[i]) != nullptr)
                continue;
            const std::optional<std::string_view> meant = nearest(m_plan.gpus[i], ids);
            add(fmt::format("gpus[{}]", i), fmt::format("no GPU is called \"{}\"", excerpt(m_plan.gpus[i])),
                meant ? fmt::format("did you mean \"{}\"?", *meant) : "headroom-cli gpus lists them");
        }
    }

    std::array<std::pair<std::string_view, std::int64_t>, 4> modelParallel() const
    {
        const Parallel &parallel = m_plan.parallel;
        return {{{"parallel.tensor", parallel.tensor},
                 {"parallel.pipeline", parallel.pipeline},
                 {"parallel.context", parallel.context},
                 {"parallel.expert", parallel.expert}}};
    }

    const TrainingPlan &m_plan;
    std::vector<Issue> m_issues;
};

} // namespace

std::vector<Issue> validate(const TrainingPlan &plan) { return Validator(plan).run(); }

} // namespace headroom
