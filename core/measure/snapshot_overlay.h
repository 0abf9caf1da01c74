// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"
#include "core/measure/memory_timeline.h"
#include "core/measure/probe_result.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headroom {

/// A measured moment on a predicted timeline: what was allocated and reserved from `event` on.
struct OverlayPoint {
    double event = 0;
    Bytes allocated, reserved;
    bool begins = false; ///< of a line: none leads here from the point before
    bool operator==(const OverlayPoint &) const = default;
};

/// A memory snapshot laid over a predicted step. The two have no clock in common, for a prediction has none; what they have in
/// common is the order of allocations and frees. So a stretch of the recording covers a stretch of the step, and within it every
/// allocation or free takes an equal part of the width. Where the marks of a run say when its phases began, the stretches are the
/// phases of one step, else the recording as a whole.
struct SnapshotOverlay {
    std::vector<OverlayPoint> points;  ///< by event
    std::optional<int> step;           ///< of the run, 0-based; unset: the marks say nothing of this recording
    bool isOtherStep = false;          ///< the recording is of a first step where a later one is shown, or the reverse: no points
    Bytes allocatedMost, reservedMost; ///< of the points
    std::string rule;                  ///< how it was laid, in one sentence without a full stop
};

/// The step of the run in which most of the recording happened; unset: not in this run.
std::optional<int> recordedStep(const MemoryTimeline &snapshot, std::span<const ProbeMark> marks);

/// `shown`: the step with all of its phases, however many samples it has. Micro-batches are laid over each other from the first
/// on, the last over the last; of more than are predicted the ones between are left out.
SnapshotOverlay layOver(const Timeline &shown, Estimate::Step kind, const MemoryTimeline &snapshot, std::span<const ProbeMark> marks);

/// The part between two events, of at most about `samples` points: of each stretch the highest is kept.
std::vector<OverlayPoint> thinned(std::span<const OverlayPoint> points, double from, double to, std::size_t samples);

} // namespace headroom
