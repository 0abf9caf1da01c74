// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/training/optimizer.h"
#include "core/training/sharding_engine.h"

#include <vector>

/// What DeepSpeed 0.19's optimizers have in common (deepspeed/runtime/utils.py, zero/utils.py, engine.py).
namespace headroom::training::deepspeed {

using autograd::Dims;
using autograd::Role;
using autograd::Tape;
using autograd::Tensor;

/// The module under which all that DeepSpeed itself allocates is filed.
inline constexpr const char *moduleName = "DeepSpeed";

/// Names of what DeepSpeed allocates for itself: PyTorch's operator, and what for (core/estimate/rules.cpp).
inline constexpr const char *bucketName = "aten.empty.memory_format (gradient bucket)";
inline constexpr const char *reductionName = "aten.cat.default (reduction)";
inline constexpr const char *gatherName = "aten.empty.memory_format (gathered parameters)";
inline constexpr const char *gatherCopyName = "aten.cat.default (gathered parameters)";

/// Streams besides the default one.
inline constexpr std::uint8_t reductionStream = 1;
inline constexpr std::uint8_t gatherStream = 2;

/// The fields of the plan that decide what DeepSpeed does, sizes in elements.
struct Options {
    std::int64_t ranks = 1;
    std::int64_t reduceBucket = 0;
    std::int64_t prefetchBucket = 0, persistenceThreshold = 0, maxLiveParameters = 0, maxReuseDistance = 0;
    std::int64_t subGroupSize = 1'000'000'000;
    bool overlap = false;
    bool clip = true;
    DType parameters = DType::BFloat16;
    DType communication = DType::BFloat16;
    OptimizerChoice optimizer;
};

Options optionsOf(const TrainingPlan &plan, const ModelConfig &model);

/// The two parameter groups of the Hugging Face Trainer: matrices, and vectors, which have no weight decay. Empty ones
/// are left out.
std::vector<std::vector<Tensor>> parameterGroups(const std::vector<Tensor> &trainable);

/// model.to("cuda"): one tensor after the other in module order. `moved` is told of each parameter, before the next.
void moveToDevice(Tape &tape, network::CausalLm &model, const std::function<void(const Tensor &)> &moved = {});

/// A tensor of one dimension.
Tensor flat(Tape &tape, std::int64_t elements, DType dtype, const char *op);
/// One that is counted with the engine's buffers.
Tensor engineBuffer(Tape &tape, std::int64_t elements, DType dtype, const char *op);

/// The Adam step's parameter: fp32, updated instead of the 16-bit parameters.
Tensor masterOf(Tape &tape, const Tensor &parameters);

/// parameter.grad = gradient; an undefined one drops it.
void setGradient(const Tensor &parameter, const Tensor &gradient);

/// Gradients of so many elements each are reduced together as soon as they are more than `limit`, and what is left at the
/// end (buffered_allreduce_fallback(), allreduce_and_scatter()): copied into one buffer if they are several, and cast if
/// they travel in another dtype than the parameters'.
void reduceUpTo(Tape &tape, const Options &options, const std::vector<std::int64_t> &pieces, std::int64_t limit);

/// torch.isfinite(x) on a tensor of `elements`: four results, of which the last lives on.
Tensor isFinite(Tape &tape, std::int64_t elements);
/// has_inf_or_nan(x), added to a count.
void checkForInfinities(Tape &tape, DType dtype);
/// combine_grad_norm_groups: one fp32 number of the groups' norms, which go meanwhile.
Tensor combineNorms(Tape &tape, std::int64_t groups);
/// get_grad_norm_direct(), first part: each gradient is cast to fp64, its norm taken; `norms` keeps them.
Tensor sumOfSquares(Tape &tape, const std::vector<std::int64_t> &elements, std::vector<Tensor> &norms);
/// is_invalid_grad_norm(norm)
void checkNorm(Tape &tape);
/// Checks the norm and divides it by the loss scale. Gives back the last step's, which the engine holds until this one is
/// done.
[[nodiscard]] Tensor replaceGlobalNorm(Tape &tape, Tensor &globalNorm, DType dtype);
/// 1. / combined_scale and what leads to it: the gradient is scaled in place.
void clipScale(Tape &tape);

} // namespace headroom::training::deepspeed
