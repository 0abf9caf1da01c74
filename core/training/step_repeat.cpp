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
    std::vector<char> left(trace.storages.size() - first, 1);
    std::vector<Replacement> out;
    for (auto event = trace.events.begin() + from; event != trace.events.end(); ++event) {
        if (!event->release)
            continue;
        if (event->storage >= first)
            left[event->storage - first] = 0;
        else
            out.push_back({event->storage, noStorage});
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

namespace {

/// The events of a micro-batch, forward and backward.
struct MicroBatch {
    std::size_t mark = 0, markAfter = 0; ///< its first mark, and the one that ends it
    std::uint32_t from = 0, to = 0;
    StorageId firstBorn = 0;
};

/// The last micro-batch before a mark of the optimizer.
std::optional<MicroBatch> lastMicroBatchBefore(const Trace &trace, std::size_t optimizer)
{
    MicroBatch out;
    out.markAfter = optimizer;
    for (out.mark = optimizer; out.mark > 0;) {
        --out.mark;
        if (trace.marks[out.mark].phase != TracePhase::Forward)
            continue;
        out.from = trace.marks[out.mark].event;
        out.to = trace.marks[optimizer].event;
        out.firstBorn = firstBornFrom(trace, out.from);
        return out;
    }
    return std::nullopt;
}

/// Whether both do the same, and each leaves what it found: what is born in it dies in it, and nothing else does.
bool sameAndSelfContained(const Trace &trace, const MicroBatch &a, const MicroBatch &b)
{
    if (a.to - a.from != b.to - b.from)
        return false;
    std::uint32_t living = 0;
    for (std::uint32_t i = 0; i < a.to - a.from; ++i) {
        const Event x = trace.events[a.from + i], y = trace.events[b.from + i];
        if (x.release != y.release || x.storage < a.firstBorn || y.storage < b.firstBorn ||
            x.storage - a.firstBorn != y.storage - b.firstBorn)
            return false;
        const StorageRecord &s = trace.storages[x.storage], &t = trace.storages[y.storage];
        if (!x.release && (s.bytes != t.bytes || s.role != t.role || s.stream != t.stream || std::string_view(s.op) != t.op))
            return false;
        living += x.release ? -1 : 1;
    }
    return living == 0;
}

} // namespace

bool repeatMicroBatch(Trace &trace, int times)
{
    std::vector<std::size_t> optimizers;
    for (std::size_t i = 0; i < trace.marks.size(); ++i)
        if (trace.marks[i].phase == TracePhase::Optimizer)
            optimizers.push_back(i);
    if (optimizers.size() < 2)
        return false;
    const auto last = lastMicroBatchBefore(trace, optimizers.back());
    const auto before = lastMicroBatchBefore(trace, optimizers[optimizers.size() - 2]);
    if (!last || !before || trace.marks[last->mark].microBatch != 0 || !sameAndSelfContained(trace, *before, *last))
        return false;
    if (std::any_of(trace.cacheReleases.begin(), trace.cacheReleases.end(),
                    [&](std::uint32_t event) { return event >= last->from && event < last->to; }))
        return false;

    const std::uint32_t length = last->to - last->from;
    const auto births = static_cast<std::uint32_t>(
        std::count_if(trace.events.begin() + last->from, trace.events.begin() + last->to, [](Event event) { return !event.release; }));
    const auto moreEvents = static_cast<std::uint32_t>(times) * length, moreStorages = static_cast<std::uint32_t>(times) * births;

    Trace out;
    out.storages.reserve(trace.storages.size() + moreStorages);
    out.events.reserve(trace.events.size() + moreEvents);
    const auto firstBorn = trace.storages.begin() + last->firstBorn;
    out.storages.assign(trace.storages.begin(), firstBorn);
    out.events.assign(trace.events.begin(), trace.events.begin() + last->from);
    out.marks.assign(trace.marks.begin(), trace.marks.begin() + static_cast<std::ptrdiff_t>(last->mark));
    for (int copy = 0; copy < times; ++copy) {
        const std::uint32_t storages = static_cast<std::uint32_t>(copy) * births, events = static_cast<std::uint32_t>(copy) * length;
        out.storages.insert(out.storages.end(), firstBorn, firstBorn + births);
        for (std::uint32_t i = last->from; i < last->to; ++i) {
            Event event = trace.events[i];
            event.storage = event.storage + storages;
            out.events.push_back(event);
        }
        for (std::size_t i = last->mark; i < last->markAfter; ++i) {
            Mark mark = trace.marks[i];
            mark.event += events;
            mark.microBatch = copy;
            out.marks.push_back(mark);
        }
    }
    out.storages.insert(out.storages.end(), firstBorn, trace.storages.end());
    for (auto event = trace.events.begin() + last->from; event != trace.events.end(); ++event) {
        out.events.push_back(*event);
        if (event->storage >= last->firstBorn)
            out.events.back().storage = out.events.back().storage + moreStorages;
    }
    for (std::size_t i = last->mark; i < trace.marks.size(); ++i) {
        Mark mark = trace.marks[i];
        mark.event += moreEvents;
        if (i < last->markAfter)
            mark.microBatch = times;
        out.marks.push_back(mark);
    }
    for (const std::uint32_t event : trace.cacheReleases)
        out.cacheReleases.push_back(event < last->to ? event : event + moreEvents);
    trace = std::move(out);
    return true;
}

} // namespace headroom::training
