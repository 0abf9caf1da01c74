// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/checkpointing_cost.h"

#include "core/estimate/step_record.h"
#include "core/network/selective.h"
#include "core/plan/fields.h"
#include "core/training/step.h"
#include "core/units/cancelled.h"
#include "core/units/checked.h"

#include <algorithm>
#include <array>
#include <new>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headroom {

namespace {

Bytes roundedSavedActivations(const StepRecord &record)
{
    Bytes sum;
    for (const autograd::StorageId id : record.savedStorages())
        sum += Bytes{roundUp(record.trace().storages[id].bytes, 512)};
    return sum;
}

/// One step, executed without the allocator.
Bytes savedActivationsOf(const TrainingPlan &plan, const ModelConfig &model, std::int64_t workspace, const std::stop_token &cancel)
{
    auto run = std::make_shared<const training::TrainingRun>(training::run(plan, model, 1, workspace, cancel));
    return roundedSavedActivations(StepRecord({std::move(run), {}}, true, workspace));
}

} // namespace

std::optional<Bytes> bytesSavedByCheckpointing(const Estimate &with, std::stop_token cancel)
{
    if (with.plan.checkpointing == Checkpointing::None)
        return {};
    TrainingPlan plan = with.plan;
    plan.checkpointing = Checkpointing::None;
    plan.selective = {};
    plan.reentrantCheckpointing = false;
    if (!validate(plan).empty() || training::unsupported(plan, with.model))
        return {};
    try {
        return savedActivationsOf(plan, with.model, with.record->workspaceBytes(), cancel) - roundedSavedActivations(*with.record);
    } catch (const SizeOverflow &) {
    } catch (const std::bad_alloc &) {
    } catch (const Cancelled &) {}
    return {}; // too large without, or no longer wanted
}

std::string savedSentence(Bytes saved, ByteUnit unit)
{
    return fmt::format("Without checkpointing it would be {} {}", formatBytes(saved.value < 0 ? -saved : saved, unit),
                       saved.value < 0 ? "less" : "more");
}

std::string formatFlops(double flops)
{
    constexpr std::array units{"FLOPs", "kFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs", "EFLOPs"};
    std::size_t unit = 0;
    for (; flops >= 1000 && unit + 1 < units.size(); ++unit)
        flops /= 1000;
    return fmt::format("{:.{}f} {}", flops, unit == 0 ? 0 : flops < 10 ? 2 : flops < 100 ? 1 : 0, units[unit]);
}

std::string unkeptOperatorsSentence(const Estimate &estimate)
{
    if (estimate.plan.checkpointing != Checkpointing::Selective || !estimate.record)
        return {};
    std::vector<std::string> idle;
    for (const std::string &name : estimate.plan.selective.operators) {
        Selective alone;
        alone.operators = {name};
        const auto policy = network::makeKeptResultPolicy(alone);
        const auto &storages = estimate.record->trace().storages;
        const bool keeps = std::any_of(storages.begin(), storages.end(), [&](const autograd::StorageRecord &s) {
            return s.kept && policy->considers(s.op) && policy->keeps(s.op, s.module);
        });
        if (!keeps)
            idle.push_back(name);
    }
    if (idle.empty())
        return {};
    return fmt::format("Of {} no result is kept: in the layers as this plan runs them there is no such operator.",
                       fmt::join(idle, idle.size() == 2 ? " and " : ", "));
}

std::string recomputationSentence(const Estimate &estimate)
{
    if (estimate.plan.checkpointing == Checkpointing::None)
        return {};
    if (estimate.flopsRecomputed == 0)
        return "Checkpointing runs no matrix product and no attention again.";
    return fmt::format("Checkpointing runs {} of a step's {} of forward again, {:.0f} % (matrix products and attention).",
                       formatFlops(estimate.flopsRecomputed), formatFlops(estimate.flopsForward),
                       100 * estimate.flopsRecomputed / estimate.flopsForward);
}

} // namespace headroom
