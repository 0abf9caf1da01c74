// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/rules_liger.h"

#include "core/estimate/rules_common.h"

namespace headroom {

using namespace autograd;
using namespace rules;

namespace {

constexpr const char *rmsNorm = "linkedin/Liger-Kernel 0.8.5, ops/rms_norm.py";
constexpr const char *swiglu = "linkedin/Liger-Kernel 0.8.5, ops/swiglu.py: LigerSiLUMulFunction, ops/geglu.py: LigerGELUMulFunction";
constexpr const char *fusedMoe = "linkedin/Liger-Kernel 0.8.5, ops/fused_moe.py: LigerFusedMoEFunction";

/// A kernel's Python code allocates plainly what it writes to; written out in operators a norm never does.
std::optional<TensorRule> normRule(std::string_view op, const StorageRecord &s)
{
    const bool backward = s.phase == TracePhase::Backward && !s.recomputed;
    if (op == "aten.empty.memory_format" && backward)
        return TensorRule{"norms", "rows of the gradient of a norm's weight",
                          "Liger's kernel sums the gradient of the norm's weight in fp32, one row for each multiprocessor of the GPU.",
                          rmsNorm};
    if (op == "aten.sum.dim_IntList" && backward && s.shape.rank() == 1)
        return TensorRule{"norms", "gradient of a norm's weight in fp32", "The multiprocessors' rows are summed, then cast.", rmsNorm};
    if (op == "aten.zeros_like.default" && backward)
        return TensorRule{"norms", "gradient of a norm's input",
                          "Where the gradient that comes in is also a residual's, Liger's kernel must not write over it.", rmsNorm};
    if (op != "aten.empty.memory_format")
        return std::nullopt;
    if (s.shape.rank() == 1)
        return TensorRule{"norms", "inverse root mean square", "Liger's norm keeps its input and one fp32 number a row for its backward.",
                          rmsNorm};
    return TensorRule{"norms", "output of the norm",
                      "Liger's norm is one kernel that keeps its input, not its output; the projections that follow keep that.", rmsNorm};
}

std::optional<TensorRule> expertsRule(std::string_view op, const StorageRecord &s, Component component)
{
    const char *g = "experts";
    if (s.phase == TracePhase::Backward && !s.recomputed) {
        if (op == "aten.zeros_like.default")
            return TensorRule{g, "gradient of all experts' weights", "Made whole, of zeros, whether the experts are trained or not.",
                              fusedMoe};
        if (op == "aten.empty.memory_format")
            return TensorRule{g, "gradients within the experts",
                              "One row for each pair of a token and an expert: of gate and up, of down's input, and of the tokens "
                              "before they are summed.",
                              fusedMoe};
        return std::nullopt;
    }
    if (op != "aten.empty.memory_format" || s.shape.rank() != 2 || s.dtype == DType::Int32)
        return std::nullopt;
    if (component == Component::Activations)
        return TensorRule{g, "gate and up of every row",
                          "Liger's kernel keeps what goes into the activation, one row for each pair of a token and an expert; the rest is "
                          "computed again in backward.",
                          fusedMoe};
    return TensorRule{g, "results within the experts",
                      "Down's input and result for each pair of a token and an expert, and the sum over a token's experts.", fusedMoe};
}

} // namespace

std::optional<TensorRule> ligerRule(const StorageRecord &s, Component component)
{
    if (component != Component::Activations && component != Component::Temporary)
        return std::nullopt;
    const std::string_view op = s.op, module = s.module;
    if (has(module, "norm"))
        return normRule(op, s);
    if (module == "mlp.experts")
        return expertsRule(op, s, component);
    if (module != "mlp")
        return std::nullopt;
    if (op == "aten.clone.default")
        return TensorRule{"MLP", "gate and up, each by itself",
                          "Liger's kernel wants contiguous inputs: both halves are copied out of the joined projection's result. It keeps "
                          "the copies, and backward writes their gradients over them.",
                          swiglu};
    if (op == "aten.empty_like.default")
        return TensorRule{"MLP", "input of down_proj",
                          "Activation and product are one kernel of Liger's, which keeps gate and up; its result is kept by down_proj "
                          "where that is trained.",
                          swiglu};
    return std::nullopt;
}

} // namespace headroom
