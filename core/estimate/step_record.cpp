// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/step_record.h"

#include "core/allocator/size_rules.h"
#include "core/autograd/tape.h"
#include "core/units/cancelled.h"
#include "core/units/checked.h"

#include <algorithm>
#include <cassert>
#include <future>

namespace headroom {

using namespace autograd;

namespace {

constexpr std::uint32_t eventsBetweenPolls = 4096; // some 0.2 ms
constexpr std::size_t eventsWorthAThread = 10'000; // less is done before a thread has started

/// Tells of a step, after it, whether the allocator stands as it stood before.
///
/// Neighbouring free blocks are always joined, so segments and living blocks decide all free ones. A step that leaves the
/// same storages alive, and for which no segment came or went, therefore leaves the allocator as it found it.
class StandStill
{
public:
    StandStill(const CachingAllocator &allocator, std::uint32_t from)
        : m_allocator(allocator)
        , m_from(from)
    {}

    std::uint32_t from() const { return m_from; }
    void begin() { m_deviceCalls = m_allocator.deviceCalls(); }
    bool holds() const { return m_deviceCalls == m_allocator.deviceCalls(); }

private:
    const CachingAllocator &m_allocator;
    std::uint32_t m_from;
    std::int64_t m_deviceCalls = 0;
};

/// Drives an allocator with the storages of a trace that `takes` chooses.
template<typename Takes>
Replay pass(const Trace &trace, const AllocatorOptions &options, std::int64_t workspaceBytes, const std::stop_token &cancel,
            const std::vector<training::Replacement> *again, std::vector<std::int64_t> &blockBytes, Takes takes, SegmentLog *segments)
{
    const auto size = static_cast<std::uint32_t>(trace.events.size());
    Replay out;
    out.reserved.resize(size);
    std::vector<CachingAllocator::Block> blocks(trace.storages.size(), CachingAllocator::noBlock);
    CachingAllocator allocator(options);
    allocator.logSegments(segments != nullptr ? &segments->changes : nullptr);
    auto cacheRelease = trace.cacheReleases.begin();
    StandStill lastStep(allocator, training::lastStep(trace));
    for (std::uint32_t i = 0; i < size; ++i) {
        if (i % eventsBetweenPolls == 0)
            throwIfCancelled(cancel);
        if (i == lastStep.from())
            lastStep.begin();
        for (; cacheRelease != trace.cacheReleases.end() && *cacheRelease == i; ++cacheRelease)
            allocator.emptyCache();
        const Event event = trace.events[i];
        if (event.release) {
            allocator.release(blocks[event.storage]); // noBlock, where it was not taken
        } else {
            const StorageRecord &storage = trace.storages[event.storage];
            const std::int64_t bytes = storage.op == Tape::workspaceName ? workspaceBytes : storage.bytes;
            if (takes(bytes)) {
                const CachingAllocator::Block block = allocator.allocate(bytes, storage.stream);
                if (block == CachingAllocator::noBlock && allocator.outOfMemory()) {
                    out.outOfMemory = i;
                    out.shortage = allocator.outOfMemory();
                    return out;
                }
                blocks[event.storage] = block;
                blockBytes[event.storage] = allocator.blockBytes(block);
            }
        }
        out.reserved[i] = allocator.reserved();
        if (segments != nullptr)
            segments->events.resize(segments->changes.size(), i);
        if (i + 1 == size && again) {
            if (again->empty() && lastStep.holds())
                return out; // done again, it would be the same
            for (const training::Replacement &replacement : *again)
                blocks[replacement.taken] = blocks[replacement.left];
            again = nullptr;
            i = lastStep.from() - 1;
            cacheRelease = std::lower_bound(trace.cacheReleases.begin(), trace.cacheReleases.end(), i + 1);
        }
    }
    return out;
}

} // namespace

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
    std::vector<std::int64_t> blockBytes(trace.storages.size());
    const auto drive = [&](auto takes) { return pass(trace, options, workspaceBytes, cancel, again, blockBytes, takes, segments); };
    Replay out;
    // One after the other where the order of segments is asked for.
    if (segments != nullptr || options.capacity < AllocatorOptions().capacity || trace.events.size() < eventsWorthAThread) {
        out = drive([](std::int64_t) { return true; });
    } else {
        // The pools of small and of large requests have segments of their own and meet only where memory comes to an end.
        const auto isSmall = [](std::int64_t bytes) { return bytes <= static_cast<std::int64_t>(allocator::largestSmall); };
        // Where no thread is to be had, the second waits for the first.
        std::future<Replay> small = std::async(std::launch::async | std::launch::deferred, [&] { return drive(isSmall); });
        out = drive([isSmall](std::int64_t bytes) { return !isSmall(bytes); });
        const Replay other = small.get();
        for (std::size_t i = 0; i < out.reserved.size(); ++i)
            out.reserved[i] += other.reserved[i];
        if (other.outOfMemory && (!out.outOfMemory || *other.outOfMemory < *out.outOfMemory)) {
            out.outOfMemory = other.outOfMemory;
            out.shortage = other.shortage;
        }
    }
    out.blockBytes = std::move(blockBytes);
    return out;
}

StepRecord::StepRecord(ReplayedRun replayed, bool rounded, std::int64_t workspaceBytes)
    : m_workspaceBytes(workspaceBytes)
    , m_run(std::move(replayed.run))
    , m_replay(std::move(replayed.replay))
{
    const std::size_t n = trace().storages.size();
    if (rounded) {
        m_bytes.resize(n);
        for (std::size_t i = 0; i < n; ++i)
            m_bytes[i] = roundUp(trace().storages[i].op == Tape::workspaceName ? workspaceBytes : trace().storages[i].bytes, 512);
    } else {
        m_bytes = std::move(m_replay.blockBytes);
    }
    findLifetimes();
    findSaved();
    findPeaks();
}

void StepRecord::findLifetimes()
{
    const auto &events = trace().events;
    m_births.assign(trace().storages.size(), 0);
    m_deaths.assign(trace().storages.size(), static_cast<std::uint32_t>(events.size()));
    for (std::uint32_t i = 0; i < events.size(); ++i)
        (events[i].release ? m_deaths : m_births)[events[i].storage] = i;

    m_phases.resize(events.size(), TracePhase::Load);
    const auto &marks = trace().marks;
    for (std::size_t k = 0; k < marks.size(); ++k) {
        const std::uint32_t to = k + 1 < marks.size() ? marks[k + 1].event : static_cast<std::uint32_t>(events.size());
        std::fill(m_phases.begin() + marks[k].event, m_phases.begin() + to, marks[k].phase);
        if (marks[k].phase == TracePhase::Forward && marks[k].microBatch == 0)
            m_steps.push_back({marks[k].event, static_cast<std::uint32_t>(events.size())});
        if (m_steps.size() > 1 && marks[k].phase == TracePhase::Forward && marks[k].microBatch == 0)
            m_steps[m_steps.size() - 2].to = marks[k].event;
        if (marks[k].phase == TracePhase::Forward)
            m_savedFrom = marks[k].event;
        if (marks[k].phase == TracePhase::Backward)
            m_savedAt = marks[k].event;
    }
}

/// An activation is a storage saved for backward: born in forward and alive when backward begins, or born in a
/// recomputation and outliving it (a stretch of births with gradients enabled).
void StepRecord::findSaved()
{
    const auto &events = trace().events;
    const auto &storages = trace().storages;
    m_saved.assign(storages.size(), false);

    std::uint32_t backward = static_cast<std::uint32_t>(events.size());
    std::uint32_t stretchEnd = 0;
    bool inStretch = false;
    std::size_t mark = trace().marks.size();
    for (std::uint32_t i = static_cast<std::uint32_t>(events.size()); i-- > 0;) {
        while (mark > 0 && trace().marks[mark - 1].event > i) {
            --mark;
            if (trace().marks[mark].phase == TracePhase::Backward)
                backward = trace().marks[mark].event;
        }
        if (events[i].release)
            continue;
        const StorageRecord &storage = storages[events[i].storage];
        if (storage.role == Role::EngineBuffer)
            continue; // gathered or collected between what a recomputation makes
        const std::uint32_t death = m_deaths[events[i].storage];
        if (storage.recomputed) {
            if (!inStretch)
                stretchEnd = i;
            inStretch = true;
            m_saved[events[i].storage] = death > stretchEnd;
        } else {
            inStretch = false;
            if (storage.phase == TracePhase::Forward || storage.phase == TracePhase::Loss)
                m_saved[events[i].storage] = backward < events.size() && death >= backward;
        }
    }

    m_components.resize(storages.size());
    for (std::size_t i = 0; i < storages.size(); ++i) {
        switch (storages[i].role) {
        case Role::Parameter: m_components[i] = Component::Weights; break;
        case Role::Gradient: m_components[i] = Component::Gradients; break;
        case Role::OptimizerState: m_components[i] = Component::Optimizer; break;
        case Role::Input:
        case Role::EngineBuffer: m_components[i] = Component::Temporary; break;
        case Role::Temporary: m_components[i] = m_saved[i] ? Component::Activations : Component::Temporary; break;
        }
    }
}

void StepRecord::findPeaks()
{
    const auto &events = trace().events;
    const auto &marks = trace().marks;
    m_peakEvents.assign(m_steps.size(), 0);
    m_peaks.resize(m_steps.size());
    m_phasePeaks.resize(m_steps.size());
    for (auto &peaks : m_phasePeaks)
        for (std::size_t p = 0; p < phaseCount; ++p)
            peaks[p].phase = static_cast<Phase>(p);

    // From mark to mark step and phase are the same. A phase's peak is at least what it begins with.
    std::int64_t live = 0, highest = -1;
    std::size_t step = 0;
    bool loading = true;
    const auto pass = [&](std::uint32_t from, std::uint32_t to, TracePhase tracePhase, bool begins) {
        std::int64_t most = begins ? live : 0, mostReserved = begins && from > 0 ? m_replay.reserved[from - 1] : 0;
        std::int64_t reservedInStep = 0;
        std::uint32_t peak = to;
        for (std::uint32_t i = from; i < to; ++i) {
            const Event event = events[i];
            live += event.release ? -m_bytes[event.storage] : m_bytes[event.storage];
            reservedInStep = std::max(reservedInStep, m_replay.reserved[i]);
            most = std::max(most, live);
            if (live > highest && !loading && tracePhase != TracePhase::Idle) {
                highest = live;
                peak = i;
            }
        }
        PhasePeak &phase = m_phasePeaks[step][static_cast<std::size_t>(tracePhase)];
        phase.allocated = std::max(phase.allocated, Bytes{most});
        phase.reserved = std::max({phase.reserved, Bytes{mostReserved}, Bytes{reservedInStep}});
        if (!loading)
            m_peaks[step].reserved = std::max(m_peaks[step].reserved, Bytes{reservedInStep});
        if (peak < to)
            m_peakEvents[step] = peak;
    };
    const auto size = static_cast<std::uint32_t>(events.size());
    pass(0, marks.empty() ? size : marks.front().event, TracePhase::Load, false);
    for (std::size_t k = 0; k < marks.size(); ++k) {
        if (marks[k].phase == TracePhase::Forward && marks[k].microBatch == 0) {
            if (!loading)
                ++step;
            loading = false;
            highest = -1;
        }
        pass(marks[k].event, k + 1 < marks.size() ? marks[k + 1].event : size, marks[k].phase, true);
    }
    for (std::size_t s = 0; s < m_steps.size(); ++s) {
        m_peaks[s].components = componentsAfter(m_peakEvents[s]);
        m_peaks[s].allocated = m_peaks[s].components.total();
        m_peaks[s].phase = static_cast<Phase>(m_phases[m_peakEvents[s]]);
    }
    m_idle = events.empty() ? ComponentBytes{} : componentsAfter(static_cast<std::uint32_t>(events.size() - 1));
}

std::vector<StorageId> StepRecord::aliveAfter(std::uint32_t event) const
{
    std::vector<StorageId> out;
    for (StorageId i = 0; i < trace().storages.size() && m_births[i] <= event; ++i) // ids are given in order of birth
        if (m_deaths[i] > event)
            out.push_back(i);
    return out;
}

ComponentBytes StepRecord::componentsAfter(std::uint32_t event) const
{
    ComponentBytes out;
    for (StorageId i = 0; i < trace().storages.size() && m_births[i] <= event; ++i)
        if (m_deaths[i] > event)
            out[m_components[i]] += Bytes{m_bytes[i]};
    return out;
}

PhasePeak StepRecord::phasePeak(int step, Phase phase) const
{
    if (phase == Phase::Load)
        step = 0;
    return m_phasePeaks[static_cast<std::size_t>(step)][static_cast<std::size_t>(phase)];
}

Steady StepRecord::steady() const
{
    return {m_idle[Component::Weights], m_idle[Component::Gradients], m_idle[Component::Optimizer], m_idle.total()};
}

std::vector<StorageId> StepRecord::savedStorages() const
{
    std::vector<StorageId> out;
    for (StorageId i = 0; i < trace().storages.size() && m_births[i] < m_savedAt; ++i)
        if (m_births[i] >= m_savedFrom && m_deaths[i] >= m_savedAt &&
            (m_components[i] == Component::Activations || trace().storages[i].role == Role::Temporary))
            out.push_back(i);
    return out;
}

Bytes StepRecord::savedActivations() const
{
    Bytes sum;
    for (StorageId i : savedStorages())
        sum += Bytes{m_bytes[i]};
    return sum;
}

} // namespace headroom
