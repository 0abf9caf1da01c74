// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/allocator/options.h"

#include "core/allocator/size_rules.h"

#include <fmt/format.h>

namespace headroom {

std::optional<Issue> checkAllocatorOptions(const AllocatorOptions &options)
{
    const auto issue = [](const char *where, std::string what, const char *hint) { return Issue{{}, 0, where, std::move(what), hint}; };

    if (options.capacity.value < 0)
        return issue("capacity_bytes", fmt::format("{} bytes are less than none", options.capacity.value),
                     "give the device's memory in bytes");
    if (options.maxSplitSizeMb && *options.maxSplitSizeMb <= static_cast<std::int64_t>(allocator::largeSegment >> 20))
        return issue("max_split_size_mb", fmt::format("{} is too small", *options.maxSplitSizeMb),
                     "PyTorch accepts whole numbers above 20");
    // The comparisons are written so that a NaN fails them.
    if (!(options.garbageCollectionThreshold >= 0 && options.garbageCollectionThreshold < 1))
        return issue("garbage_collection_threshold", fmt::format("{} is out of range", options.garbageCollectionThreshold),
                     "give a number above 0 and below 1, or leave it out");
    if (options.memoryFraction && !(*options.memoryFraction >= 0 && *options.memoryFraction <= 1))
        return issue("memory_fraction", fmt::format("{} is out of range", *options.memoryFraction), "give a number from 0 to 1");
    if (auto divisions = allocator::RoundupDivisions::parse(options.roundupPower2Divisions); !divisions)
        return std::move(divisions.issue());
    return std::nullopt;
}

} // namespace headroom
