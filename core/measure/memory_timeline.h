// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/units/bytes.h"
#include "core/units/result.h"

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace headroom {

/// Newest format of memory timelines that this program reads.
inline constexpr int memoryTimelineFormat = 1;

/// What a memory snapshot of PyTorch says of one GPU, as the probe's Python side converts it (docs/plan-format.md, "Memory
/// timelines"): allocated and reserved after each event of the caching allocator.
struct MemoryTimeline {
    struct Point {
        std::int64_t microseconds = 0; ///< since the first event
        Bytes allocated, reserved;
        bool operator==(const Point &) const = default;
    };
    int device = 0;
    std::int64_t events = 0;               ///< in the snapshot; more than there are points: neighbours were joined, the highest kept
    std::int64_t beganAt = 0;              ///< the first event: microseconds since 1970
    Bytes allocatedBefore, reservedBefore; ///< before the first event
    Bytes allocatedMost, reservedMost;
    std::int64_t timesOutOfMemory = 0;
    std::vector<Point> points; ///< in the order in which they happened; empty: nothing was recorded

    bool isThinned() const { return events > static_cast<std::int64_t>(points.size()); }
};

/// Reads one timeline, which is taken for untrusted, as a probe's result is. Never throws.
Result<MemoryTimeline> readMemoryTimeline(std::string_view json);

/// Reads a file of at most 64 MiB; the Issue carries its name.
Result<MemoryTimeline> readMemoryTimelineFile(const std::filesystem::path &file);

/// What a file is that was measured.
enum class MeasuredFile : std::uint8_t {
    Other,    ///< none of these
    Result,   ///< of the probe
    Timeline, ///< a snapshot, converted
    Snapshot, ///< a pickle, which only Python's side reads
};

/// By its name ("*.headroom-probe.json", "*.headroom-timeline.json", "*.pickle", "*.pkl"), else by how it begins. What cannot be
/// read is Other.
MeasuredFile measuredFileOf(const std::filesystem::path &file);

} // namespace headroom
