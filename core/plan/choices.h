// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/plan/fields.h"

#include <array>

/// What each choice field can be, in the order of its enumeration: {in the file, for people, tip, why it is refused}.
namespace headroom::choices {

inline constexpr std::string_view notYet = HEADROOM_TR("Not executed by this version's engine yet");
inline constexpr std::string_view deepSpeedOnly = HEADROOM_TR("Of the sharding engines, this version executes DeepSpeed only");

inline constexpr std::array method{
    FieldChoice{"full",
                HEADROOM_TR("Full fine-tuning"),
                HEADROOM_TR("Every parameter is trained: gradients and optimizer state for all of them."),
                {}},
    FieldChoice{
        "lora", HEADROOM_TR("LoRA"), HEADROOM_TR("The base is frozen; two thin matrices beside each targeted layer are trained."), {}},
    FieldChoice{"qlora", HEADROOM_TR("QLoRA"), HEADROOM_TR("As LoRA, over a base that is stored in 4 or 8 bits."), {}},
};
static_assert(method.size() == static_cast<std::size_t>(MethodKind::Qlora) + 1);

inline constexpr std::array quantization{
    FieldChoice{"nf4", "NF4", HEADROOM_TR("4 bits, one fp32 scale for every 64 weights."), {}},
    FieldChoice{
        "nf4-double", HEADROOM_TR("NF4, double quantisation"), HEADROOM_TR("As NF4, with the scales themselves stored in 8 bits."), {}},
    FieldChoice{"fp4", "FP4", HEADROOM_TR("4-bit floats, stored as NF4 is."), {}},
    FieldChoice{"int8", "LLM.int8()", HEADROOM_TR("8 bits, one scale for each row."), {}},
    FieldChoice{"gptq-int4", HEADROOM_TR("GPTQ, 4 bits"), HEADROOM_TR("4 bits in groups of 128 weights."), {}},
};
static_assert(quantization.size() == static_cast<std::size_t>(Quantization::GptqInt4) + 1);

inline constexpr std::array recipe{
    FieldChoice{"fp32", "fp32", HEADROOM_TR("Everything in 32 bits: 16 bytes a parameter with AdamW."), {}},
    FieldChoice{"bf16", "bf16", HEADROOM_TR("Weights, gradients and moments in bf16: 8 bytes a parameter with AdamW."), {}},
    FieldChoice{"fp16", "fp16", HEADROOM_TR("Weights, gradients and moments in fp16: 8 bytes a parameter with AdamW."), {}},
    FieldChoice{
        "bf16-autocast",
        HEADROOM_TR("bf16, autocast over fp32 weights"),
        HEADROOM_TR(
            "Weights, gradients and moments in fp32, operators in bf16: 16 bytes a parameter and 16-bit copies of the weights in use."),
        {}},
    FieldChoice{
        "fp16-autocast",
        HEADROOM_TR("fp16, autocast over fp32 weights"),
        HEADROOM_TR(
            "Weights, gradients and moments in fp32, operators in fp16: 16 bytes a parameter and 16-bit copies of the weights in use."),
        {}},
    FieldChoice{
        "bf16-master",
        HEADROOM_TR("bf16, fp32 master weights"),
        HEADROOM_TR("DeepSpeed's: bf16 weights and gradients, master weights and moments in fp32: 16 bytes a parameter with AdamW."),
        {}},
    FieldChoice{
        "fp16-master",
        HEADROOM_TR("fp16, fp32 master weights"),
        HEADROOM_TR("DeepSpeed's: fp16 weights and gradients, master weights and moments in fp32: 16 bytes a parameter with AdamW."),
        {}},
    FieldChoice{"megatron-bf16", HEADROOM_TR("bf16 as in Megatron-LM"),
                HEADROOM_TR("bf16 weights; gradients, master weights and moments in fp32: 18 bytes a parameter with AdamW."), notYet},
    FieldChoice{"fp8", "fp8", HEADROOM_TR("fp8 linear layers over bf16 weights with fp32 master weights."), notYet},
};
static_assert(recipe.size() == static_cast<std::size_t>(Recipe::Fp8) + 1);

inline constexpr std::array optimizer{
    FieldChoice{"adamw", "AdamW", HEADROOM_TR("Two moments for every trained parameter."), {}},
    FieldChoice{"adam", "Adam", HEADROOM_TR("Two moments for every trained parameter."), {}},
    FieldChoice{"sgd", "SGD", HEADROOM_TR("Keeps no state."), {}},
    FieldChoice{"sgd-momentum", HEADROOM_TR("SGD with momentum"), HEADROOM_TR("One momentum buffer for every trained parameter."), {}},
    FieldChoice{"adafactor", "Adafactor", HEADROOM_TR("A row and a column of second moments instead of a matrix."), {}},
    FieldChoice{"lion", "Lion", HEADROOM_TR("One moment for every trained parameter."), {}},
    FieldChoice{
        "muon", "Muon", HEADROOM_TR("One momentum buffer for every matrix, orthogonalised in 16 bits; vectors are not stepped."), {}},
    FieldChoice{"adamw-8bit", HEADROOM_TR("AdamW, 8 bits"), HEADROOM_TR("Two moments of 8 bits with a scale for each block."), {}},
    FieldChoice{
        "paged-adamw-8bit", HEADROOM_TR("AdamW, 8 bits, paged"), HEADROOM_TR("As AdamW 8 bits; the state can move to the host."), {}},
    FieldChoice{"paged-adamw-32bit", HEADROOM_TR("AdamW, 32 bits, paged"), HEADROOM_TR("As AdamW; the state can move to the host."), {}},
    FieldChoice{"lion-8bit", HEADROOM_TR("Lion, 8 bits"), HEADROOM_TR("One moment of 8 bits with a scale for each block."), {}},
};
static_assert(optimizer.size() == static_cast<std::size_t>(OptimizerKind::Lion8bit) + 1);

inline constexpr std::array implementation{
    FieldChoice{"fused", HEADROOM_TR("Fused"), HEADROOM_TR("One kernel updates all parameters: next to no temporary memory."), {}},
    FieldChoice{
        "foreach", HEADROOM_TR("For each"), HEADROOM_TR("Lists of tensors at once: temporary copies as large as the parameters."), {}},
    FieldChoice{"for-loop", HEADROOM_TR("For loop"), HEADROOM_TR("One parameter after the other: temporary copies of the largest."), {}},
};
static_assert(implementation.size() == static_cast<std::size_t>(OptimizerImplementation::ForLoop) + 1);

inline constexpr std::array zeroGrad{
    FieldChoice{"to-none", HEADROOM_TR("Dropped"), HEADROOM_TR("Gradients are released after each step, as PyTorch does by default."), {}},
    FieldChoice{"zeros", HEADROOM_TR("Zeroed, kept"), HEADROOM_TR("Gradients stay allocated through the next forward pass."), {}},
};
static_assert(zeroGrad.size() == static_cast<std::size_t>(ZeroGrad::Zeros) + 1);

inline constexpr std::array checkpointing{
    FieldChoice{"none", HEADROOM_TR("None"), HEADROOM_TR("Every layer keeps what its backward pass needs."), {}},
    FieldChoice{
        "selective", HEADROOM_TR("Selective"), HEADROOM_TR("Some operators or layers are recomputed in backward, the rest is kept."), {}},
    FieldChoice{"full", HEADROOM_TR("Full"), HEADROOM_TR("Only each layer's input is kept; the layer runs again in backward."), {}},
};
static_assert(checkpointing.size() == static_cast<std::size_t>(Checkpointing::Full) + 1);

inline constexpr std::array attention{
    FieldChoice{
        "eager", HEADROOM_TR("Eager"), HEADROOM_TR("Keeps the whole matrix of scores: sequence length squared for every head."), {}},
    FieldChoice{"sdpa", "SDPA", HEADROOM_TR("PyTorch's fused attention: no matrix of scores is kept."), {}},
    FieldChoice{"flash-attention-2", "FlashAttention 2", HEADROOM_TR("The flash-attn package: no matrix of scores is kept."), {}},
};
static_assert(attention.size() == static_cast<std::size_t>(AttentionKind::FlashAttention2) + 1);

inline constexpr std::array loss{
    FieldChoice{"logits", HEADROOM_TR("Full logits"), HEADROOM_TR("Logits of every token, upcast to fp32, as Hugging Face models do."), {}},
    FieldChoice{"chunked", HEADROOM_TR("Chunked"), HEADROOM_TR("Logits a chunk of tokens at a time."), {}},
    FieldChoice{"fused-linear",
                HEADROOM_TR("Fused with the head"),
                HEADROOM_TR("Liger's kernel: head and loss at once, gradients made in forward."),
                {}},
};
static_assert(loss.size() == static_cast<std::size_t>(LossKind::FusedLinear) + 1);

inline constexpr std::array kernels{
    FieldChoice{"eager", HEADROOM_TR("Eager"), HEADROOM_TR("The operators of the model's own code."), {}},
    FieldChoice{"liger", "Liger", HEADROOM_TR("Liger's fused norms, rotary embedding and activation, which keep less."), {}},
};
static_assert(kernels.size() == static_cast<std::size_t>(Kernels::Liger) + 1);

inline constexpr std::array engine{
    FieldChoice{"none", HEADROOM_TR("None: one GPU"), HEADROOM_TR("A plain PyTorch loop."), {}},
    FieldChoice{"ddp", "DDP", HEADROOM_TR("Every GPU holds everything; gradients are averaged in buckets."), deepSpeedOnly},
    FieldChoice{"deepspeed", "DeepSpeed", HEADROOM_TR("ZeRO shards optimizer state, gradients and weights over the GPUs, by stage."), {}},
    FieldChoice{"fsdp1", "FSDP", HEADROOM_TR("PyTorch's sharding with flat parameters."), deepSpeedOnly},
    FieldChoice{"fsdp2", "FSDP 2", HEADROOM_TR("PyTorch's sharding parameter by parameter."), deepSpeedOnly},
    FieldChoice{"megatron", "Megatron-LM", HEADROOM_TR("Tensor, sequence, pipeline and data parallelism."), deepSpeedOnly},
};
static_assert(engine.size() == static_cast<std::size_t>(Engine::Megatron) + 1);

inline constexpr std::array offload{
    FieldChoice{"none", HEADROOM_TR("None"), HEADROOM_TR("Everything stays on the GPU."), {}},
    FieldChoice{"optimizer", HEADROOM_TR("Optimizer"), HEADROOM_TR("Optimizer state and its step move to the host."), notYet},
    FieldChoice{"optimizer-and-parameters", HEADROOM_TR("Optimizer and parameters"),
                HEADROOM_TR("Weights move to the host too and come when needed."), notYet},
};
static_assert(offload.size() == static_cast<std::size_t>(Offload::OptimizerAndParameters) + 1);

inline constexpr std::array bucketSizes{
    FieldChoice{"explicit", HEADROOM_TR("As given"), HEADROOM_TR("The sizes of this plan."), {}},
    FieldChoice{"auto", HEADROOM_TR("From the hidden size"), HEADROOM_TR("As the Hugging Face Trainer fills in \"auto\"."), {}},
};
static_assert(bucketSizes.size() == static_cast<std::size_t>(BucketSizes::Auto) + 1);

inline constexpr std::array wrap{
    FieldChoice{"layers", HEADROOM_TR("Each decoder layer"), HEADROOM_TR("Each layer is gathered on its own, the rest with the root."), {}},
    FieldChoice{
        "accelerate", HEADROOM_TR("As Accelerate wraps"), HEADROOM_TR("What Accelerate's automatic policy makes of the model."), {}},
};
static_assert(wrap.size() == static_cast<std::size_t>(Wrap::Accelerate) + 1);

inline constexpr std::array stack{
    FieldChoice{"transformers", "transformers", HEADROOM_TR("Hugging Face's models."), {}},
    FieldChoice{"torchtitan", "torchtitan", HEADROOM_TR("PyTorch's pre-training code."), notYet},
    FieldChoice{"torchtune", "torchtune", HEADROOM_TR("PyTorch's fine-tuning recipes."), notYet},
    FieldChoice{"litgpt", "LitGPT", HEADROOM_TR("Lightning's models."), notYet},
    FieldChoice{"megatron", "Megatron-LM", HEADROOM_TR("Megatron-LM's layers."), notYet},
};
static_assert(stack.size() == static_cast<std::size_t>(Stack::Megatron) + 1);

inline constexpr std::array allocator{
    FieldChoice{"caching",
                HEADROOM_TR("Caching allocator"),
                HEADROOM_TR("Allocated as torch.cuda reports it: what stays unsplit of a block counts."),
                {}},
    FieldChoice{"rounded",
                HEADROOM_TR("Rounded sizes"),
                HEADROOM_TR("Each storage rounded to 512 bytes and no more, as traces and dry runs count."),
                {}},
};
static_assert(allocator.size() == static_cast<std::size_t>(AllocatorKind::Rounded) + 1);

inline constexpr std::array selectivePolicy{
    FieldChoice{"none", {}, {}, {}},
    FieldChoice{"torchtitan",
                "torchtitan",
                HEADROOM_TR("Keeps the results of attention and of every second matrix product, and computes all else again."),
                {}},
    FieldChoice{"megatron", "Megatron-LM", HEADROOM_TR("Computes the core of attention again, and keeps all else."), {}},
};
static_assert(selectivePolicy.size() == static_cast<std::size_t>(SelectivePolicy::Megatron) + 1);

/// The most that selective.every may be.
inline constexpr int mostLayersApart = 10'000;

/// What selective.operators may name: operators whose results are kept.
inline constexpr std::array savedOperators{
    FieldChoice{"attention", HEADROOM_TR("Attention"), HEADROOM_TR("Fused attention: its output and the sums of its softmax."), {}},
    FieldChoice{"linear", HEADROOM_TR("Linear"), HEADROOM_TR("Every Linear's product, those of adapters too."), {}},
    FieldChoice{"mlp", HEADROOM_TR("MLP"), HEADROOM_TR("The products within the MLP alone."), {}},
    FieldChoice{"experts", HEADROOM_TR("Experts"), HEADROOM_TR("The grouped products of routed experts."), {}},
    FieldChoice{"bmm", HEADROOM_TR("Batched product"), HEADROOM_TR("Eager attention's two products: scores and output."), {}},
    FieldChoice{"softmax", HEADROOM_TR("Softmax"), HEADROOM_TR("Eager attention's probabilities."), {}},
    FieldChoice{"activation", HEADROOM_TR("Activation"), HEADROOM_TR("The MLP's activation function."), {}},
};
static_assert(savedOperators.size() == static_cast<std::size_t>(SavedOperator::Activation) + 1);

/// Dtypes have no enumeration of their own in the file: the name decides.
inline constexpr std::array dtypes{
    FieldChoice{"float32", "fp32", HEADROOM_TR("4 bytes."), {}},
    FieldChoice{"bfloat16", "bf16", HEADROOM_TR("2 bytes, fp32's range."), {}},
    FieldChoice{"float16", "fp16", HEADROOM_TR("2 bytes, more digits, little range."), {}},
};
inline constexpr std::array dtypesOrNone{dtypes[0], dtypes[1], dtypes[2],
                                         FieldChoice{"none", HEADROOM_TR("none"), HEADROOM_TR("Switched off."), {}}};

} // namespace headroom::choices
