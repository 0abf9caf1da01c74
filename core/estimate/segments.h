// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace headroom {

/// Memory that a run takes from the device, or gives back.
struct SegmentEvent {
    std::uint64_t address = 0; ///< tells segments apart; a number, no pointer
    Bytes bytes;
    bool taken = true;
    Phase phase = Phase::Load;
    int step = -1; ///< 0-based; -1: while loading. The last step stands for all later ones
};

/// What a run asks of a device, to be done again with a device's own allocation calls.
struct SegmentPlan {
    std::vector<SegmentEvent> events; ///< up to where memory ended
    Bytes peak;                       ///< the highest sum of what is taken

    /// Where the given memory does not do, though the allocator gave back all that it could.
    struct Shortage {
        Phase phase = Phase::Load;
        int step = -1;
        Bytes tried, free, reserved;
    };
    std::optional<Shortage> shortage;
};

/// The estimate's run, replayed once more within `capacity` bytes for PyTorch's allocator: the caching allocator's segments, or the
/// pages of expandable ones.
SegmentPlan segmentPlan(const Estimate &estimate, Bytes capacity);

} // namespace headroom
