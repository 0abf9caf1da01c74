// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/trace.h"
#include "core/model/model_config.h"
#include "core/network/gemm_4bit.h"
#include "core/plan/training_plan.h"
#include "core/training/step_repeat.h"
#include "core/units/cancelled.h"
#include "core/units/result.h"
#include "core/units/version.h"

#include <stop_token>

namespace headroom::training {

/// What loading and some steps of the plan's loop allocate and release, in order.
struct TrainingRun {
    autograd::Trace trace;
    std::int64_t parametersTotal = 0; ///< elements, adapters and saved copies included, a tied tensor once
    std::int64_t parametersTrainable = 0;
    std::int64_t layerTotal = 0; ///< elements in the second layer
    std::int64_t layerTrainable = 0;
    std::int64_t hostBytes = 0;      ///< optimizer state in managed memory
    std::int64_t layerHostBytes = 0; ///< of it in the second layer
    autograd::FlopsByLayer flops;
    int steps = 0;
    /// What the last step replaces, where the next one would be the same: it can be replayed once more for that (step_repeat.h).
    std::optional<std::vector<Replacement>> lastStepReplaces;
    double flopsForward = 0;         ///< floating-point operations of products and attention in the forward pass of one micro-batch
    double flopsAgain = 0;           ///< of checkpointing's second forward of it
    int executedGroups = 0;          ///< of layers, where those between are copies (layer_repeat.h); 0: all were executed
    bool copiedMicroBatches = false; ///< of the second step, all but the last micro-batch are copies of it
};

/// The version of transformers whose rules are followed: the plan's, but for PyTorch before 2.6, on which
/// transformers 5.24 does not run (its package requires torch >= 2.6): there 4.46, a version of that time.
Version transformersVersion(const TrainingPlan &plan);

/// What kernels are told about the plan's first GPU; an A100 where it names none, or one whose multiprocessors are not known.
network::GpuProperties kernelGpu(const TrainingPlan &plan);

/// Whether what a step allocates depends on them.
bool kernelsDependOnGpu(const TrainingPlan &plan);

/// Why this version's engine does not execute the plan, field and reason; nothing where it does.
std::optional<Issue> unsupported(const TrainingPlan &plan, const ModelConfig &model);

/// How what repeats is had: layers in the middle, micro-batches after the second and steps after the
/// second copied or left out where that is proven to be the same, or all of it executed (up to 1,000 micro-batches).
enum class Repeat : std::uint8_t { Copy, Execute };

/// Micro-batches of a step that are executed with Repeat::Copy.
int executedMicroBatches(const TrainingPlan &plan);

/// Runs `steps` steps of the loop that plan-format version 1 fixes:
///     for micro in accumulation: outputs = model(input_ids, labels); loss = outputs.loss [/ accumulation]; loss.backward()
///     [clip_grad_norm_;] optimizer.step(); optimizer.zero_grad()
/// `workspaceBytes`: what each cuBLAS handle takes. The plan must be supported. Throws SizeOverflow where a size does not fit 64 bits,
/// Cancelled on request.
TrainingRun run(const TrainingPlan &plan, const ModelConfig &model, int steps, std::int64_t workspaceBytes, std::stop_token cancel = {},
                Repeat repeat = Repeat::Copy);

} // namespace headroom::training
