// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

/// Two traces compared event by event: what is copied against what is executed.
namespace headroom::tracedifference {

using namespace autograd;

/// What a multiplication takes in passing, within a layer: cuBLAS' workspace on an A100.
inline constexpr std::int64_t workspaceBytes = 8519680;

inline std::string describe(const Trace &trace, Event event)
{
    const StorageRecord &s = trace.storages[event.storage];
    return fmt::format("{}{} layer {} \"{}\" {} {}", event.release ? '-' : '+', s.bytes, s.layer, s.module, s.op, toString(s.shape));
}

inline bool equalRecords(const StorageRecord &a, const StorageRecord &b)
{
    return a.bytes == b.bytes && a.shape == b.shape && std::string_view(a.op) == b.op && std::string_view(a.module) == b.module &&
           a.layer == b.layer && a.dtype == b.dtype && a.role == b.role && a.phase == b.phase && a.stream == b.stream &&
           a.recomputed == b.recomputed && a.kept == b.kept;
}

/// What is the first difference between two traces; empty: none. Storages need not have the same numbers, but each of
/// one trace must stand for one of the other from birth to release.
inline std::string firstDifference(const Trace &a, const Trace &b)
{
    std::vector<StorageId> partner(a.storages.size(), noStorage);
    for (std::size_t i = 0; i < std::min(a.events.size(), b.events.size()); ++i) {
        const Event x = a.events[i], y = b.events[i];
        if (!x.release)
            partner[x.storage] = y.storage;
        if (partner[x.storage] != y.storage || x.release != y.release || !equalRecords(a.storages[x.storage], b.storages[y.storage]))
            return fmt::format("event {}: {} and {}", i, describe(a, x), describe(b, y));
    }
    if (a.events.size() != b.events.size() || a.storages.size() != b.storages.size())
        return fmt::format("{} and {} events, {} and {} storages", a.events.size(), b.events.size(), a.storages.size(), b.storages.size());
    if (a.marks.size() != b.marks.size())
        return fmt::format("{} and {} marks", a.marks.size(), b.marks.size());
    for (std::size_t i = 0; i < a.marks.size(); ++i)
        if (a.marks[i].event != b.marks[i].event || a.marks[i].phase != b.marks[i].phase || a.marks[i].step != b.marks[i].step ||
            a.marks[i].microBatch != b.marks[i].microBatch)
            return fmt::format("mark {}", i);
    return {};
}

} // namespace headroom::tracedifference
