// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/rules_families.h"

#include "core/estimate/rules_common.h"

#include <algorithm>
#include <iterator>

namespace headroom {

using namespace autograd;
using namespace rules;

namespace {

constexpr const char *moe = "huggingface/transformers 5.24, integrations/moe.py: grouped_mm_experts_forward";
constexpr const char *paramWrapper = "huggingface/peft 0.21, tuners/lora/layer.py: ParamWrapper";
constexpr const char *mixtral = "huggingface/transformers 5.24, models/mixtral/modeling_mixtral.py";
constexpr const char *gemma2 = "huggingface/transformers 5.24, models/gemma2/modeling_gemma2.py";
constexpr const char *gptOss = "huggingface/transformers 5.24, models/gpt_oss/modeling_gpt_oss.py: eager_attention_forward";
constexpr const char *bloom = "huggingface/transformers 5.24, models/bloom/modeling_bloom.py";
constexpr const char *gptNeo = "huggingface/transformers 5.24, models/gpt_neo/modeling_gpt_neo.py";
constexpr const char *gpt2 = "huggingface/transformers 5.24, models/gpt2/modeling_gpt2.py";

std::optional<TensorRule> expertsRule(std::string_view op, const StorageRecord &s)
{
    const char *g = "experts";
    if (has(op, "baddbmm"))
        return TensorRule{g, "all experts' weights with their update",
                          "An adapter on joined experts is folded into a copy of all their weights at each use; the grouped product keeps "
                          "it for the gradient of its rows.",
                          paramWrapper};
    if (has(op, "_to_copy") && s.shape.rank() == 3)
        return TensorRule{"adapters", "factors of the experts' update",
                          "LoRA A and B, a block for each expert, in the dtype of the weights; kept for each other's gradient.",
                          paramWrapper};
    if (s.phase == TracePhase::Backward && !s.recomputed && s.shape.rank() == 3 && (has(op, "bmm") || has(op, "mul.Scalar")))
        return TensorRule{"adapters", "gradients of the factors of the experts' update",
                          "Made from the gradient of all experts' weights, which is as large as these.", paramWrapper};
    if (has(op, "_grouped_mm")) {
        if (s.phase == TracePhase::Backward && !s.recomputed)
            return TensorRule{g, "gradients of the grouped product",
                              "Backward makes the gradients of the rows and, where they are trained, of all experts' weights, used or not.",
                              derivatives};
        return TensorRule{g, "output of the grouped product",
                          "One row for each pair of a token and an expert it goes to, for gate and up together, then for down.", moe};
    }
    if (s.phase == TracePhase::Backward && !s.recomputed)
        return TensorRule{g, "gradients within the experts",
                          "One row for each pair of a token and an expert; gathered rows' gradients are "
                          "added into zeros of the tokens' size.",
                          derivatives};
    if (has(op, "index"))
        return TensorRule{
            g, "rows sorted by expert",
            "Every token's hidden states are copied once for each expert it goes to, so that each expert's rows lie together.", moe};
    if (s.shape.rank() < 2)
        return TensorRule{g, "order of the rows", "Indices and counts that sort the pairs of tokens and experts and put them back.", moe};
    if (has(s.module, "act_fn"))
        return TensorRule{g, "output of the experts' activation", "Kept by the product of gate and up, whose gradients need both factors.",
                          derivatives};
    return TensorRule{g, "results within the experts",
                      "Products of gate and up, rows weighted by the router, and their sum over the experts of a token.", moe};
}

constexpr const char *expertList = "huggingface/transformers 4.57, models/mixtral/modeling_mixtral.py: MixtralSparseMoeBlock";

/// Experts as modules of their own, one after the other.
std::optional<TensorRule> expertListRule(std::string_view op, std::string_view module, const StorageRecord &s)
{
    const char *g = "experts";
    const bool block = module == "block_sparse_moe" || module == "mlp";
    const bool backward = s.phase == TracePhase::Backward && !s.recomputed;
    if (block && op == "aten.zeros.default")
        return s.shape.rank() == 2 ? TensorRule{g, "sum of the experts' results",
                                                "Zeros for every token, to which each expert's rows are added in place.", expertList}
                                   : TensorRule{g, "mask of the experts",
                                                "For each token, choice and expert an int64: which expert a token goes to.", expertList};
    if (block && has(op, "nonzero"))
        return TensorRule{g, "rows of an expert", "Which tokens go to the expert, and as which of their choices: two int64 a row.",
                          expertList};
    if (block && op == "aten.index.Tensor")
        return TensorRule{g, "rows that an expert computes",
                          "The hidden states of the tokens that go to the expert are copied, and their routing weights.", expertList};
    if (block && backward && (op == "aten.new_zeros.default" || op == "aten.index_select.default"))
        return TensorRule{g, "gradients of an expert's rows",
                          "The rows' gradients are taken out of the sum's; what goes back to the tokens is added into zeros of all tokens' "
                          "size, once for every expert.",
                          derivatives};
    if (module == "block_sparse_moe" && !backward)
        return TensorRule{g, "weighted rows", "An expert's results times the routing weights, kept until backward.", expertList};
    const bool projection = has(module, ".experts.") && !has(module, "lora_") && !has(module, "act_fn");
    if (projection && !backward && has(op, "mm.default"))
        return TensorRule{g, "results of an expert's projections",
                          "Each expert's Linears compute the rows of its tokens; the activation and the product keep them.", derivatives};
    return {};
}

/// What attention with a sink for each head makes besides; the only attention that writes these operators out.
std::optional<TensorRule> sinkRule(std::string_view op, const StorageRecord &s)
{
    const char *g = "attention";
    if (op == "aten.max.dim")
        return TensorRule{g, "largest score of each row",
                          "Subtracted before the softmax; where it stood, an int64 for every head and token, is kept for backward.",
                          gptOss};
    const Dims shape(s.shape);
    if (shape.rank() != 4 || shape[3] != shape[2] + 1)
        return std::nullopt;
    if (op == "aten.cat.default" || op == "aten.sub.Tensor")
        return TensorRule{g, "scores and sinks", "The scores with one more column, the head's sink; less the largest of each row.", gptOss};
    if (op == "aten.slice_backward.default" || op == "aten.new_zeros.default" || op == "aten.neg.default")
        return TensorRule{g, "gradients of scores and sinks",
                          "The sink's column is dropped after the softmax, so its gradient is one of zeros; the largest score's is "
                          "scattered into zeros as well.",
                          derivatives};
    return std::nullopt;
}

} // namespace

std::optional<TensorRule> familyRule(const StorageRecord &s, const char *group)
{
    const std::string_view op = s.op, module = s.module;
    const bool backward = s.phase == TracePhase::Backward && !s.recomputed;
    if (const auto rule = expertListRule(op, module, s))
        return rule;
    if (module == "mlp.experts" || module == "mlp.experts.act_fn" || module == "block_sparse_moe.experts" ||
        module == "block_sparse_moe.experts.act_fn")
        return expertsRule(op, s);
    if (module == "self_attn")
        if (const auto rule = sinkRule(op, s))
            return rule;
    if (module == "mlp.router")
        return TensorRule{"router", "scores of the experts", "The router scores every expert for each token and keeps the largest.",
                          gptOss};
    if (module == "mlp.gate" || module == "block_sparse_moe.gate")
        return TensorRule{"router", "scores of the experts", "The router scores every expert for each token in fp32 and keeps the largest.",
                          mixtral};
    if (has(op, "layer_norm")) {
        if (backward)
            return TensorRule{"norms", "gradients of a LayerNorm", "One kernel makes the gradients of the input, the weight and the bias.",
                              derivatives};
        return Dims(s.shape).back() == 1
                   ? TensorRule{"norms", "mean and inverse deviation", "Two fp32 numbers a token, kept for the norm's backward.",
                                derivatives}
                   : TensorRule{"norms", "output of a LayerNorm",
                                "LayerNorm is one kernel that keeps its input, not its output; the projections that follow keep that.",
                                derivatives};
    }
    if (module == "transformer" && !backward && s.dtype != DType::Int64 && (has(op, "mul.Tensor") || has(op, "masked_fill")))
        return TensorRule{"positions and masks", "linear biases",
                          "A number for each head and key, by how far away it is, instead of positions; Falcon joins them with the mask.",
                          bloom};
    if (module == "mlp.gelu_impl")
        return TensorRule{group, backward ? "gradients within the activation" : "results of the activation",
                          "A function of its own, written out in operators forward and backward; it keeps its input alone.", bloom};
    if (module == "attn.attention" && op == "aten.where.self")
        return TensorRule{"attention", "scores within the window",
                          "What a token may not look at is replaced; the mask is a slice of what the layer holds for all positions.",
                          gptNeo};
    if (has(op, "native_dropout") && !has(module, "self_attn"))
        return TensorRule{group,
                          backward                 ? "gradient through dropout"
                          : s.dtype == DType::Bool ? "dropout mask"
                                                   : "dropped values",
                          "Dropout keeps a mask of one byte an element and returns a copy.", derivatives};
    if (has(op, "tanh") && has(module, "attn"))
        return TensorRule{
            "attention", "softcapped scores",
            "The scores are bounded by a tanh, which keeps its result: a row of the sequence's length for every head and token.", gemma2};
    if (backward)
        return std::nullopt;
    if (has(op, "tanh") && s.phase == TracePhase::Loss)
        return TensorRule{"loss", "softcapped logits", "The logits are bounded by a tanh, which keeps its result.", gemma2};
    if (has(module, "gate_up_proj"))
        return TensorRule{"MLP", "output of gate and up", "One product for both halves, which the activation and the product keep.",
                          derivatives};
    constexpr std::string_view written[] = {"mul.", "add.", "sub.", "where", "softplus", "minimum", "expm1", "gt."};
    const bool writtenOut =
        module == "mlp.act_fn" && std::any_of(std::begin(written), std::end(written), [&](std::string_view part) { return has(op, part); });
    if (module == "mlp.act" || module == "mlp.activation_fn" || writtenOut)
        return TensorRule{group, "results of the activation",
                          "The activation keeps its input; written out in Python, each of its operators keeps what its gradient needs.",
                          writtenOut ? "transformers 5.24, activations.py: XIELUActivation" : gpt2};
    if (has(module, "qkv_proj") || has(module, "c_attn") || has(module, "query_key_value") || has(module, "Wqkv"))
        return TensorRule{"attention", "query, key and value", "One product for all three, of which attention keeps views or copies.",
                          derivatives};
    return std::nullopt;
}

std::optional<TensorRule> familyWeightRule(const StorageRecord &s, const char *group)
{
    const std::string_view module = s.module;
    if (module == "mlp.experts")
        return TensorRule{"experts", "all experts' matrices",
                          "Every expert's weights are held in two tensors, whether a token goes to it or not.", mixtral};
    if (module == "mlp.gate" || module == "mlp.router")
        return TensorRule{"router", s.shape.rank() == 1 ? "vector" : "matrix", "A row for each expert.", mixtral};
    if (module == "attn.attention")
        return TensorRule{group, "mask of all positions",
                          "Each layer holds a byte for every pair of positions: what a token may look at, within the window where the "
                          "layer has one.",
                          gptNeo};
    if (has(module, "wpe"))
        return TensorRule{group, "learned positions", "A row for each position up to the longest sequence.", gpt2};
    return std::nullopt;
}

} // namespace headroom
