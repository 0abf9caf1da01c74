// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/step_record.h"

#include "core/autograd/tape.h"
#include "core/units/checked.h"

#include <algorithm>
#include <cassert>

namespace headroom {

using namespace autograd;

Replay replay(const Trace &trace, const AllocatorOptions &options, std::int64_t workspaceBytes)
{
    Replay out;
    out.reserved.reserve(trace.events.size());
    out.blockBytes.resize(trace.storages.size());
    std::vector<CachingAllocator::Block> blocks(trace.storages.size(), CachingAllocator::noBlock);
    CachingAllocator allocator(options);
    auto cacheRelease = trace.cacheReleases.begin();
    for (std::uint32_t i = 0; i < trace.events.size(); ++i) {
        for (; cacheRelease != trace.cacheReleases.end() && *cacheRelease == i; ++cacheRelease)
            allocator.emptyCache();
        const Event event = trace.events[i];
        if (event.release) {
            allocator.release(blocks[event.storage]);
        } else {
            const StorageRecord &storage = trace.storages[event.storage];
            const std::int64_t bytes = storage.op == Tape::workspaceName ? workspaceBytes : storage.bytes;
            const CachingAllocator::Block block = allocator.allocate(bytes, storage.stream);
            if (block == CachingAllocator::noBlock && allocator.outOfMemory()) {
                out.outOfMemory = i;
                return out;
            }
            blocks[event.storage] = block;
            out.blockBytes[event.storage] = block == CachingAllocator::noBlock ? 0 : allocator.blockBytes(block);
        }
        out.reserved.push_back(allocator.reserved());
    }
    return out;
}

StepRecord::StepRecord(training::TrainingRun run, Replay replay, bool rounded, std::int64_t workspaceBytes)
    : m_workspaceBytes(workspaceBytes)
    , m_run(std::move(run))
    , m_replay(std::move(replay))
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
    m_peaks.assign(m_steps.size(), 0);
    m_maxReserved.assign(m_steps.size(), Bytes{});
    m_phasePeaks.resize(m_steps.size());
    for (auto &peaks : m_phasePeaks)
        for (std::size_t p = 0; p < phaseCount; ++p)
            peaks[p].phase = static_cast<Phase>(p);

    std::int64_t live = 0;
    std::int64_t highest = -1;
    std::size_t step = 0, mark = 0;
    bool loading = true;
    const auto raise = [&](Phase phase, std::int64_t allocated, std::int64_t reserved) {
        PhasePeak &peak = m_phasePeaks[step][static_cast<std::size_t>(phase)];
        peak.allocated = std::max(peak.allocated, Bytes{allocated});
        peak.reserved = std::max(peak.reserved, Bytes{reserved});
    };
    for (std::uint32_t i = 0; i <= events.size(); ++i) {
        for (; mark < marks.size() && marks[mark].event == i; ++mark) {
            const Mark &m = marks[mark];
            if (m.phase == TracePhase::Forward && m.microBatch == 0) {
                if (!loading)
                    ++step;
                loading = false;
                highest = -1;
            }
            // a phase's peak is at least what it begins with
            raise(static_cast<Phase>(m.phase), live, i > 0 ? m_replay.reserved[i - 1] : 0);
        }
        if (i == events.size())
            break;
        const Event event = events[i];
        live += event.release ? -m_bytes[event.storage] : m_bytes[event.storage];
        const std::int64_t reserved = m_replay.reserved[i];
        const Phase phase = static_cast<Phase>(m_phases[i]);
        raise(phase, live, reserved);
        if (!loading) {
            m_maxReserved[step] = std::max(m_maxReserved[step], Bytes{reserved});
            if (phase != Phase::Idle && live > highest) {
                highest = live;
                m_peaks[step] = i;
            }
        }
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

Peak StepRecord::peak(int step) const
{
    Peak peak;
    const std::uint32_t event = peakEvent(step);
    peak.components = componentsAfter(event);
    peak.allocated = peak.components.total();
    peak.reserved = m_maxReserved[static_cast<std::size_t>(step)];
    peak.phase = static_cast<Phase>(m_phases[event]);
    return peak;
}

PhasePeak StepRecord::phasePeak(int step, Phase phase) const
{
    if (phase == Phase::Load)
        step = 0;
    PhasePeak peak = m_phasePeaks[static_cast<std::size_t>(step)][static_cast<std::size_t>(phase)];
    return peak;
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
