// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/training/step_repeat.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace headroom::training {

using namespace autograd;

namespace {

/// The mark with which the last step begins; the number of marks where there is none.
std::size_t markOfLastStep(const Trace &trace)
{
    const auto begin = std::find_if(trace.marks.rbegin(), trace.marks.rend(),
                                    [](const Mark &mark) { return mark.phase == TracePhase::Forward && mark.microBatch == 0; });
    return begin == trace.marks.rend() ? trace.marks.size() : static_cast<std::size_t>(trace.marks.rend() - begin) - 1;
}

/// The first storage that is born at this event or later: they are numbered as they are born.
StorageId firstBornFrom(const Trace &trace, std::uint32_t event)
{
    const auto birth = std::find_if(trace.events.begin() + event, trace.events.end(), [](Event e) { return !e.release; });
    return birth == trace.events.end() ? static_cast<StorageId>(trace.storages.size()) : StorageId{birth->storage};
}

} // namespace

std::uint32_t lastStep(const Trace &trace)
{
    const std::size_t mark = markOfLastStep(trace);
    return mark == trace.marks.size() ? static_cast<std::uint32_t>(trace.events.size()) : trace.marks[mark].event;
}

std::optional<std::vector<Replacement>> replacements(const Trace &trace)
{
    const std::uint32_t from = lastStep(trace);
    if (from == trace.events.size())
        return std::nullopt;
    const StorageId first = firstBornFrom(trace, from);
    // What the step leaves, in place of what it takes away that the step before had left.
    std::vector<bool> left(trace.storages.size() - first, true);
    std::vector<Replacement> out;
    for (auto event = trace.events.begin() + from; event != trace.events.end(); ++event) {
        if (event->release && event->storage < first)
            out.push_back({event->storage, noStorage});
        else if (event->release)
            left[event->storage - first] = false;
    }
    std::vector<StorageId> kept;
    for (std::size_t i = 0; i < left.size(); ++i)
        if (left[i])
            kept.push_back(first + static_cast<StorageId>(i));
    if (kept.size() != out.size())
        return std::nullopt;
    for (Replacement &replacement : out) {
        const StorageRecord &before = trace.storages[replacement.taken];
        const auto next = std::find_if(kept.begin(), kept.end(), [&](StorageId id) {
            const StorageRecord &record = trace.storages[id];
            return record.bytes == before.bytes && record.role == before.role && record.stream == before.stream &&
                   std::string_view(record.op) == before.op;
        });
        if (next == kept.end())
            return std::nullopt;
        replacement.left = *next;
        kept.erase(next);
    }
    return out;
}

bool repeatLastStep(Trace &trace)
{
    const auto replaced = replacements(trace);
    if (!replaced)
        return false;
    const std::size_t first = markOfLastStep(trace);
    const std::uint32_t from = trace.marks[first].event, to = static_cast<std::uint32_t>(trace.events.size());
    const StorageId firstStorage = firstBornFrom(trace, from);
    std::unordered_map<StorageId, StorageId> successor;
    for (const Replacement &replacement : *replaced)
        successor.emplace(replacement.taken, replacement.left);
    const auto offset = static_cast<std::uint32_t>(trace.storages.size()) - firstStorage;
    const std::size_t storages = trace.storages.size(), marks = trace.marks.size();
    trace.storages.reserve(storages + offset);
    for (std::size_t i = firstStorage; i < storages; ++i)
        trace.storages.push_back(trace.storages[i]);
    trace.events.reserve(to + (to - from));
    for (std::uint32_t i = from; i < to; ++i) {
        Event event = trace.events[i];
        const auto found = event.storage < firstStorage ? successor.find(event.storage) : successor.end();
        event.storage = found != successor.end() ? found->second : event.storage + offset;
        trace.events.push_back(event);
    }
    const std::size_t cacheReleases = trace.cacheReleases.size();
    for (std::size_t i = 0; i < cacheReleases; ++i)
        if (trace.cacheReleases[i] >= from)
            trace.cacheReleases.push_back(trace.cacheReleases[i] + (to - from));
    for (std::size_t i = first; i < marks; ++i) {
        Mark mark = trace.marks[i];
        mark.event += to - from;
        ++mark.step;
        trace.marks.push_back(mark);
    }
    return true;
}

} // namespace headroom::training
