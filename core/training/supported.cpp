// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/hardware/gpu.h"
#include "core/network/adapters.h"
#include "core/network/gptq.h"
#include "core/network/liger.h"
#include "core/network/losses.h"
#include "core/network/selective.h"
#include "core/plan/fields.h"
#include "core/training/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace headroom::training {

namespace {

Issue refuse(std::string_view where, std::string what, std::string hint)
{
    return {{}, 0, std::string(where), std::move(what), std::move(hint)};
}

/// The field table knows which choices the engine does not execute.
std::optional<Issue> refusedChoice(const TrainingPlan &plan)
{
    for (const Field &field : fields()) {
        if (field.type != FieldType::Choice || (field.inapplicable && !field.inapplicable(plan).empty()))
            continue;
        const FieldValue value = field.get(plan);
        const auto *text = std::get_if<std::string>(&value);
        if (!text)
            continue;
        for (const FieldChoice &choice : field.choices)
            if (choice.value == *text && !choice.refused.empty())
                return refuse(field.path, std::string(choice.refused), "choose another value");
    }
    return {};
}

/// Whether nothing before the output head is trained.
bool trainsHeadAlone(const Method &method)
{
    const auto isHead = [](const std::string &name) { return std::string_view("lm_head").ends_with(name); };
    return method.kind != MethodKind::Full && !method.targets.allLinear &&
           std::all_of(method.targets.names.begin(), method.targets.names.end(), isHead) &&
           std::all_of(method.modulesToSave.begin(), method.modulesToSave.end(), isHead);
}

/// The types that ZeRO 3 is executed for.
bool isPlainLlama(const ModelConfig &model)
{
    const std::string_view types[] = {"llama", "mistral", "qwen2", "qwen3"};
    return std::find(std::begin(types), std::end(types), model.modelType) != std::end(types);
}

std::optional<Issue> unsupportedLoss(const TrainingPlan &plan, const ModelConfig &model)
{
    if (plan.loss == LossKind::Logits)
        return {};
    if (plan.loss == LossKind::Chunked && (plan.parallel.engine != Engine::None || resolvePrecision(plan.precision).master))
        return refuse("loss", "the chunked loss is executed without a sharding engine only yet", "set it to logits");
    const Method &method = plan.method;
    const std::vector<std::string> &targets = method.targets.names;
    const bool headTargeted = method.kind != MethodKind::Full && !method.targets.allLinear &&
                              std::find(targets.begin(), targets.end(), "lm_head") != targets.end();
    if (plan.loss == LossKind::FusedLinear) {
        const network::LigerPatch *patch = network::findLigerPatch(model.modelType);
        if (!patch || !patch->fusedLoss)
            return refuse("loss", "Liger has no fused loss for models of type " + model.modelType, "set it to logits");
    }
    if (plan.loss == LossKind::FusedLinear && headTargeted)
        return refuse("method.targets", "Liger's fused loss reads the output head's own weight: an adapter on it would be passed by",
                      "leave lm_head out");
    if (plan.loss != LossKind::Chunked)
        return {};
    if ((plan.batch.microBatch % network::lossChunks) * (plan.batch.sequenceLength % network::lossChunks) % network::lossChunks != 0)
        return refuse("loss", "a chunked loss divides the tokens by 8", "make micro_batch * sequence_length a multiple of 8");
    if (trainsHeadAlone(method) && !network::checkpointsLayers(plan.checkpointing, plan.selective))
        return refuse("method.targets",
                      "nothing before the output head is trained: a chunked loss has no gradient to hand on, and PyTorch stops",
                      "train a layer too, or set loss to logits");
    return {};
}

std::optional<Issue> unsupportedSelection(const TrainingPlan &plan, const ModelConfig &model)
{
    if (plan.checkpointing != Checkpointing::Selective)
        return {};
    const Selective &selective = plan.selective;
    const bool masterRecipe = resolvePrecision(plan.precision).master.has_value();
    if (plan.parallel.engine != Engine::None || masterRecipe)
        return refuse("checkpointing", "selective checkpointing is executed without a sharding engine only yet", "set it to full or none");
    const auto names = [&](std::string_view name) {
        return std::find(selective.operators.begin(), selective.operators.end(), name) != selective.operators.end();
    };
    const bool keepsLinear = selective.policy == SelectivePolicy::Torchtitan || names("linear");
    const bool byOperator = selective.policy == SelectivePolicy::Torchtitan || !selective.operators.empty();
    if (byOperator && parseVersion(plan.runtime.torch) < Version{2, 4})
        return refuse("selective", "PyTorch keeps the results of single operators from version 2.4 on",
                      R"(give {"every": 2}, for example)");
    const network::LigerPatch *liger = plan.kernels == Kernels::Liger ? network::findLigerPatch(model.modelType) : nullptr;
    if (keepsLinear && liger && liger->rotary && !model.queryKeyNorm) // ops/rope.py writes into the projections' own memory
        return refuse("selective",
                      "Liger's rotary embedding turns queries and keys in place: products that were kept would be turned a second time",
                      "keep attention and mlp alone, or set kernels to eager");
    if ((names("experts") || names("mlp")) && model.modelType == "gpt_oss") // integrations/moe.py: _grouped_linear
        return refuse("selective.operators",
                      "the biases of experts are added into their product's own memory: PyTorch stops where that was kept",
                      "leave experts and mlp out");
    if ((names("attention") || selective.policy == SelectivePolicy::Torchtitan) && plan.attention == AttentionKind::FlashAttention2)
        return refuse(names("attention") ? "selective.operators" : "selective",
                      "the flash-attn package's attention is none of the operators that are kept: it would run again",
                      "set attention to sdpa");
    if (names("attention") && plan.attention == AttentionKind::Eager)
        return refuse("selective.operators", "eager attention is no operator of its own, but products and a softmax",
                      "name bmm and softmax, or set attention to sdpa");
    if (names("experts") && (model.experts == 0 || transformersVersion(plan) < Version{5, 0}))
        return refuse("selective.operators",
                      model.experts == 0 ? "the model has no experts" : "before transformers 5 experts are Linears, one by one",
                      model.experts == 0 ? "leave experts out" : "name mlp instead");
    return {};
}

std::optional<Issue> unsupportedKernels(const TrainingPlan &plan, const ModelConfig &model)
{
    if (plan.kernels != Kernels::Liger)
        return {};
    if (!network::findLigerPatch(model.modelType))
        return refuse("kernels", "Liger has no kernels for models of type " + model.modelType, "set it to eager");
    if (std::find(model.denseLayers.begin(), model.denseLayers.end(), true) != model.denseLayers.end())
        return refuse("kernels", "Liger looks for experts in every layer and stops at one without", "set it to eager");
    if (model.experts > 0 && transformersVersion(plan) < Version{5, 0})
        return refuse("kernels", "Liger's kernels over experts as modules, as transformers had them before version 5, are not executed yet",
                      "set it to eager, or give runtime.transformers 5.0 or later");
    return {};
}

std::optional<Issue> unsupportedByDeepSpeed(const TrainingPlan &plan, const ModelConfig &model, bool sixteenBitMaster)
{
    const bool deepSpeed = plan.parallel.engine == Engine::DeepSpeed;
    if (deepSpeed && plan.parallel.zeroStage == 3 && !isPlainLlama(model))
        return refuse("parallel.zero_stage", "ZeRO 3 is not executed yet for models of type " + model.modelType, "set it to 2 or less");
    if (deepSpeed && !sixteenBitMaster)
        return refuse("precision.recipe", "DeepSpeed is executed only in the recipes bf16-master and fp16-master yet",
                      "use recipe bf16-master");
    if (!sixteenBitMaster || (!deepSpeed && plan.parallel.engine != Engine::None))
        return {};
    if (plan.optimizer.inBackward)
        return refuse("optimizer.in_backward", "DeepSpeed steps after backward", "set it to false");
    if (plan.loop.zeroGrad == ZeroGrad::Zeros)
        return refuse("loop.zero_grad", "DeepSpeed drops gradients after its step", "set it to to-none");
    if (plan.optimizer.kind > OptimizerKind::SgdMomentum)
        return refuse("optimizer.kind", "DeepSpeed is executed with Adam, AdamW and SGD only", "choose adamw");
    if (plan.method.kind != MethodKind::Full && plan.method.dora)
        return refuse("method.dora", "DoRA under DeepSpeed is not executed by this version's engine yet", "set it to false");
    if (plan.method.kind == MethodKind::Qlora)
        return refuse("method.kind", "QLoRA under DeepSpeed is not executed by this version's engine yet",
                      "choose lora, or parallel.engine none with recipe bf16");
    return {};
}

std::optional<Issue> unsupportedGptq(const TrainingPlan &plan, const ModelConfig &model)
{
    const Method &method = plan.method;
    if (method.kind != MethodKind::Qlora || method.quantization != Quantization::GptqInt4)
        return {};
    if (model.experts > 0 && transformersVersion(plan) >= Version{5, 0})
        return refuse("method.quantization",
                      "GPTQ over experts that are one tensor, as transformers has them from version 5 on, is not executed yet",
                      "choose another quantization, or give runtime.transformers before 5.0");
    if (model.modelType == "gpt2")
        return refuse("method.quantization", "GPTQ over GPT-2's Conv1D is not executed yet", "choose another quantization");
    if (method.dora)
        return refuse("method.dora", "PEFT has no DoRA over weights that GPTQ quantised",
                      "set it to false, or choose another quantization");
    const std::int64_t queries = checkedMultiply(model.heads, model.headDim), keys = checkedMultiply(model.keyValueHeads, model.headDim);
    for (const std::int64_t width : {model.hiddenSize, model.intermediateSize, queries, keys, model.expertIntermediateSize})
        if (width % 32 != 0)
            return refuse("method.quantization",
                          fmt::format("GPTQ's kernels take inputs and outputs that are multiples of 32; {} is none", width),
                          "choose another quantization");
    const ResolvedPrecision precision = resolvePrecision(plan.precision);
    if (network::gptqLibrary(transformersVersion(plan)) == network::GptqLibrary::AutoGptq && !precision.autocast &&
        precision.weights != DType::Float16)
        return refuse("precision.weights",
                      "AutoGPTQ, the library before transformers 5, multiplies in float16 and takes no other input without autocast",
                      "set it to float16, or give runtime.transformers 5.0 or later");
    return {};
}

} // namespace

Version transformersVersion(const TrainingPlan &plan)
{
    const Version given = parseVersion(plan.runtime.transformers);
    return parseVersion(plan.runtime.torch) < Version{2, 6} && given >= Version{5, 0} ? Version{4, 46} : given;
}

network::GpuProperties kernelGpu(const TrainingPlan &plan)
{
    const Gpu *gpu = plan.gpus.empty() ? nullptr : findGpu(plan.gpus.front());
    if (!gpu || gpu->multiprocessors == 0 || gpu->computeMajor == 0)
        return {};
    return {gpu->multiprocessors, gpu->computeMajor, gpu->computeMinor};
}

bool kernelsDependOnGpu(const TrainingPlan &plan)
{
    const bool fourBit = plan.method.quantization != Quantization::Int8 && plan.method.quantization != Quantization::GptqInt4;
    return (plan.method.kind == MethodKind::Qlora && fourBit) || plan.loss == LossKind::FusedLinear || plan.kernels == Kernels::Liger;
}

std::optional<Issue> unsupported(const TrainingPlan &plan, const ModelConfig &model)
{
    if (std::optional<Issue> issue = refusedChoice(plan))
        return issue;
    constexpr std::string_view withoutSdpa[] = {"gemma2", "vaultgemma", "gpt_neo"}, eagerAlone[] = {"bloom", "mpt"};
    const auto among = [&](std::span<const std::string_view> types) {
        return std::find(types.begin(), types.end(), model.modelType) != types.end();
    };
    if (plan.attention == AttentionKind::Sdpa && among(withoutSdpa))
        return refuse("attention", "transformers has no sdpa attention for " + model.modelType, "set it to eager, as transformers does");
    if (plan.attention != AttentionKind::Eager && among(eagerAlone))
        return refuse("attention", "transformers has neither sdpa nor flash-attention-2 for " + model.modelType,
                      "set it to eager, as transformers does");
    if (plan.method.kind == MethodKind::Qlora && plan.method.quantization == Quantization::Int8 && model.latentWidth > 0)
        return refuse("method.quantization",
                      "latent attention hands its latents on in four dimensions: bitsandbytes' LLM.int8() takes three at most, and stops",
                      "choose nf4");
    const bool sharedInAllLayers = model.modelType == "glm4_moe" || model.modelType == "sarvam_moe" ||
                                   model.modelType == "granitemoehybrid" || model.modelType == "deepseek_v3" ||
                                   model.modelType == "glm4_moe_lite";
    const bool inNibbles = plan.method.quantization != Quantization::Int8 && plan.method.quantization != Quantization::GptqInt4;
    if (plan.method.kind == MethodKind::Qlora && !inNibbles && sharedInAllLayers && model.sharedExpertIntermediateSize == 0)
        return refuse("method.quantization",
                      "the MLP that all tokens go to is 0 wide: no kernel of this kind takes weights without elements", "choose nf4");
    if (plan.attention == AttentionKind::Eager && model.latentWidth > 0 && model.keyValueHeads != model.heads)
        return refuse("attention",
                      "latent attention makes keys and values for every head, and eager attention repeats them where num_key_value_heads "
                      "says that they are fewer: transformers stops",
                      "set it to sdpa, or model.config.num_key_value_heads to num_attention_heads");
    if (plan.attention == AttentionKind::FlashAttention2 && model.latentWidth > 0 &&
        model.valueHeadDim != checkedAdd(model.plainHeadDim, model.rotaryDim))
        return refuse("attention",
                      fmt::format("flash-attention-2 takes queries, keys and values of one width; here they are {} and {} wide",
                                  model.plainHeadDim + model.rotaryDim, model.valueHeadDim),
                      "set it to sdpa");
    if (plan.attention != AttentionKind::Eager && model.modelType == "gpt_oss")
        return refuse("attention", "transformers has neither sdpa nor flash-attention-2 for gpt_oss: its attention has sinks",
                      "set it to eager");
    if (plan.attention == AttentionKind::FlashAttention2 && model.modelType == "falcon" && model.alibi)
        return refuse("attention", "transformers stops: its flash-attention-2 for falcon has no linear biases (alibi)", "set it to sdpa");
    constexpr std::string_view olderExperts[] = {"mixtral", "qwen2_moe", "qwen3_moe", "olmoe", "gpt_oss"};
    if (model.experts > 0 && transformersVersion(plan) < Version{5, 0} &&
        std::find(std::begin(olderExperts), std::end(olderExperts), model.modelType) == std::end(olderExperts))
        return refuse("runtime.transformers",
                      fmt::format("the experts of {} are executed as transformers has them from version 5 on alone", model.modelType),
                      "set it to 5.0 or later");
    if (std::optional<Issue> issue = unsupportedLoss(plan, model))
        return issue;
    if (std::optional<Issue> issue = unsupportedSelection(plan, model))
        return issue;
    if (std::optional<Issue> issue = unsupportedKernels(plan, model))
        return issue;
    if (std::optional<Issue> issue = unsupportedGptq(plan, model))
        return issue;
    if (plan.compile)
        return refuse("compile", "torch.compile is not executed by this version's engine yet", "set it to false");
    const Parallel &parallel = plan.parallel;
    const std::pair<const char *, std::int64_t> splits[] = {{"parallel.tensor", parallel.tensor},
                                                            {"parallel.pipeline", parallel.pipeline},
                                                            {"parallel.virtual_pipeline", parallel.virtualPipeline},
                                                            {"parallel.context", parallel.context},
                                                            {"parallel.expert", parallel.expert}};
    for (const auto &[where, ranks] : splits)
        if (ranks > 1)
            return refuse(where, "this kind of parallelism is not executed by this version's engine yet", "set it to 1");
    const Precision &precision = plan.precision;
    const ResolvedPrecision resolved = resolvePrecision(precision);
    // what is trained has this dtype, and so, unless a master copy comes between, have its gradients and moments
    const DType trained = plan.method.kind == MethodKind::Full ? resolved.weights : plan.method.adapterDtype;
    const bool sixteenBitMaster = precision.recipe == Recipe::Bf16Master || precision.recipe == Recipe::Fp16Master;
    const auto differs = [&](const DtypeOverride &given, const std::optional<DType> &usual) {
        return given.state == DtypeOverride::State::Given ? usual != given.dtype
                                                          : given.state == DtypeOverride::State::None && usual.has_value();
    };
    if (differs(precision.gradients, sixteenBitMaster ? resolved.weights : trained))
        return refuse("precision.gradients",
                      "gradients in another dtype than what is trained are not executed by this version's engine yet", "leave it null");
    if (!sixteenBitMaster && precision.master.state == DtypeOverride::State::Given)
        return refuse("precision.master", "a master copy is executed only in the recipes bf16-master and fp16-master yet",
                      "use recipe bf16-master, or leave it null");
    if (sixteenBitMaster && differs(precision.master, DType::Float32))
        return refuse("precision.master", "the recipe's master copy is in float32", "leave it null, or choose another recipe");
    if (differs(precision.moments, sixteenBitMaster ? DType::Float32 : trained))
        return refuse("precision.moments",
                      "moments in another dtype than what the optimizer updates are not executed by this version's engine yet",
                      "leave it null");
    if (sixteenBitMaster && resolved.autocast)
        return refuse("precision.autocast", "autocast over DeepSpeed's 16-bit recipes is not executed by this version's engine yet",
                      "leave it null");
    if (std::optional<Issue> issue = unsupportedByDeepSpeed(plan, model, sixteenBitMaster))
        return issue;
    if (plan.method.kind != MethodKind::Full && model.layers > 0)
        return network::checkAdapters(model, plan.method, transformersVersion(plan));
    return {};
}

} // namespace headroom::training
