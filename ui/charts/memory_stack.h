// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"

#include <optional>
#include <string>
#include <vector>

namespace headroom {

/// What stacks up in a GPU's memory at the peak of a step.
struct MemoryStack {
    ComponentBytes components; ///< sum: allocated
    Bytes cache;               ///< reserved - allocated
    Bytes outside;             ///< device - reserved

    Bytes allocated() const { return components.total(); }
    Bytes reserved() const { return allocated() + cache; }
    Bytes device() const { return reserved() + outside; }
    bool operator==(const MemoryStack &) const = default;
};

/// One bar of the memory chart.
struct MemoryBar {
    std::string id; ///< catalogue id; empty: no GPU is selected
    std::string title;
    std::optional<Bytes> capacity;         ///< unset: no GPU, no outline
    Verdict verdict = Verdict::Fits;       ///< of the run, whichever step is shown
    Bytes headroom;                        ///< of the run; negative: short by that much
    std::optional<Estimate::Step> decides; ///< the step that verdict and headroom come from, where it is not the one shown
    MemoryStack stack;
    std::optional<MemoryStack> baseline;

    bool isOverLimit() const { return capacity && stack.device() > *capacity; }
    bool operator==(const MemoryBar &) const = default;
};

/// The bars of an estimate, in the order of its GPUs; one without a GPU where it has none. GpuEstimate's own figures are
/// those of the higher step: they are used for that one, the peak's for the other.
std::vector<MemoryBar> memoryBars(const Estimate &estimate, const Estimate *baseline, Estimate::Step step);

} // namespace headroom
