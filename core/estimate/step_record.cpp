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
    findStretches();
    findComponents();
    findPeaks();
}

void StepRecord::findLifetimes()
{
    const auto &events = trace().events;
    const auto size = static_cast<std::uint32_t>(events.size());
    m_births.assign(trace().storages.size(), 0);
    m_deaths.assign(trace().storages.size(), size);
    std::uint32_t *const births = m_births.data(), *const deaths = m_deaths.data();
    for (std::uint32_t i = 0; i < size; ++i) {
        const Event event = events[i];
        (event.release ? deaths : births)[event.storage] = i;
    }
}

void StepRecord::findStretches()
{
    const auto size = static_cast<std::uint32_t>(trace().events.size());
    m_stretches.reserve(trace().marks.size() + 1);
    m_stretches.emplace_back();
    for (const Mark &mark : trace().marks) {
        m_stretches.back().events.to = mark.event;
        m_stretches.push_back({{mark.event, size}, mark.phase});
        if (mark.phase == TracePhase::Forward && mark.microBatch == 0) {
            if (!m_steps.empty())
                m_steps.back().to = mark.event;
            m_steps.push_back({mark.event, size});
        }
        if (mark.phase == TracePhase::Forward)
            m_savedFrom = mark.event;
        if (mark.phase == TracePhase::Backward)
            m_savedAt = mark.event;
    }
    m_stretches.back().events.to = size;
    for (Stretch &stretch : m_stretches) {
        stretch.firstBorn = bornBefore(stretch.events.from);
        stretch.bornAfter = bornBefore(stretch.events.to);
    }
}

StorageId StepRecord::bornBefore(std::uint32_t event) const
{
    return static_cast<StorageId>(std::lower_bound(m_births.begin(), m_births.end(), event) - m_births.begin());
}

TracePhase StepRecord::phaseOf(std::uint32_t event) const
{
    // Several marks may stand before one event: it belongs to the last.
    const auto next = std::upper_bound(m_stretches.begin(), m_stretches.end(), event,
                                       [](std::uint32_t value, const Stretch &stretch) { return value < stretch.events.from; });
    return std::prev(next)->phase;
}

/// An activation is a storage saved for backward: born in forward and alive when backward begins, or born in a
/// recomputation and outliving it (a run of births with gradients enabled).
void StepRecord::findComponents()
{
    // A temporary one, if it is not saved.
    constexpr auto componentOf = [](Role role) {
        switch (role) {
        case Role::Parameter: return Component::Weights;
        case Role::Gradient: return Component::Gradients;
        case Role::OptimizerState: return Component::Optimizer;
        case Role::Temporary:
        case Role::Input:
        case Role::EngineBuffer: break;
        }
        return Component::Temporary;
    };
    const StorageRecord *const storages = trace().storages.data();
    const auto events = static_cast<std::uint32_t>(trace().events.size());
    m_components.resize(trace().storages.size());

    std::uint32_t backward = events; // the first one after the stretch
    std::uint32_t recomputed = 0;    // where the last birth of a recomputation is
    bool recomputing = false;
    for (auto stretch = m_stretches.rbegin(); stretch != m_stretches.rend(); ++stretch) {
        const bool forward = (stretch->phase == TracePhase::Forward || stretch->phase == TracePhase::Loss) && backward < events;
        for (StorageId i = stretch->bornAfter; i-- > stretch->firstBorn;) {
            const StorageRecord &storage = storages[i];
            Component component = componentOf(storage.role);
            if (storage.role != Role::EngineBuffer) { // which is gathered or collected between what a recomputation makes
                if (storage.recomputed && !recomputing)
                    recomputed = m_births[i];
                recomputing = storage.recomputed;
                if (storage.role == Role::Temporary && (recomputing ? m_deaths[i] > recomputed : forward && m_deaths[i] >= backward))
                    component = Component::Activations;
            }
            m_components[i] = component;
        }
        if (stretch->phase == TracePhase::Backward)
            backward = stretch->events.from;
    }
}

void StepRecord::findPeaks()
{
    m_peakEvents.assign(m_steps.size(), 0);
    m_peaks.resize(m_steps.size());
    m_phasePeaks.resize(m_steps.size());
    for (auto &peaks : m_phasePeaks)
        for (std::size_t p = 0; p < phaseCount; ++p)
            peaks[p].phase = static_cast<Phase>(p);

    const Event *const events = trace().events.data();
    const std::int64_t *const bytes = m_bytes.data();
    std::int64_t live = 0, highest = -1;
    std::size_t step = 0, begun = 0; // steps that have begun
    for (const Stretch &stretch : m_stretches) {
        const auto [from, to] = stretch.events;
        if (begun < m_steps.size() && stretch.phase == TracePhase::Forward && m_steps[begun].from == from) {
            step = begun++;
            highest = -1;
        }
        // A phase's peak is at least what it begins with.
        const std::int64_t liveBefore = live;
        const Bytes reserved{std::max(m_replay.reserved.highest(from, to), from > 0 ? m_replay.reserved.after(from - 1) : 0)};
        std::int64_t most = -1;
        std::uint32_t peak = from;
        for (std::uint32_t i = from; i < to; ++i) {
            const Event event = events[i];
            if (event.release) {
                live -= bytes[event.storage];
                continue;
            }
            live += bytes[event.storage];
            if (live > most) {
                most = live;
                peak = i;
            }
        }
        if (step < m_steps.size()) {
            PhasePeak &phase = m_phasePeaks[step][static_cast<std::size_t>(stretch.phase)];
            phase.allocated = std::max({phase.allocated, Bytes{liveBefore}, Bytes{most}});
            phase.reserved = std::max(phase.reserved, reserved);
        }
        if (begun == 0)
            continue;
        m_peaks[step].reserved = std::max(m_peaks[step].reserved, Bytes{m_replay.reserved.highest(from, to)});
        if (most > highest && stretch.phase != TracePhase::Idle) {
            highest = most;
            m_peakEvents[step] = peak;
        }
    }
    for (std::size_t s = 0; s < m_steps.size(); ++s) {
        m_peaks[s].components = componentsAfter(m_peakEvents[s]);
        m_peaks[s].allocated = m_peaks[s].components.total();
        m_peaks[s].phase = static_cast<Phase>(phaseOf(m_peakEvents[s]));
    }
    m_idle = trace().events.empty() ? ComponentBytes{} : componentsAfter(static_cast<std::uint32_t>(trace().events.size() - 1));
}

std::vector<StorageId> StepRecord::aliveAfter(std::uint32_t event) const
{
    std::vector<StorageId> out;
    for (StorageId i = 0, born = bornBefore(event + 1); i < born; ++i)
        if (m_deaths[i] > event)
            out.push_back(i);
    return out;
}

ComponentBytes StepRecord::componentsAfter(std::uint32_t event) const
{
    ComponentBytes out;
    for (StorageId i = 0, born = bornBefore(event + 1); i < born; ++i)
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
    for (StorageId i = bornBefore(m_savedFrom), born = bornBefore(m_savedAt); i < born; ++i)
        if (m_deaths[i] >= m_savedAt && (m_components[i] == Component::Activations || trace().storages[i].role == Role::Temporary))
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
