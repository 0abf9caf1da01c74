// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/units/dtype.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

// The plan, field by field as the file format names them. Labels, ranges and what a field moves are in fields.h.

enum class MethodKind : std::uint8_t { Full, Lora, Qlora };
enum class Quantization : std::uint8_t { Nf4, Nf4Double, Fp4, Int8, GptqInt4 };
enum class Recipe : std::uint8_t { Fp32, Bf16, Fp16, Bf16Autocast, Fp16Autocast, Bf16Master, Fp16Master, MegatronBf16, Fp8 };
enum class OptimizerKind : std::uint8_t {
    AdamW,
    Adam,
    Sgd,
    SgdMomentum,
    Adafactor,
    Lion,
    Muon,
    AdamW8bit,
    PagedAdamW8bit,
    PagedAdamW32bit,
    Lion8bit
};
enum class OptimizerImplementation : std::uint8_t { Fused, Foreach, ForLoop };
enum class ZeroGrad : std::uint8_t { ToNone, Zeros };
enum class Checkpointing : std::uint8_t { None, Selective, Full };
enum class AttentionKind : std::uint8_t { Eager, Sdpa, FlashAttention2 };
enum class LossKind : std::uint8_t { Logits, Chunked, FusedLinear };
enum class Kernels : std::uint8_t { Eager, Liger };
enum class Engine : std::uint8_t { None, Ddp, DeepSpeed, Fsdp1, Fsdp2, Megatron };
enum class Offload : std::uint8_t { None, Optimizer, OptimizerAndParameters };
enum class BucketSizes : std::uint8_t { Explicit, Auto };
enum class Wrap : std::uint8_t { Layers, Accelerate };
enum class Stack : std::uint8_t { Transformers, Torchtitan, Torchtune, Litgpt, Megatron };
enum class AllocatorKind : std::uint8_t { Caching, Rounded };
enum class SelectivePolicy : std::uint8_t { None, Torchtitan, Megatron };
enum class SavedOperator : std::uint8_t { Attention, Linear, Mlp, Experts, Bmm, Softmax, Activation };

/// Exactly one of the three is set.
struct ModelChoice {
    std::string preset = "Qwen/Qwen3-8B"; ///< Hugging Face id of a shipped preset
    std::string config;                   ///< a config.json, as compact JSON text
    std::string configPath;               ///< the same in a file, relative to the plan
    bool operator==(const ModelChoice &) const = default;
};

struct Targets {
    bool allLinear = true;          ///< PEFT's "all-linear": every Linear but the output head
    std::vector<std::string> names; ///< module names otherwise
    bool operator==(const Targets &) const = default;
};

struct Method {
    MethodKind kind = MethodKind::Full;
    std::int64_t rank = 16;
    Targets targets;
    double dropout = 0.0;
    DType adapterDtype = DType::Float32;
    bool dora = false;
    std::vector<std::string> modulesToSave;
    Quantization quantization = Quantization::Nf4Double;
    bool kbitPreparation = true;
    bool operator==(const Method &) const = default;
};

/// A dtype that the plan gives, leaves to the recipe (unset), or switches off ("none"; autocast and master only).
struct DtypeOverride {
    enum class State : std::uint8_t { FromRecipe, None, Given };
    State state = State::FromRecipe;
    DType dtype = DType::Float32; ///< meaningful where state is Given
    bool operator==(const DtypeOverride &) const = default;
};

struct Precision {
    Recipe recipe = Recipe::Bf16;
    DtypeOverride weights, gradients, master, moments, autocast;
    bool operator==(const Precision &) const = default;
};

struct Batch {
    std::int64_t microBatch = 1;           ///< sequences
    std::int64_t sequenceLength = 4096;    ///< tokens
    std::int64_t gradientAccumulation = 1; ///< micro-batches a step
    bool operator==(const Batch &) const = default;
};

struct OptimizerChoice {
    OptimizerKind kind = OptimizerKind::AdamW;
    OptimizerImplementation implementation = OptimizerImplementation::Fused;
    bool inBackward = false;
    bool operator==(const OptimizerChoice &) const = default;
};

struct Loop {
    bool outputsHeld = false;
    ZeroGrad zeroGrad = ZeroGrad::ToNone;
    bool clipGradNorm = false;
    bool operator==(const Loop &) const = default;
};

/// At most one of the three is set; all empty: null.
struct Selective {
    std::optional<std::int64_t> every;  ///< checkpoint every n-th layer
    std::vector<std::string> operators; ///< whose results are saved (choices::savedOperators); the rest is recomputed
    SelectivePolicy policy = SelectivePolicy::None;
    bool operator==(const Selective &) const = default;
};

struct Parallel {
    Engine engine = Engine::None;
    std::int64_t data = 1;
    std::optional<int> zeroStage; ///< unset: 3 for fsdp, else 0
    std::int64_t tensor = 1;
    bool sequenceParallel = false;
    std::int64_t pipeline = 1, virtualPipeline = 1, context = 1, expert = 1;
    Offload offload = Offload::None;
    std::int64_t reduceBucketElements = 500'000'000, allgatherBucketElements = 500'000'000;
    std::optional<bool> overlapCommunication;
    BucketSizes bucketSizes = BucketSizes::Explicit;
    std::int64_t stage3PrefetchBucketSize = 50'000'000, stage3ParamPersistenceThreshold = 100'000;
    std::int64_t stage3MaxLiveParameters = 1'000'000'000, stage3MaxReuseDistance = 1'000'000'000;
    Wrap wrap = Wrap::Layers;
    bool noSync = false;
    std::optional<DType> reduceDtype;
    bool gradientAsBucketView = false;
    bool reshardAfterForward = true;
    bool operator==(const Parallel &) const = default;
};

struct Runtime {
    std::string torch = "2.13", transformers = "5.24";
    bool expandableSegments = false;
    std::optional<std::int64_t> maxSplitSizeMb;
    std::string rank = "worst"; ///< worst | first | last | a rank's number
    AllocatorKind allocator = AllocatorKind::Caching;
    std::optional<std::int64_t> cublasWorkspaceBytes; ///< unset: what the GPU's compute capability takes, per handle
    bool operator==(const Runtime &) const = default;
};

/// Everything that decides a training run's memory. Defaults are those of plan-format version 1.
struct TrainingPlan {
    std::string name;
    ModelChoice model;
    Method method;
    Precision precision;
    Batch batch;
    OptimizerChoice optimizer;
    Loop loop;
    Checkpointing checkpointing = Checkpointing::None;
    Selective selective;
    bool reentrantCheckpointing = false;
    AttentionKind attention = AttentionKind::Sdpa;
    LossKind loss = LossKind::Logits;
    Kernels kernels = Kernels::Eager;
    bool compile = false;
    Parallel parallel;
    Stack stack = Stack::Transformers;
    Runtime runtime;
    std::vector<std::string> gpus; ///< catalogue ids

    /// Folder of the file the plan came from, for model.config_path; not part of the file.
    std::filesystem::path folder;

    bool operator==(const TrainingPlan &) const = default;
};

} // namespace headroom
