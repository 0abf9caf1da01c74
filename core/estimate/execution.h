// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/step_record.h"
#include "core/hardware/gpu.h"
#include "core/model/model_config.h"
#include "core/plan/training_plan.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

namespace headroom {

/// A run that may be shared by several records.
using SharedRun = std::shared_ptr<const training::TrainingRun>;

/// Executes a plan and replays the allocator over it. Throws SizeOverflow, std::bad_alloc, Cancelled.
struct Executor {
    TrainingPlan plan;
    const ModelConfig &model;
    std::int64_t workspace; ///< bytes of a cuBLAS workspace on the GPU
    std::stop_token cancel;

    /// Two steps where the third is the second once more, else three: the first, and the one taken for all later ones.
    SharedRun run() const;
    ReplayedRun replayed(SharedRun run, const AllocatorOptions &options) const;
    std::shared_ptr<const StepRecord> record(ReplayedRun replayed) const;
    /// What happens where memory has no end.
    std::shared_ptr<const StepRecord> unlimited() const { return record(replayed(run(), allocatorOptions(plan))); }
};

/// The peak with its device memory. `outside`: of PyTorch.
Peak withDevice(Peak peak, Bytes outside);

/// The larger of first step and steady state, which is what decides whether a run fits.
Peak highestPeak(const StepRecord &record, Bytes outside);

/// What a plan does within one GPU's memory.
struct OnGpu {
    std::shared_ptr<const StepRecord> record;
    std::optional<Phase> outOfMemory; ///< where it would run out
};

/// `record` was replayed without a limit. Only where that, or loading, would not fit is it replayed within the GPU's memory, where the
/// allocator first gives back what it keeps; if even that does not fit, the figures are those it would need.
OnGpu withinGpu(const Executor &executor, const Gpu &gpu, const std::shared_ptr<const StepRecord> &record);

/// What is said where a size does not fit into 64 bits (SizeOverflow), and where the estimate itself runs out of memory.
Issue runTooLarge();
Issue estimateTooLarge();

} // namespace headroom
