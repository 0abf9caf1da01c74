// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/trace.h"
#include "core/estimate/estimate.h"
#include "core/estimate/replay.h"
#include "core/training/step.h"

#include <memory>
#include <vector>

namespace headroom {

/// A half-open range of events.
struct EventRange {
    std::uint32_t from = 0, to = 0;
    bool contains(std::uint32_t event) const { return event >= from && event < to; }
};

/// A run, and what the allocator made of it.
struct ReplayedRun {
    std::shared_ptr<const training::TrainingRun> run;
    Replay replay;
};

/// The executed run with all that views ask about single events: immutable, shared by an Estimate and its views.
class StepRecord
{
public:
    /// `rounded`: storages count as rounded up to 512 bytes instead of by their blocks.
    StepRecord(ReplayedRun replayed, bool rounded, std::int64_t workspaceBytes);

    const autograd::Trace &trace() const { return m_run->trace; }
    const std::shared_ptr<const training::TrainingRun> &run() const { return m_run; }
    EventRange step(int index) const { return m_steps[static_cast<std::size_t>(index)]; }
    std::int64_t workspaceBytes() const { return m_workspaceBytes; }
    int steps() const { return static_cast<int>(m_steps.size()); }

    Component component(autograd::StorageId storage) const { return m_components[storage]; }
    Bytes bytes(autograd::StorageId storage) const { return {m_bytes[storage]}; }
    Bytes reservedAfter(std::uint32_t event) const { return {m_replay.reserved.after(event)}; }
    /// Event of a storage's release; the number of events where it outlives the run.
    std::uint32_t deathOf(autograd::StorageId storage) const { return m_deaths[storage]; }
    std::uint32_t birthOf(autograd::StorageId storage) const { return m_births[storage]; }
    autograd::TracePhase phaseOf(std::uint32_t event) const;

    /// The event after which a step's allocated is highest.
    std::uint32_t peakEvent(int step) const { return m_peakEvents[static_cast<std::size_t>(step)]; }
    /// Components after an event: replays the step up to it.
    ComponentBytes componentsAfter(std::uint32_t event) const;
    /// Storages alive after an event, in order of birth.
    std::vector<autograd::StorageId> aliveAfter(std::uint32_t event) const;

    const Peak &peak(int step) const { return m_peaks[static_cast<std::size_t>(step)]; }
    PhasePeak phasePeak(int step, Phase phase) const;
    Steady steady() const;
    /// Born since the last micro-batch's forward began and alive when its backward begins; parameters, gradients,
    /// optimizer state and engines' buffers excluded.
    std::vector<autograd::StorageId> savedStorages() const;
    Bytes savedActivations() const;

private:
    /// What lies between two marks, and before the first.
    struct Stretch {
        EventRange events;
        autograd::TracePhase phase = autograd::TracePhase::Load;
        autograd::StorageId firstBorn = 0, bornAfter = 0; ///< half-open range of storages: they are numbered in order of birth
    };

    void findLifetimes();
    void findStretches();
    void findComponents();
    void findPeaks();
    /// How many storages are born before the event: the number of the first that is not.
    autograd::StorageId bornBefore(std::uint32_t event) const;

    std::int64_t m_workspaceBytes;
    std::shared_ptr<const training::TrainingRun> m_run;
    Replay m_replay;
    std::vector<std::int64_t> m_bytes;
    std::vector<std::uint32_t> m_births, m_deaths;
    std::vector<Component> m_components;
    std::vector<Stretch> m_stretches; ///< the first is loading; in the order of events
    std::vector<EventRange> m_steps;
    std::vector<std::uint32_t> m_peakEvents;
    std::vector<Peak> m_peaks;                                   ///< per step
    std::vector<std::array<PhasePeak, phaseCount>> m_phasePeaks; ///< per step; load in the first
    std::uint32_t m_savedFrom = 0, m_savedAt = 0;                ///< the last micro-batch's forward and backward begin
    ComponentBytes m_idle;                                       ///< after the last step
};

/// The plan executed once more, as many steps as wanted, in memory without end. Takes as long as an estimate.
std::shared_ptr<const StepRecord> recordOfSteps(const Estimate &estimate, int steps);

} // namespace headroom
