// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/estimate.h"

#include "core/estimate/checkpointing_cost.h"
#include "core/estimate/error_band.h"
#include "core/estimate/execution.h"
#include "core/estimate/outside.h"
#include "core/estimate/step_record.h"
#include "core/hardware/gpu.h"
#include "core/model/catalogue.h"
#include "core/network/adapters.h"
#include "core/network/builder.h"
#include "core/network/gptq.h"
#include "core/plan/fields.h"
#include "core/training/step.h"
#include "core/units/checked.h"
#include "core/units/strict_json.h"
#include "core/units/text.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headroom {

namespace {

Verdict judge(Bytes capacity, Bytes device, const Band &band)
{
    const double margin = band.device.value_or(0.0) * static_cast<double>(device.value);
    if (static_cast<double>(std::abs((capacity - device).value)) <= margin)
        return Verdict::Tight;
    return device <= capacity ? Verdict::Fits : Verdict::DoesNotFit;
}

GpuEstimate judgeOnGpu(const TrainingPlan &plan, const Gpu &gpu, const OnGpu &within, const Band &band)
{
    const StepRecord &used = *within.record;
    const Bytes outside = total(outsideOfPyTorch(plan, &gpu));
    Peak peak = highestPeak(used, outside);
    // Where steps would fit and loading does not, loading is what decides.
    if (const PhasePeak load = used.phasePeak(0, Phase::Load); within.outOfMemory && load.reserved > peak.reserved) {
        peak.reserved = load.reserved;
        peak.allocated = load.allocated;
        peak.device = load.reserved + outside;
    }
    GpuEstimate out{gpu.id, gpu.title(), gpu.capacity, Verdict::Fits, true, {}, {}, {}, {}, within.outOfMemory.value_or(peak.phase)};
    out.allocated = std::max({peak.allocated, used.peak(0).allocated, used.peak(used.steps() - 1).allocated});
    out.reserved = peak.reserved;
    out.device = peak.device;
    out.fits = out.device <= out.capacity;
    out.headroom = out.capacity - out.device;
    out.verdict = judge(out.capacity, out.device, band);
    return out;
}

/// What the plan does on one of its GPUs. Kernels may be chosen by the GPU: then the step is executed for this one.
OnGpu onGpu(const TrainingPlan &plan, const Gpu &gpu, const ModelConfig &model, const std::shared_ptr<const StepRecord> &unlimited,
            const std::stop_token &cancel)
{
    Executor executor{plan, model, cublasWorkspaceBytes(plan, &gpu), cancel};
    executor.plan.gpus = {gpu.id};
    if (!training::kernelsDependOnGpu(plan) || training::kernelGpu(executor.plan) == training::kernelGpu(plan))
        return withinGpu(executor, gpu, unlimited);
    return withinGpu(executor, gpu, executor.unlimited());
}

void addDeepSpeedNotes(Estimate &estimate)
{
    const TrainingPlan &plan = estimate.plan;
    const bool masterRecipe = plan.precision.recipe == Recipe::Bf16Master || plan.precision.recipe == Recipe::Fp16Master;
    const bool deepSpeed = plan.parallel.engine == Engine::DeepSpeed;
    if (!deepSpeed && !(plan.parallel.engine == Engine::None && masterRecipe))
        return;
    const auto note = [&](std::string where, std::string text) {
        estimate.notes.push_back({Severity::Information, std::move(where), std::move(text)});
    };
    if (!deepSpeed)
        note("precision.recipe",
             "Without an engine this recipe is DeepSpeed's ZeRO-0 on one rank: torch's optimizer on an fp32 copy of each parameter.");
    note("parallel.engine", "DeepSpeed 0.19 with PyTorch's optimizers, matrices and vectors in two parameter groups as the Hugging Face "
                            "Trainer makes them. Stages 0 to 3 were "
                            "compared with traces of DeepSpeed's own code on fake tensors, allocation by allocation, for small Llama and "
                            "Qwen models; not with runs on GPUs.");
    if (deepSpeed && plan.parallel.zeroStage == 3)
        note("parallel.zero_stage",
             "ZeRO-3 is taken to cut parameters while they are loaded (zero.Init, as from_pretrained does under the Hugging Face Trainer). "
             "A model that is built first and then given to deepspeed.initialize() goes to the device whole.");
    if (plan.method.kind != MethodKind::Full && !plan.method.modulesToSave.empty())
        note("method.modules_to_save", "DeepSpeed with trained copies of whole modules was not compared with traces.");
    if (plan.optimizer.kind != OptimizerKind::AdamW && plan.optimizer.kind != OptimizerKind::Adam)
        note("optimizer.kind", "DeepSpeed with this optimizer was not compared with traces; with fused AdamW it was.");
    else if (plan.optimizer.implementation != OptimizerImplementation::Fused)
        note("optimizer.implementation", "DeepSpeed with this implementation was not compared with traces; with the fused one it was.");
    if (!plan.loop.clipGradNorm)
        note("loop.clip_grad_norm",
             "DeepSpeed computes the gradients' norm in any case; without clipping it was not compared with traces.");
    if (plan.runtime.rank == "worst" && deepSpeed && plan.parallel.zeroStage.value_or(0) > 0)
        note("runtime.rank", "All ranks hold the same, but that ZeRO-1 and ZeRO-2 keep the gradients of every parameter that a rank's "
                             "partition touches: the rank with most is given.");
}

void addNotes(Estimate &estimate, const Gpu *first)
{
    const TrainingPlan &plan = estimate.plan;
    const auto note = [&](Severity severity, std::string where, std::string text) {
        estimate.notes.push_back({severity, std::move(where), std::move(text)});
    };
    for (const OutsideItem &item : outsideOfPyTorch(plan, first))
        note(Severity::Information, "gpus",
             fmt::format("Outside PyTorch: {}, {} (-{} to +{}). Source: {}.", item.what, formatBytes(item.bytes, ByteUnit::Binary, 0),
                         formatBytes(item.lower, ByteUnit::Binary, 0), formatBytes(item.upper, ByteUnit::Binary, 0), item.source));
    for (const std::string &id : plan.gpus) {
        const Gpu *gpu = findGpu(id);
        if (gpu && gpu->capacitySource != CapacitySource::NvidiaSmi)
            note(Severity::Information, "gpus",
                 fmt::format("{}: no nvidia-smi total is known; the capacity is {}.", gpu->title(),
                             gpu->capacitySource == CapacitySource::TorchTotal ? "the largest total that PyTorch reported, plus 500 MiB"
                                                                               : "the size it is sold with"));
    }
    if (plan.gpus.empty())
        note(Severity::Information, "gpus", "No GPU is named: compute capability 8.0 is assumed.");
    if (plan.attention == AttentionKind::FlashAttention2)
        note(Severity::Information, "attention", "The flash-attn package is taken to allocate what PyTorch's own flash attention does.");
    if (plan.kernels == Kernels::Liger)
        note(Severity::Information, "kernels",
             fmt::format("Liger-Kernel 0.8.5, applied as the Hugging Face Trainer's use_liger_kernel does{}.",
                         estimate.model.modelType == "glm4" ? ", which leaves GLM-4's rotary embedding as it is"
                         : estimate.model.experts > 0       ? "; tokens are taken to be spread evenly over the experts"
                                                            : ""));
    if (std::string sentence = recomputationSentence(estimate); !sentence.empty())
        note(Severity::Information, "checkpointing", std::move(sentence));
    if (plan.checkpointing == Checkpointing::Selective && plan.selective.every && parseVersion(plan.runtime.transformers) < Version{5, 24})
        note(Severity::Information, "selective",
             fmt::format("Every n-th layer is transformers 5.24's own choice (every_n_layers); {} may not know it.",
                         plan.runtime.transformers));
    if (std::string sentence = unkeptOperatorsSentence(estimate); !sentence.empty())
        note(Severity::Warning, "selective.operators", std::move(sentence));
    addDeepSpeedNotes(estimate);
    if (plan.optimizer.kind == OptimizerKind::Muon)
        note(Severity::Information, "optimizer.kind",
             "torch.optim.Muon takes matrices alone. Vectors (norms, biases) are not stepped, and their gradients stay: a run that trains "
             "them needs a second optimizer.");
    if (plan.optimizer.kind == OptimizerKind::AdamW8bit || plan.optimizer.kind == OptimizerKind::PagedAdamW8bit ||
        plan.optimizer.kind == OptimizerKind::Lion8bit)
        note(Severity::Information, "optimizer.kind",
             "A trained embedding has 8-bit state as all else. The Hugging Face Trainer gives it 32-bit state, 3 bytes more for each "
             "element "
             "of each moment.");
    if (estimate.hostSteady.value > 0)
        note(Severity::Information, "optimizer.kind",
             "Paged state of parameters with 100,000 elements and more is managed memory: it counts for the host here, and moves to the "
             "device for the step where there is room.");
    const Version transformers = training::transformersVersion(plan);
    const network::PassedNames passed = network::namesPassedBy(estimate.model, plan.method, transformers);
    for (const auto &[where, names] :
         {std::pair("method.targets", &passed.targets), std::pair("method.modules_to_save", &passed.modulesToSave)})
        if (!names->empty())
            note(Severity::Warning, where,
                 fmt::format("No module of the model is called {}: PEFT passes by what matches nothing.",
                             names->size() == 1 ? excerpt(names->front())
                                                : fmt::format("as {} of these names say: {}", names->size(),
                                                              excerpt(fmt::format("{}", fmt::join(*names, ", "))))));
    if (estimate.model.experts > 0 && transformers < Version{5, 0})
        note(Severity::Information, "runtime.transformers",
             fmt::format(
                 "Routing is taken to be balanced: {} of every {} tokens go to each expert. Before version 5 experts are modules that "
                 "run one after the other, and one that gets more tokens takes more memory.",
                 estimate.model.expertsPerToken, estimate.model.experts));
    if (plan.method.kind == MethodKind::Qlora && plan.method.quantization == Quantization::GptqInt4)
        note(Severity::Information, "method.quantization",
             network::gptqLibrary(transformers) == network::GptqLibrary::AutoGptq
                 ? "GPTQ in groups of 128, multiplied by AutoGPTQ's Triton v2 kernels, which make each weight in 16 bits in forward and "
                   "again in backward. Its other kernels keep that weight until backward, as GPTQModel does."
                 : "GPTQ in groups of 128, multiplied by GPTQModel: while training, each weight made in 16 bits is kept until backward; "
                   "with checkpointing, those of one layer.");
    if (plan.method.kind == MethodKind::Qlora && estimate.model.modelType == "falcon" &&
        network::Builder::leavesOwnLinears(plan.method.quantization, transformers))
        note(
            Severity::Warning, "method.quantization",
            "From transformers 5 on bitsandbytes replaces nn.Linear itself alone, but Falcon's are of a class of their own (FalconLinear): "
            "nothing is quantised, and PEFT's preparation casts the weights to fp32. Earlier versions quantised them.");
    if (const int executed = training::executedMicroBatches(plan); plan.batch.gradientAccumulation > executed)
        note(Severity::Information, "batch.gradient_accumulation",
             fmt::format("{} of the {} micro-batches are executed; every further one allocates what the second does.",
                         executed == 2 ? "Two" : "Three", plan.batch.gradientAccumulation));
    if (plan.batch.sequenceLength > estimate.model.maxPositions && estimate.model.maxPositions > 0)
        note(Severity::Warning, "batch.sequence_length",
             fmt::format("Longer than the {} positions that the model {}.", formatCount(estimate.model.maxPositions),
                         estimate.model.tableOfPositions ? "has a table of: such a run stops" : "was made for (max_position_embeddings)"));
    if (plan.runtime.torch != "2.13")
        note(Severity::Information, "runtime.torch", "The rules are those of PyTorch 2.13, the nearest version known.");
    if (transformers != parseVersion(plan.runtime.transformers))
        note(Severity::Information, "runtime.transformers",
             "transformers 5 does not run on PyTorch before 2.6: the rules of 4.46, a version of that time, are followed.");
    else if (transformers != Version{5, 24})
        note(Severity::Information, "runtime.transformers",
             "The model code is that of transformers 5.24, with older versions' masks, loss and checkpointing where they are known to "
             "differ.");
}

Result<std::shared_ptr<const Estimate>> execute(const TrainingPlan &plan, ModelConfig model, std::stop_token cancel)
{
    auto out = std::make_shared<Estimate>();
    out->plan = plan;
    out->band = errorBand(plan);
    const Gpu *first = plan.gpus.empty() ? nullptr : findGpu(plan.gpus.front());
    const Executor executor{plan, model, cublasWorkspaceBytes(plan, first), cancel};
    const std::shared_ptr<const StepRecord> unlimited = executor.unlimited();
    // all figures but those of gpus[] are for the first GPU
    const OnGpu onFirst = first ? withinGpu(executor, *first, unlimited) : OnGpu{unlimited, {}};
    const std::shared_ptr<const StepRecord> record = onFirst.record;
    const training::TrainingRun &run = *record->run();
    out->parametersTotal = run.parametersTotal;
    out->parametersTrainable = run.parametersTrainable;
    out->hostSteady = out->hostPeak = Bytes{run.hostBytes};
    const auto microBatches = static_cast<double>(plan.batch.gradientAccumulation);
    out->flopsForward = microBatches * run.flopsForward;
    out->flopsRecomputed = microBatches * run.flopsAgain;
    out->record = record;

    const Bytes outside = total(outsideOfPyTorch(plan, first));
    const int last = record->steps() - 1;
    out->steady = record->steady();
    out->peak = withDevice(record->peak(last), outside);
    out->firstStep = withDevice(record->peak(0), outside);
    out->savedActivations = record->savedActivations();
    for (std::size_t p = 0; p < phaseCount; ++p) {
        out->phases[p] = record->phasePeak(last, static_cast<Phase>(p));
        out->firstPhases[p] = record->phasePeak(0, static_cast<Phase>(p));
    }
    for (const std::string &id : plan.gpus)
        if (const Gpu *gpu = findGpu(id))
            out->gpus.push_back(judgeOnGpu(plan, *gpu, gpu == first ? onFirst : onGpu(plan, *gpu, model, unlimited, cancel), out->band));
    out->model = std::move(model);
    addNotes(*out, first);
    return std::shared_ptr<const Estimate>(std::move(out));
}

/// The model of a config.json that the plan names. What is wrong with that file stands in the plan's place that names it.
Result<ModelConfig> readConfigFile(const std::filesystem::path &file)
{
    const Result<std::string> text = readTextFile(file);
    Result<ModelConfig> config = text ? readModelConfig(*text, {}) : Result<ModelConfig>(text.issue());
    if (config)
        return config;
    Issue inside = config.issue();
    inside.file = file.string();
    const std::string hint = text ? inside.hint : "give the path of a config.json, relative to the plan";
    inside.hint.clear();
    return Issue{{}, 0, "model.config_path", toString(inside), hint};
}

} // namespace

std::shared_ptr<const StepRecord> recordOfSteps(const Estimate &estimate, int steps)
{
    const Executor executor{estimate.plan, estimate.model, estimate.record->workspaceBytes(), {}};
    auto run = std::make_shared<const training::TrainingRun>(training::run(estimate.plan, estimate.model, steps, executor.workspace));
    Replay replayed = replay(run->trace, allocatorOptions(estimate.plan), executor.workspace);
    return executor.record({std::move(run), std::move(replayed)});
}

std::string_view name(Component component)
{
    constexpr std::string_view names[] = {"weights", "gradients", "optimizer", "activations", "temporary"};
    return names[static_cast<std::size_t>(component)];
}

std::string_view name(Phase phase)
{
    constexpr std::string_view names[] = {"load", "forward", "loss", "backward", "optimizer", "idle"};
    return names[static_cast<std::size_t>(phase)];
}

std::string_view phraseOf(Phase phase)
{
    switch (phase) {
    case Phase::Load: return "while loading";
    case Phase::Forward: return "in forward";
    case Phase::Loss: return "in the loss";
    case Phase::Backward: return "in backward";
    case Phase::Optimizer: return "in the optimizer step";
    case Phase::Idle: return "between steps";
    }
    return {};
}

std::string_view name(Verdict verdict)
{
    constexpr std::string_view names[] = {"fits", "tight", "does-not-fit"};
    return names[static_cast<std::size_t>(verdict)];
}

Result<ModelConfig> resolveModel(const TrainingPlan &plan)
{
    const ModelChoice &choice = plan.model;
    if (!choice.config.empty()) {
        Result<ModelConfig> config = readModelConfig(choice.config);
        if (!config)
            config.issue().line = 0; // of the config's own text, which is not the plan's
        return config;
    }
    if (!choice.configPath.empty())
        return readConfigFile(plan.folder / choice.configPath);
    const ModelPreset *preset = findModelPreset(choice.preset);
    if (!preset)
        return Issue{{},
                     0,
                     "model.preset",
                     fmt::format("no preset is called \"{}\"", excerpt(choice.preset)),
                     "headroom-cli presets lists them; or give the model's config.json as config_path"};
    if (!preset->supported) {
        const std::optional<Issue> refused = unsupportedReason(preset->modelType);
        return Issue{{},
                     0,
                     "model.preset",
                     fmt::format("{}: {}", preset->id, preset->unsupportedReason),
                     refused ? refused->hint : "give it as model.config_path"};
    }
    return preset->config;
}

Result<std::shared_ptr<const Estimate>> estimate(const TrainingPlan &plan, std::stop_token cancel)
{
    if (std::vector<Issue> issues = validate(plan); !issues.empty())
        return std::move(issues.front());
    Result<ModelConfig> model = resolveModel(plan);
    if (!model)
        return model.issue();
    if (std::optional<Issue> issue = training::unsupported(plan, *model))
        return *issue;
    try {
        return execute(plan, std::move(*model), cancel);
    } catch (const SizeOverflow &) {
        return runTooLarge();
    } catch (const std::bad_alloc &) {
        return estimateTooLarge();
    } catch (const Cancelled &) {
        return Issue{{}, 0, {}, "cancelled", {}};
    }
}

} // namespace headroom
