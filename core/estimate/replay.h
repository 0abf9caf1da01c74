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

/// The bytes that the allocator holds of the device after each event. They change at few events, and those alone are kept.
class ReservedHistory
{
public:
    /// So many bytes are held after this event. Events come in ascending order.
    void set(std::uint32_t event, std::int64_t bytes)
    {
        if (!m_changes.empty() && m_changes.back().event == event)
            m_changes.back().bytes = bytes;
        else if (m_changes.empty() || m_changes.back().bytes != bytes)
            m_changes.push_back({event, bytes});
    }
    /// What was said of this event and all later ones is forgotten.
    void forgetFrom(std::uint32_t event);
    /// Bytes held after the event: what was said last of it or of one before it; 0 before the first.
    std::int64_t after(std::uint32_t event) const;
    /// The most bytes held after any event of the half-open range; 0 where that is empty.
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
    bool lastStepIsSame = false; ///< done again it was shown to be the same, and not driven once more; told for tests
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
    return autograd::isBlasWorkspace(storage) ? workspaceBytes : storage.bytes;
}

/// Drives the allocator with the trace. `workspaceBytes`: as for requestedBytes().
/// `again`: the last step is done twice, and its figures are those of the second time. Throws Cancelled on request.
Replay replay(const autograd::Trace &trace, const AllocatorOptions &options, std::int64_t workspaceBytes,
              const std::stop_token &cancel = {}, const std::vector<training::Replacement> *again = nullptr,
              SegmentLog *segments = nullptr);

} // namespace headroom
