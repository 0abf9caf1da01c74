// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/step_record.h"

#include "core/allocator/size_rules.h"
#include "core/units/checked.h"

#include <algorithm>

namespace headroom {

using namespace autograd;

StepRecord::StepRecord(ReplayedRun replayed, bool rounded, std::int64_t workspaceBytes)
    : m_workspaceBytes(workspaceBytes)
    , m_run(std::move(replayed.run))
    , m_replay(std::move(replayed.replay))
{
    const std::size_t n = trace().storages.size();
    if (rounded) {
        m_bytes.resize(n);
        for (std::size_t i = 0; i < n; ++i)
            m_bytes[i] = roundUp(requestedBytes(trace().storages[i], workspaceBytes), 512);
    } else {
        m_bytes = std::move(m_replay.blockBytes);
    }
    findLifetimes();
    findComponents();
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
void StepRecord::findComponents()
{
    const auto &storages = trace().storages;
    const auto &marks = trace().marks;
    const auto events = static_cast<std::uint32_t>(trace().events.size());
    m_saved.assign(storages.size(), false);
    m_components.resize(storages.size());

    std::uint32_t backward = events; // the first one after the birth
    std::uint32_t stretchEnd = 0;
    bool inStretch = false;
    std::size_t mark = marks.size();
    std::uint32_t stretchOfMarks = mark > 0 ? marks.back().event : 0; // where the birth's stretch between two marks begins
    for (std::size_t i = storages.size(); i-- > 0;) {                 // ids are given in order of birth
        const std::uint32_t birth = m_births[i];
        for (; birth<stretchOfMarks; stretchOfMarks = mark> 0 ? marks[mark - 1].event : 0) {
            --mark;
            if (marks[mark].phase == TracePhase::Backward)
                backward = marks[mark].event;
        }
        const StorageRecord &storage = storages[i];
        bool saved = false;
        if (storage.role != Role::EngineBuffer) { // which is gathered or collected between what a recomputation makes
            if (storage.recomputed) {
                if (!inStretch)
                    stretchEnd = birth;
                saved = m_deaths[i] > stretchEnd;
            } else if (storage.phase == TracePhase::Forward || storage.phase == TracePhase::Loss) {
                saved = backward < events && m_deaths[i] >= backward;
            }
            inStretch = storage.recomputed;
        }
        m_saved[i] = saved;
        switch (storage.role) {
        case Role::Parameter: m_components[i] = Component::Weights; break;
        case Role::Gradient: m_components[i] = Component::Gradients; break;
        case Role::OptimizerState: m_components[i] = Component::Optimizer; break;
        case Role::Input:
        case Role::EngineBuffer: m_components[i] = Component::Temporary; break;
        case Role::Temporary: m_components[i] = saved ? Component::Activations : Component::Temporary; break;
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

    const Event *const event_ = events.data();
    const std::int64_t *const bytes_ = m_bytes.data();
    const std::int64_t *const reserved_ = m_replay.reserved.data();
    // From mark to mark step and phase are the same. A phase's peak is at least what it begins with.
    std::int64_t live = 0, highest = -1;
    std::size_t step = 0;
    bool loading = true;
    const auto pass = [&](std::uint32_t from, std::uint32_t to, TracePhase tracePhase, bool begins) {
        const std::int64_t liveBefore = begins ? live : 0, reservedBefore = begins && from > 0 ? m_replay.reserved[from - 1] : 0;
        std::int64_t now = live, most = -1, mostReserved = 0;
        std::uint32_t peak = from;
        for (std::uint32_t i = from; i < to; ++i) {
            const Event event = event_[i];
            const std::int64_t bytes = bytes_[event.storage];
            now += event.release ? -bytes : bytes;
            mostReserved = std::max(mostReserved, reserved_[i]);
            if (now > most) {
                most = now;
                peak = i;
            }
        }
        live = now;
        PhasePeak &phase = m_phasePeaks[step][static_cast<std::size_t>(tracePhase)];
        phase.allocated = std::max({phase.allocated, Bytes{liveBefore}, Bytes{most}});
        phase.reserved = std::max({phase.reserved, Bytes{reservedBefore}, Bytes{mostReserved}});
        if (loading)
            return;
        m_peaks[step].reserved = std::max(m_peaks[step].reserved, Bytes{mostReserved});
        if (most > highest && tracePhase != TracePhase::Idle) {
            highest = most;
            m_peakEvents[step] = peak;
        }
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
