// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/replay.h"

#include "core/allocator/implementation.h"
#include "core/units/cancelled.h"

#include <algorithm>

namespace headroom {

using namespace autograd;

namespace {

constexpr std::uint32_t eventsBetweenPolls = 4096; // some 0.1 ms

/// Drives an allocator with the events of a trace.
class Driver
{
public:
    Driver(const Trace &trace, const AllocatorOptions &options, std::int64_t workspaceBytes, const std::stop_token &cancel,
           SegmentLog *segments)
        : m_trace(trace)
        , m_workspaceBytes(workspaceBytes)
        , m_cancel(cancel)
        , m_segments(segments)
        , m_blocks(trace.storages.size(), allocator::noBlockIndex)
    {
        m_allocator.configure(options);
        m_allocator.m_segmentLog = segments != nullptr ? &segments->changes : nullptr;
        m_out.blockBytes.resize(trace.storages.size());
    }

    /// False where memory came to an end. What an earlier drive said of these events is forgotten.
    bool drive(std::uint32_t from, std::uint32_t to)
    {
        m_out.reserved.forgetFrom(from);
        noteReserved(from);
        auto cacheRelease = std::lower_bound(m_trace.cacheReleases.begin(), m_trace.cacheReleases.end(), from);
        for (std::uint32_t i = from; i < to;) {
            throwIfCancelled(m_cancel);
            for (; cacheRelease != m_trace.cacheReleases.end() && *cacheRelease == i; ++cacheRelease) {
                m_allocator.releaseCache();
                noteReserved(i);
                logAt(i);
            }
            std::uint32_t until = std::min(to, i + eventsBetweenPolls);
            if (cacheRelease != m_trace.cacheReleases.end())
                until = std::min(until, *cacheRelease);
            if (!stretch(i, until))
                return false;
            i = until;
        }
        return true;
    }

    /// What the last step left takes the place of what it found.
    void replace(const std::vector<training::Replacement> &replacements)
    {
        for (const training::Replacement &replacement : replacements)
            m_blocks[replacement.taken] = m_blocks[replacement.left];
    }

    std::int64_t deviceCalls() const { return m_allocator.m_deviceCalls; }
    Replay take() { return std::move(m_out); }

private:
    /// What has been logged and has no event yet came with this one.
    void logAt(std::uint32_t event)
    {
        if (m_segments != nullptr)
            m_segments->events.resize(m_segments->changes.size(), event);
    }

    void noteReserved(std::uint32_t event) { m_out.reserved.set(event, static_cast<std::int64_t>(m_allocator.m_reserved)); }

    bool stretch(std::uint32_t from, std::uint32_t to)
    {
        const Event *const events = m_trace.events.data();
        const StorageRecord *const storages = m_trace.storages.data();
        allocator::BlockIndex *const blocks = m_blocks.data();
        std::int64_t *const blockBytes = m_out.blockBytes.data();
        std::uint64_t reserved = m_allocator.m_reserved;
        for (std::uint32_t i = from; i < to; ++i) {
            const Event event = events[i];
            if (event.release) {
                m_allocator.release(blocks[event.storage]);
            } else {
                const StorageRecord &storage = storages[event.storage];
                const allocator::BlockIndex block = m_allocator.allocate(requestedBytes(storage, m_workspaceBytes), storage.stream);
                blocks[event.storage] = block;
                if (block != allocator::noBlockIndex) {
                    blockBytes[event.storage] = static_cast<std::int64_t>(m_allocator.m_blocks[block].size);
                } else if (m_allocator.m_outOfMemory) {
                    m_out.outOfMemory = i;
                    m_out.shortage = m_allocator.m_outOfMemory;
                    return false;
                }
                if (m_allocator.m_reserved != reserved) {
                    reserved = m_allocator.m_reserved;
                    noteReserved(i);
                }
                logAt(i);
            }
        }
        return true;
    }

    const Trace &m_trace;
    allocator::Implementation m_allocator;
    std::int64_t m_workspaceBytes;
    const std::stop_token &m_cancel;
    SegmentLog *m_segments;
    std::vector<allocator::BlockIndex> m_blocks; ///< by storage
    Replay m_out;
};

} // namespace

void ReservedHistory::forgetFrom(std::uint32_t event)
{
    while (!m_changes.empty() && m_changes.back().event >= event)
        m_changes.pop_back();
}

std::vector<ReservedHistory::Change>::const_iterator ReservedHistory::firstAfter(std::uint32_t event) const
{
    return std::upper_bound(m_changes.begin(), m_changes.end(), event,
                            [](std::uint32_t value, const Change &change) { return value < change.event; });
}

std::int64_t ReservedHistory::after(std::uint32_t event) const
{
    const auto next = firstAfter(event);
    return next == m_changes.begin() ? 0 : std::prev(next)->bytes;
}

std::int64_t ReservedHistory::highest(std::uint32_t from, std::uint32_t to) const
{
    if (from >= to)
        return 0;
    std::int64_t most = after(from);
    for (auto change = firstAfter(from); change != m_changes.end() && change->event < to; ++change)
        most = std::max(most, change->bytes);
    return most;
}

AllocatorOptions allocatorOptions(const TrainingPlan &plan)
{
    AllocatorOptions options;
    options.expandableSegments = plan.runtime.expandableSegments;
    options.maxSplitSizeMb = plan.runtime.maxSplitSizeMb;
    return options;
}

Replay replay(const Trace &trace, const AllocatorOptions &options, std::int64_t workspaceBytes, const std::stop_token &cancel,
              const std::vector<training::Replacement> *again, SegmentLog *segments)
{
    const auto size = static_cast<std::uint32_t>(trace.events.size());
    const std::uint32_t lastStep = training::lastStep(trace);
    Driver driver(trace, options, workspaceBytes, cancel, segments);
    if (!driver.drive(0, lastStep))
        return driver.take();
    const std::int64_t calls = driver.deviceCalls();
    if (!driver.drive(lastStep, size) || again == nullptr)
        return driver.take();
    // Neighbouring free blocks are always joined, so segments and living blocks decide all free ones. A step that leaves the same
    // storages alive, and for which no segment came or went, therefore leaves the allocator as it found it: done again, it would
    // be the same.
    if (!again->empty() || driver.deviceCalls() != calls) {
        driver.replace(*again);
        driver.drive(lastStep, size);
    }
    return driver.take();
}

} // namespace headroom
