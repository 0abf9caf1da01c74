// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// fuzz_parsers SUBJECT: feeds mutated texts to a parser. A crash, a sanitizer's finding, an exception or a broken promise
// of the parser's header fails; the text that did it is printed, and the seed is fixed, so that it happens again.
#include "core/allocator/replay.h"
#include "core/estimate/estimate.h"
#include "core/measure/memory_timeline.h"
#include "core/measure/probe_result.h"
#include "core/plan/fields.h"
#include "core/plan/plan_json.h"
#include "core/units/text.h"
#include "mutator.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>

using namespace headroom;

namespace {

constexpr const char *smallConfig =
    R"({"model_type": "qwen3", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, )"
    R"("head_dim": 16, "intermediate_size": 128, "vocab_size": 256, "tie_word_embeddings": true, "sliding_window": null})";

void require(bool condition, const char *promise)
{
    if (!condition)
        throw std::logic_error(promise);
}

/// What every Issue promises. False: what was fed is refused.
bool requireUseful(const Issue &issue)
{
    require(!issue.what.empty(), "an issue says what is wrong");
    require(!issue.hint.empty(), "an issue says how to mend it");
    return false;
}

bool feedPlan(const std::string &text)
{
    const Result<TrainingPlan> plan = readPlan(text);
    if (!plan)
        return requireUseful(plan.issue());
    require(isValidUtf8(text) && text.find('\0') == std::string::npos, "a plan that was read is UTF-8 to its last byte");
    for (const PlanStyle style : {PlanStyle::Short, PlanStyle::Complete}) {
        const Result<TrainingPlan> again = readPlan(writePlan(*plan, style));
        require(again.ok(), "a plan that was written can be read");
        require(*again == *plan, "a plan that was written and read is equal");
    }
    for (const Issue &issue : validate(*plan))
        requireUseful(issue);
    return true;
}

bool feedSetting(const std::string &text)
{
    TrainingPlan plan;
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string_view value = std::string_view(text).substr(std::min(equals + 1, text.size()));
    static const std::string document = writePlan(TrainingPlan(), PlanStyle::Complete);
    const int line = lineOf(document, text.substr(0, equals));
    require(line >= 0 && line <= std::count(document.begin(), document.end(), '\n'), "a path has a line of its document, or none");
    if (const std::optional<Issue> issue = assign(plan, text.substr(0, equals), value)) {
        require(plan == TrainingPlan(), "a plan is untouched where a field could not be set");
        return requireUseful(*issue);
    }
    return true;
}

bool feedResult(const std::string &text)
{
    const Result<ProbeResult> result = readProbeResult(text);
    if (!result)
        return requireUseful(result.issue());
    require(!result->steps.empty() || result->error, "a result has steps, or an error that says why not");
    require(result->rank < result->ranks, "a rank is one of the ranks");
    for (const ProbeStep &step : result->steps)
        require(step.allocated.value >= 0 && step.reserved.value_or(Bytes{}).value >= 0, "no figure is negative");
    return true;
}

bool feedTimeline(const std::string &text)
{
    const Result<MemoryTimeline> timeline = readMemoryTimeline(text);
    if (!timeline)
        return requireUseful(timeline.issue());
    require(timeline->events >= static_cast<std::int64_t>(timeline->points.size()), "a timeline has no more points than events");
    for (const MemoryTimeline::Point &point : timeline->points)
        require(point.microseconds >= 0 && point.allocated.value >= 0 && point.reserved.value >= 0, "no figure is negative");
    return true;
}

bool feedConfig(const std::string &text)
{
    const Result<ModelConfig> config = readModelConfig(text);
    if (!config)
        return requireUseful(config.issue());
    require(isValidUtf8(text) && text.find('\0') == std::string::npos, "a config that was read is UTF-8 to its last byte");
    require(config->hiddenSize > 0 && config->layers > 0 && config->vocabSize > 0, "a config that was read has sizes");
    return true;
}

bool feedAllocator(const std::string &text)
{
    const Result<std::string> answer = replayAllocatorLine(text);
    if (!answer)
        return requireUseful(answer.issue());
    require(nlohmann::json::accept(*answer), "an answer is JSON");
    return true;
}

bool feedEstimate(const std::string &text)
{
    const Result<TrainingPlan> plan = readPlan(text);
    if (!plan || !validate(*plan).empty())
        return false;
    const Result<ModelConfig> model = resolveModel(*plan);
    // What takes long is not what is looked for here.
    if (!model || model->layers > 8 || plan->batch.gradientAccumulation > 8)
        return false;
    const Result<std::shared_ptr<const Estimate>> result = estimate(*plan);
    if (!result)
        return requireUseful(result.issue());
    const Estimate &estimate = **result;
    for (const Peak *peak : {&estimate.peak, &estimate.firstStep}) {
        require(peak->components.total() == peak->allocated, "the components add up to allocated");
        for (Bytes part : peak->components.bytes)
            require(part.value >= 0, "no component is negative");
        require(peak->reserved >= peak->allocated && peak->device >= peak->reserved, "allocated <= reserved <= device");
    }
    require(nlohmann::json::accept(writeEstimate(estimate)), "an estimate is JSON");
    return true;
}

/// A plan that differs from a seed in a few fields, each of which has one of its choices or an extreme of its range: most
/// of these can be read, and many be estimated.
std::string plausiblePlan(Mutator &mutator, const std::vector<std::string> &seeds)
{
    TrainingPlan plan = *readPlan(seeds[mutator.below(seeds.size())]);
    for (std::size_t left = 1 + mutator.below(5); left > 0; --left) {
        const Field &field = fields()[mutator.below(fields().size())];
        FieldValue value;
        switch (field.type) {
        case FieldType::Boolean: value = mutator.below(2) == 1; break;
        case FieldType::Integer:
            value =
                static_cast<std::int64_t>(mutator.below(3) == 0 ? field.minimum : field.minimum + static_cast<double>(mutator.below(9)));
            break;
        case FieldType::Real: value = mutator.below(2) == 0 ? field.minimum : field.maximum; break;
        case FieldType::Choice:
            if (!field.choices.empty())
                value = std::string(field.choices[mutator.below(field.choices.size())].value);
            break;
        case FieldType::Text:
        case FieldType::TextList: continue;
        }
        // What does not go together is left as it was.
        static_cast<void>(setField(plan, field, value));
    }
    return writePlan(plan);
}

std::string anyText(Mutator &mutator, const std::vector<std::string> &seeds) { return mutator.mutate(seeds); }

struct Subject {
    bool (*feed)(const std::string &); ///< whether the text was accepted
    std::vector<std::string> seeds;
    int runs = 20'000;
    std::string (*next)(Mutator &, const std::vector<std::string> &) = anyText;
};

// Families whose layers are made in ways of their own.
constexpr const char *hybridConfig =
    R"({"model_type": "granitemoehybrid", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 128, "vocab_size": 256, "layer_types": ["attention", "attention"], "num_local_experts": 4, "num_experts_per_tok": 2, "shared_intermediate_size": 32})";
constexpr const char *codegenConfig =
    R"({"model_type": "codegen", "n_embd": 64, "n_layer": 2, "n_head": 4, "rotary_dim": 8, "n_positions": 64, "vocab_size": 256})";
constexpr const char *latentConfig =
    R"({"model_type": "deepseek_v3", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 128, "vocab_size": 256, "q_lora_rank": null, "kv_lora_rank": 16, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16, "n_routed_experts": 8, "moe_intermediate_size": 16, "num_experts_per_tok": 2, "n_group": 4, "topk_group": 2, "first_k_dense_replace": 1})";
constexpr const char *optConfig =
    R"({"model_type": "opt", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 128, "vocab_size": 256, "word_embed_proj_dim": 32})";
constexpr const char *falconConfig =
    R"({"model_type": "falcon", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 256, "new_decoder_architecture": true, "num_kv_heads": 2, "num_ln_in_parallel_attn": 1, "alibi": false})";
constexpr const char *mptConfig =
    R"({"model_type": "mpt", "d_model": 64, "n_layers": 2, "n_heads": 4, "vocab_size": 256, "max_seq_len": 64, "attn_config": {"clip_qkv": 8.0, "attn_pdrop": 0}})";
constexpr const char *gptNeoConfig =
    R"({"model_type": "gpt_neo", "hidden_size": 64, "num_layers": 2, "num_heads": 4, "vocab_size": 256, "max_position_embeddings": 64, "attention_types": [[["global", "local"], 1]]})";

std::vector<std::string> planSeeds()
{
    TrainingPlan plan;
    plan.model = {"", smallConfig, ""};
    plan.batch.sequenceLength = 32;
    std::vector<std::string> seeds = {writePlan(plan, PlanStyle::Short), writePlan(plan, PlanStyle::Complete)};
    plan.method.kind = MethodKind::Lora;
    plan.method.targets = {false, {"q_proj", "v_proj"}};
    plan.precision.recipe = Recipe::Bf16Master;
    plan.precision.master = {DtypeOverride::State::None, DType::Float32};
    plan.parallel.engine = Engine::DeepSpeed;
    plan.parallel.data = 4;
    plan.parallel.zeroStage = 2;
    plan.checkpointing = Checkpointing::Full;
    plan.gpus = {"nvidia-rtx-4090-24gb"};
    seeds.push_back(writePlan(plan, PlanStyle::Complete));
    for (const char *config : {hybridConfig, codegenConfig, latentConfig, optConfig, falconConfig, mptConfig, gptNeoConfig}) {
        TrainingPlan other;
        other.model = {"", config, ""};
        other.batch.sequenceLength = 32;
        seeds.push_back(writePlan(other, PlanStyle::Short));
    }
    return seeds;
}

std::map<std::string, Subject> subjects()
{
    return {
        {"plan", {feedPlan, planSeeds()}},
        {"setting",
         {feedSetting,
          {"batch.micro_batch=4", "method.targets=[\"q_proj\"]", "name=a plan", "selective={\"every\": 2}", "gpus=[]",
           "precision.master=none", "selective.every=2", "gpus[0]=a", "model.config.hidden_size=5"}}},
        {"config",
         {feedConfig,
          {smallConfig,
           R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 256, "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}})",
           R"({"model_type": "mistral", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 128, "vocab_size": 256, "layer_types": ["full_attention", "full_attention"], "pad_token_id": 0, "eos_token_id": [1, 2], "torch_dtype": "bfloat16", "rope_theta": 1e4, "rope_parameters": {"rope_type": "yarn", "factor": 4.0}})",
           R"({"model_type": "phi3", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 256, "rope_scaling": {"type": "longrope", "short_factor": [1, 1, 1, 1, 1, 1, 1, 1], "long_factor": [1, 2, 3, 4, 5, 6, 7, 8]}})",
           hybridConfig, codegenConfig, latentConfig, optConfig, falconConfig, mptConfig, gptNeoConfig}}},
        {"allocator",
         {feedAllocator,
          {R"({"config": {"capacity_bytes": 85899345920, "max_split_size_mb": null, "expandable_segments": false, "roundup_power2_divisions": null, )"
           R"("garbage_collection_threshold": null, "memory_fraction": null}, "events": [[1, 0, 513, 0], [1, 1, 3000000, 0], [-1, 0], [1, 2, 100, 1], [-1, 1]]})",
           R"({"config": {"capacity_bytes": 104857600, "max_split_size_mb": 40, "expandable_segments": true, "roundup_power2_divisions": "[256:1,512:2,>:8]", )"
           R"("garbage_collection_threshold": 0.8, "memory_fraction": 0.5}, "events": [[1, 5, 30000000, 0], [-1, 5], [1, 6, 60000000, 0]]})"}}},
        {"result",
         {feedResult,
          {R"({"headroom_probe": 1, "plan": {"headroom_plan": 1, "model": {"preset": "Qwen/Qwen3-8B"}}, "how": "gpu", "versions": {"torch": "2.13.0", "peft": null}, )"
           R"("gpu": {"name": "NVIDIA H200", "capacity": 150754820096, "compute_capability": "9.0", "used_by_others": 0}, "rank": 0, "ranks": 2, )"
           R"("parameters": {"total": 100, "trainable": 10}, "steady": {"weights": 2048, "gradients": 0, "optimizer": 512, "allocated": 4096}, )"
           R"("saved_activations": 1024, "steps": [{"seconds": 1.5, "tokens_per_second": 10, "allocated": 8192, "reserved": 16384, "device": null, )"
           R"("phases": [{"name": "forward", "allocated": 8192, "active": 8192, "reserved": 16384}]}], "error": null})",
           R"({"headroom_probe": 1, "plan": {"headroom_plan": 1, "model": {"preset": "Qwen/Qwen3-8B"}}, "how": "dry-run", "gpu": null, "steps": [], )"
           R"("error": {"kind": "out-of-memory", "message": "CUDA out of memory", "step": 0, "phase": "backward"}})"}}},
        {"timeline",
         {feedTimeline,
          {R"({"headroom_memory_timeline": 1, "device": 0, "events": 3, "began_us": 1000, "at_start": {"allocated": 100, "reserved": 1000}, )"
           R"("at_end": {"allocated": 300, "reserved": 2000}, "peak": {"allocated": 500, "reserved": 2000}, "out_of_memory": 0, )"
           R"("time_us": [0, 5, 9], "allocated": [500, 200, 300], "reserved": [2000, 2000, 2000], )"
           R"("segments": [{"size": 2000, "allocated": 300, "stream": 0, "pool": "small", "expandable": false}]})"}}},
        {"estimate", {feedEstimate, planSeeds(), 2'000, plausiblePlan}},
    };
}

} // namespace

int main(int argc, char **argv)
{
    const std::map<std::string, Subject> all = subjects();
    const auto found = argc == 2 ? all.find(argv[1]) : all.end();
    if (found == all.end()) {
        std::fprintf(stderr, "fuzz_parsers SUBJECT, one of:");
        for (const auto &[name, subject] : all)
            std::fprintf(stderr, " %s", name.c_str());
        std::fprintf(stderr, "\n");
        return 2;
    }
    const char *const seconds = std::getenv("HEADROOM_FUZZ_SECONDS");
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds ? std::atoi(seconds) : 0);
    const Subject &subject = found->second;
    Mutator mutator(1);
    int runs = 0, accepted = 0;
    for (; runs < subject.runs || std::chrono::steady_clock::now() < end; ++runs) {
        const std::string text = subject.next(mutator, subject.seeds);
        try {
            accepted += subject.feed(text) ? 1 : 0;
        } catch (const std::exception &error) {
            std::fprintf(stderr, "run %d of fuzz_parsers %s: %s\nthe text:\n", runs, argv[1], error.what());
            std::fwrite(text.data(), 1, text.size(), stderr);
            std::fprintf(stderr, "\n");
            return 1;
        }
    }
    std::printf("%d texts, %d of them accepted\n", runs, accepted);
    return accepted > 0 ? 0 : 1; // where all are refused at the door, nothing was tried
}
