// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/allocator/caching_allocator.h"
#include "core/autograd/tape.h"
#include "core/plan/training_plan.h"
#include "core/training/step_repeat.h"

#include <optional>
#include <stop_token>
#include <vector>

namespace headroom {

/// What the allocator holds after each event. It changes at few of them, and those alone are kept.
class ReservedHistory
{
public:
    /// From this event on. Events come in ascending order.
    void set(std::uint32_t event, std::int64_t bytes)
    {
        if (!m_changes.empty() && m_changes.back().event == event)
            m_changes.back().bytes = bytes;
        else if (m_changes.empty() || m_changes.back().bytes != bytes)
            m_changes.push_back({event, bytes});
    }
    void forgetFrom(std::uint32_t event);
    std::int64_t after(std::uint32_t event) const;
    /// After any event of the half-open range; 0 where that is empty.
    std::int64_t highest(std::uint32_t from, std::uint32_t to) const;

private:
    struct Change {
        std::uint32_t event;
        std::int64_t bytes;
    };
    std::vector<Change>::const_iterator firstAfter(std::uint32_t event) const;

    std::vector<Change> m_changes;
};

/// What the allocator made of a trace.
struct Replay {
    ReservedHistory reserved;
    std::vector<std::int64_t> blockBytes;                  ///< of each storage, what the block keeps unsplit included
    std::optional<std::uint32_t> outOfMemory;              ///< the event that could not be served
    std::optional<CachingAllocator::OutOfMemory> shortage; ///< its figures
    bool lastStepIsSame = false;                           ///< done again it was shown to be the same, and not driven once more
};

/// What the allocator took from the device and gave back while a trace was replayed, and at which events.
struct SegmentLog {
    std::vector<SegmentChange> changes;
    std::vector<std::uint32_t> events; ///< of each change
};

/// The plan's runtime options of the allocator, in memory without end.
AllocatorOptions allocatorOptions(const TrainingPlan &plan);

/// What is asked of the allocator for a storage. `workspaceBytes`: the size that cuBLAS workspaces have on this GPU.
inline std::int64_t requestedBytes(const autograd::StorageRecord &storage, std::int64_t workspaceBytes)
{
    return storage.op == autograd::Tape::workspaceName ? workspaceBytes : storage.bytes;
}

/// Drives the allocator with the trace. `workspaceBytes`: as for requestedBytes().
/// `again`: the last step is done twice, and its figures are those of the second time. Throws Cancelled on request.
Replay replay(const autograd::Trace &trace, const AllocatorOptions &options, std::int64_t workspaceBytes,
              const std::stop_token &cancel = {}, const std::vector<training::Replacement> *again = nullptr,
              SegmentLog *segments = nullptr);

} // namespace headroom
