// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/execution.h"

#include "core/estimate/outside.h"

namespace headroom {

namespace {

constexpr int wantedSteps = 3; ///< the first, and the one taken for all later ones

const Peak &higher(const Peak &a, const Peak &b)
{
    return a.device > b.device || (a.device == b.device && a.allocated > b.allocated) ? a : b;
}

} // namespace

SharedRun Executor::run() const
{
    training::TrainingRun run = training::run(plan, model, wantedSteps - 1, workspace, cancel);
    run.lastStepReplaces = training::replacements(run.trace);
    if (!run.lastStepReplaces)
        run = training::run(plan, model, wantedSteps, workspace, cancel);
    return std::make_shared<const training::TrainingRun>(std::move(run));
}

ReplayedRun Executor::replayed(SharedRun run, const AllocatorOptions &options) const
{
    const auto &again = run->lastStepReplaces;
    Replay replayed = replay(run->trace, options, workspace, cancel, again ? &*again : nullptr);
    return {std::move(run), std::move(replayed)};
}

std::shared_ptr<const StepRecord> Executor::record(ReplayedRun replayed) const
{
    const bool rounded = plan.runtime.allocator == AllocatorKind::Rounded;
    return std::make_shared<const StepRecord>(std::move(replayed), rounded, workspace);
}

Peak withDevice(Peak peak, Bytes outside)
{
    peak.device = peak.reserved + outside;
    return peak;
}

Peak highestPeak(const StepRecord &record, Bytes outside)
{
    return higher(withDevice(record.peak(0), outside), withDevice(record.peak(record.steps() - 1), outside));
}

OnGpu withinGpu(const Executor &executor, const Gpu &gpu, const std::shared_ptr<const StepRecord> &record)
{
    const Bytes outside = total(outsideOfPyTorch(executor.plan, &gpu));
    const bool otherWorkspace = record->workspaceBytes() != executor.workspace;
    if (!otherWorkspace && highestPeak(*record, outside).device <= gpu.capacity &&
        record->phasePeak(0, Phase::Load).reserved + outside <= gpu.capacity)
        return {record, {}};
    AllocatorOptions options = allocatorOptions(executor.plan);
    options.capacity = gpu.capacity - outside;
    Phase outOfMemory = Phase::Load;
    if (options.capacity.value > 0) {
        ReplayedRun limited = executor.replayed(record->run(), options);
        if (!limited.replay.outOfMemory)
            return {executor.record(std::move(limited)), {}};
        outOfMemory = static_cast<Phase>(record->phaseOf(*limited.replay.outOfMemory));
    }
    return {otherWorkspace ? executor.record(executor.replayed(record->run(), allocatorOptions(executor.plan))) : record, outOfMemory};
}

Issue runTooLarge()
{
    return {{}, 0, "model", "the run is too large: a size does not fit into 64 bits", "make the model, the batch or the sequence smaller"};
}

Issue estimateTooLarge()
{
    return {{},
            0,
            "model",
            "the estimate itself ran out of memory",
            "make the model smaller; a model of this many layers is far beyond what is trained"};
}

} // namespace headroom
