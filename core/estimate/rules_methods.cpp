// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/rules_methods.h"

#include "core/estimate/rules_common.h"

namespace headroom {

using namespace autograd;
using namespace rules;

namespace {

constexpr const char *quantize = "bitsandbytes 0.50, functional.py: quantize_4bit, QuantState";
constexpr const char *gemm4bit = "bitsandbytes 0.50, backends/cuda/ops.py: gemm_4bit";
constexpr const char *matMul4Bit = "bitsandbytes 0.50, autograd/_functions.py: MatMul4Bit";
constexpr const char *int8 = "bitsandbytes 0.50, autograd/_functions.py: MatMul8bitLt";
constexpr const char *kbit = "huggingface/peft 0.21, utils/other.py: prepare_model_for_kbit_training";
constexpr const char *bnbOptimizer = "bitsandbytes 0.50, optim/optimizer.py: init_state";
constexpr const char *gptq = "AutoGPTQ 0.7, nn_modules/qlinear/qlinear_tritonv2.py; GPTQModel 7.7, nn_modules/qlinear/torch.py";
constexpr const char *dora = "huggingface/peft 0.21, tuners/lora/dora.py: DoraLinearLayer";
constexpr const char *partialLoss =
    "linkedin/Liger-Kernel 0.8.5, ops/fused_linear_cross_entropy.py; pytorch/torchtitan, components/loss.py: ChunkedLossWrapper";
constexpr const char *peftBnb = "huggingface/peft 0.21, tuners/lora/bnb.py";

TensorRule gptqWeightRule(std::string_view op, const char *group)
{
    if (has(op, "qweight"))
        return {group, "4-bit codes", "Eight weights share an int32 word: half a byte for every weight.", gptq};
    if (has(op, "qzeros"))
        return {group, "zero points",
                "Every 128 inputs of an output are a group with a zero point of its own, in 4 bits: 0.0039 bytes a weight.", gptq};
    if (has(op, "scales"))
        return {group, "scales", "Every 128 inputs of an output are a group with a 16-bit scale of its own: 0.0156 bytes a weight.", gptq};
    if (has(op, "g_idx"))
        return {group, "groups of the inputs", "An int32 for each input says which group it belongs to.", gptq};
    if (has(op, "shifts"))
        return {group, "shifts that unpack a word", "Two tables of eight int32 numbers, a block of 512 bytes each, for every weight.",
                gptq};
    return {group, "bias", "A quantised Linear keeps its bias beside the codes.", gptq};
}

std::optional<TensorRule> quantizedWeightRule(const StorageRecord &s, const char *group)
{
    const std::string_view op = s.op, module = s.module;
    if (has(op, "gptq."))
        return gptqWeightRule(op, group);
    if (has(op, "quantize_4bit") && s.dtype == DType::UInt8)
        return TensorRule{group, "4-bit codes", "Two weights share a byte: half a byte for every weight.", quantize};
    if (has(op, "quantize_4bit"))
        return TensorRule{group, "scales (absmax)",
                          "Every 64 weights are divided by their largest magnitude, the absmax, kept in fp32: 0.0625 bytes a weight.",
                          quantize};
    if (has(op, "quantize_blockwise") && s.dtype == DType::UInt8)
        return TensorRule{group, "8-bit scales (absmax)",
                          "Double quantisation keeps the largest magnitude of every 64 weights, the absmax, as an 8-bit code itself: "
                          "0.0156 bytes a weight.",
                          quantize};
    if (has(op, "quantize_blockwise"))
        return TensorRule{group, "scales of the 8-bit scales",
                          "Double quantisation divides every 256 scales by their largest magnitude, kept in fp32.", quantize};
    if (op == "aten.mean.default")
        return TensorRule{group, "mean of the scales",
                          "Double quantisation stores the scales without their mean: one number, a block of 512 bytes, a weight.",
                          quantize};
    if (has(op, "int8_vectorwise_quant") && s.dtype == DType::Int8)
        return TensorRule{group, "8-bit codes", "LLM.int8() keeps one byte for every weight.", int8};
    if (has(op, "int8_vectorwise_quant"))
        return TensorRule{group, "scales of the rows", "LLM.int8() keeps one fp32 scale for every output of a Linear.", int8};
    if (op != "aten._to_copy.default" || has(module, "lora_") || has(module, "rotary_emb"))
        return {};
    if (s.shape == ShortDims(Dims{16}) && s.dtype == DType::Float32)
        return TensorRule{group, "table of 4-bit values",
                          "Each quantised weight has a copy of the 16 values that its codes stand for: a block of 512 bytes.", quantize};
    if (s.shape == ShortDims(Dims{256}) && s.dtype == DType::Float32 && has(module, "_proj"))
        return TensorRule{group, "table of 8-bit values",
                          "Double quantisation gives each weight a copy of the 256 values that its scales' codes stand for.", quantize};
    if (s.dtype == DType::Float32)
        return TensorRule{group, "parameter upcast to fp32",
                          "PEFT's preparation casts whatever is not quantised to fp32: norms, biases, embedding and output head.", kbit};
    return TensorRule{group, "bias in the compute dtype", "A quantised Linear casts its bias at the first use and keeps it so.",
                      "bitsandbytes 0.50, nn/modules.py: Linear4bit.forward"};
}

std::optional<TensorRule> doraRule(const StorageRecord &s)
{
    const std::string_view op = s.op;
    const char *g = "adapters";
    if (op == "aten.eye.default")
        return TensorRule{
            g, "identity matrix",
            "DoRA sends an identity matrix as wide as the layer's input through the adapter to learn what it adds to the weight.", dora};
    if (s.shape.rank() == 1 || (s.shape.rank() == 2 && op == "aten.sub.Tensor"))
        return TensorRule{g, "magnitudes and norms", "One number for every output, kept for the magnitude's gradient.", dora};
    if (s.shape.rank() == 2)
        return TensorRule{
            g, "weights within DoRA's norm",
            "DoRA adds what the adapter makes to the weight, in the input's dtype, to take the norm of every row; all of it goes "
            "when the layer returns.",
            dora};
    return TensorRule{g, "DoRA's update", "The base's and the adapter's results, each scaled by the magnitudes and added.", dora};
}

/// Born where the loss begins, with no module: what a loss without whole logits makes. The loss over logits makes none of it.
std::optional<TensorRule> partialLossRule(const StorageRecord &s)
{
    const std::string_view op = s.op, module = s.module;
    if (s.phase != TracePhase::Loss || (!module.empty() && module != "lm_head"))
        return {};
    if (op == "aten.zeros_like.default" && s.shape.rank() == 2)
        return TensorRule{
            "loss", "gradients made in forward",
            "A chunked or fused loss computes the gradients of hidden states and head weight while it goes over the chunks, and "
            "keeps them for backward.",
            partialLoss};
    if (op == "aten.empty.memory_format" && s.shape.rank() == 2)
        return TensorRule{"loss", "logits of a chunk", "One buffer for the logits of a chunk of tokens, used again by every chunk.",
                          partialLoss};
    if (op == "aten.zeros.default" || op == "aten.ne.Scalar")
        return TensorRule{"loss", "losses and mask of the tokens", "One fp32 loss for each token, and which tokens count.", partialLoss};
    return {};
}

std::optional<TensorRule> optimizerRule(const StorageRecord &s)
{
    const std::string_view op = s.op;
    if (s.dtype == DType::UInt8)
        return TensorRule{"moments", "8-bit moments",
                          "One byte for every element of each moment, for parameters of 4096 elements and more.", bnbOptimizer};
    if (op == "aten.zeros.default" && s.shape.rank() == 1)
        return TensorRule{
            "moments", "scales of the 8-bit moments (absmax)",
            "Every 256 elements of a moment are divided by their largest magnitude, kept in fp32: 2.03125 bytes for two moments "
            "in all.",
            bnbOptimizer};
    if (op == "aten._to_copy.default" && s.shape.rank() == 1)
        return TensorRule{"moments", "tables of 8-bit values", "What the 256 codes of a moment stand for, once for all parameters.",
                          bnbOptimizer};
    if (op == "aten.new_zeros.default")
        return TensorRule{"moments", "rows and columns of second moments",
                          "Adafactor keeps a number for each row and each column of a matrix instead of one for each element.",
                          "pytorch/pytorch 2.13, torch/optim/_adafactor.py"};
    return {};
}

std::optional<TensorRule> quantizedProductRule(const StorageRecord &s, const char *group)
{
    const std::string_view op = s.op, module = s.module;
    if (has(op, "gptq.dequant"))
        return TensorRule{group, "dequantised weight",
                          "The matrix product wants the weight in 16 bits. AutoGPTQ's kernel makes it for each product, in forward and "
                          "again in backward; GPTQModel makes it in forward, where autograd keeps it for backward.",
                          gptq};
    if (has(op, "dequantize_4bit"))
        return TensorRule{group, "dequantised weight",
                          "The matrix product wants the weight in 16 or 32 bits: it is made from codes and scales for this one product, in "
                          "forward where the tokens are too many for the fused kernel, and always in backward.",
                          s.phase == TracePhase::Backward && !s.recomputed ? matMul4Bit : gemm4bit};
    if (has(op, "dequantize_blockwise") || (has(op, "gemm_4bit") && s.dtype == DType::Float32 && s.shape.rank() == 1))
        return TensorRule{group, "scales in fp32", "Double quantisation's 8-bit scales are decoded before the weight is.", gemm4bit};
    if (has(op, "gemm_4bit"))
        return TensorRule{group, "result of the fused kernel",
                          "For few tokens one kernel multiplies with the 4-bit codes: no weight is made.", gemm4bit};
    if (has(op, "int8_linear_matmul"))
        return TensorRule{group, "int32 sums", "The 8-bit product is summed in int32: four bytes for every output of every token.", int8};
    if (has(op, "int8_"))
        return TensorRule{group, "within the 8-bit product",
                          "LLM.int8() brings its input to fp16, looks for outliers, makes 8-bit codes and a scale for every token.", int8};
    if (op == "aten.clone.default" && has(module, "_proj") && s.phase != TracePhase::Backward)
        return TensorRule{group, "copy of the base's result", "PEFT clones what a 4-bit Linear returns before it adds the adapter's.",
                          peftBnb};
    return {};
}

} // namespace

std::optional<TensorRule> methodRule(const StorageRecord &s, Component component, const char *group)
{
    switch (component) {
    case Component::Weights:
        if (has(s.module, "lora_magnitude_vector"))
            return TensorRule{group, "magnitude vector", "DoRA trains one magnitude for every output of an adapted Linear.", dora};
        return quantizedWeightRule(s, group);
    case Component::Gradients: return {};
    case Component::Optimizer: return optimizerRule(s);
    case Component::Activations:
    case Component::Temporary: break;
    }
    if (has(s.module, "lora_magnitude_vector"))
        return doraRule(s);
    if (const auto rule = partialLossRule(s))
        return rule;
    return quantizedProductRule(s, group);
}

} // namespace headroom
