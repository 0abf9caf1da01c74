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

/// Shows that a step done once more would find for every request the block that it found this time, though the segments it takes
/// on its way are then all there from the beginning.
///
/// Let a step leave nothing behind, so that it begins both times with the same living blocks; the second time those segments are free
/// as well. A request of `size` bytes that found a block of `found` bytes finds it again unless one of them, taken later, fits better:
/// is at least `size` and smaller than `found`. Of blocks of the same size the one with the lowest address is taken, and later
/// segments lie higher, as addresses are only given out upwards. (Segments of other streams count as rivals too, which can only
/// hide that it is the same.) If no request of the step has such a rival, then by induction every one of them gets the same block.
class SameAgain
{
public:
    /// No segment of the large pool is smaller; in the small pool all are of one size, and no block is larger.
    static constexpr std::uint64_t leastRival = allocator::ownSegmentFrom;

    void request(std::uint32_t event, std::uint64_t size, std::uint64_t found)
    {
        if (found > size) // nothing fits better than exactly
            m_requests.push_back({event, size, found});
    }
    void segment(std::uint32_t event, std::uint64_t bytes)
    {
        ++m_count;
        if (bytes >= leastRival)
            m_segments.push_back({event, bytes});
    }
    std::int64_t segments() const { return m_count; }

    bool holds() const
    {
        std::vector<std::uint64_t> later; // sizes of the segments that come after a request, ascending, each once
        auto segment = m_segments.rbegin();
        for (auto request = m_requests.rbegin(); request != m_requests.rend(); ++request) {
            for (; segment != m_segments.rend() && segment->event > request->event; ++segment)
                if (const auto at = std::lower_bound(later.begin(), later.end(), segment->bytes);
                    at == later.end() || *at != segment->bytes)
                    later.insert(at, segment->bytes);
            const auto rival = std::lower_bound(later.begin(), later.end(), request->size);
            if (rival != later.end() && *rival < request->found)
                return false;
        }
        return true;
    }

private:
    struct Request {
        std::uint32_t event;
        std::uint64_t size, found;
    };
    struct Segment {
        std::uint32_t event;
        std::uint64_t bytes;
    };
    std::vector<Request> m_requests;
    std::vector<Segment> m_segments; ///< that may be rivals
    std::int64_t m_count = 0;        ///< of all
};

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
    bool drive(std::uint32_t from, std::uint32_t to, SameAgain *sameAgain = nullptr)
    {
        forgetReserved(from);
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
            if (!(sameAgain != nullptr ? stretch<true>(i, until, sameAgain) : stretch<false>(i, until, nullptr)))
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

    /// What is known of reserved memory from this event on is forgotten: there it is as it is now.
    void forgetReserved(std::uint32_t from)
    {
        m_out.reserved.forgetFrom(from);
        noteReserved(from);
    }

    void noteSame() { m_out.lastStepIsSame = true; }

    std::int64_t deviceCalls() const { return m_allocator.m_deviceCalls; }
    bool isPlainBestFit() const { return m_allocator.isPlainBestFit(); }
    Replay take() { return std::move(m_out); }

private:
    /// What has been logged and has no event yet came with this one.
    void logAt(std::uint32_t event)
    {
        if (m_segments != nullptr)
            m_segments->events.resize(m_segments->changes.size(), event);
    }

    void noteReserved(std::uint32_t event) { m_out.reserved.set(event, static_cast<std::int64_t>(m_allocator.m_reserved)); }

    template<bool isObserved>
    bool stretch(std::uint32_t from, std::uint32_t to, SameAgain *sameAgain)
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
                if constexpr (isObserved) {
                    if (block != allocator::noBlockIndex && m_allocator.m_foundSize > SameAgain::leastRival)
                        sameAgain->request(i, m_allocator.rounded(requestedBytes(storage, m_workspaceBytes)), m_allocator.m_foundSize);
                }
                if (m_allocator.m_reserved != reserved) {
                    if constexpr (isObserved)
                        sameAgain->segment(i, m_allocator.m_reserved - reserved);
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
    SameAgain sameAgain;
    const bool mayBeTheSame = again != nullptr && again->empty() && driver.isPlainBestFit() &&
                              (trace.cacheReleases.empty() || trace.cacheReleases.back() < lastStep);
    if (!driver.drive(lastStep, size, mayBeTheSame ? &sameAgain : nullptr) || again == nullptr)
        return driver.take();
    // Neighbouring free blocks are always joined, so segments and living blocks decide all free ones. A step that leaves the same
    // storages alive, and for which no segment came or went, therefore leaves the allocator as it found it: done again, it would
    // be the same.
    const std::int64_t more = driver.deviceCalls() - calls;
    if (again->empty() && more == 0) {
        driver.noteSame();
        return driver.take();
    }
    // As many calls of the device as segments: none was given back, and none was taken in a second try.
    if (mayBeTheSame && more == sameAgain.segments() && sameAgain.holds()) {
        driver.forgetReserved(lastStep); // but for the segments, which are there from its beginning
        driver.noteSame();
        return driver.take();
    }
    driver.replace(*again);
    driver.drive(lastStep, size);
    return driver.take();
}

} // namespace headroom
