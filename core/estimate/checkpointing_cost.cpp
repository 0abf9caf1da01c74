// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/checkpointing_cost.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace headroom {

std::optional<Bytes> bytesSavedByCheckpointing(const Estimate &with, std::stop_token cancel)
{
    if (with.plan.checkpointing == Checkpointing::None)
        return {};
    TrainingPlan plan = with.plan;
    plan.checkpointing = Checkpointing::None;
    plan.selective = {};
    plan.reentrantCheckpointing = false;
    plan.gpus.resize(std::min<std::size_t>(plan.gpus.size(), 1)); // saved activations are for the first
    const Result<std::shared_ptr<const Estimate>> without = estimate(plan, std::move(cancel));
    if (!without)
        return {};
    return (*without)->savedActivations - with.savedActivations;
}

std::string formatFlops(double flops)
{
    constexpr std::array units{"FLOPs", "kFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs", "EFLOPs"};
    std::size_t unit = 0;
    for (; flops >= 1000 && unit + 1 < units.size(); ++unit)
        flops /= 1000;
    return fmt::format("{:.{}f} {}", flops, unit == 0 ? 0 : flops < 10 ? 2 : flops < 100 ? 1 : 0, units[unit]);
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
