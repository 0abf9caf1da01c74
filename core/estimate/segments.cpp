// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/segments.h"

#include "core/estimate/step_record.h"

#include <algorithm>

namespace headroom {

namespace {

/// The step of an event, from the marks; -1 before the first.
int stepOf(const StepRecord &record, std::uint32_t event)
{
    for (int step = 0; step < record.steps(); ++step)
        if (record.step(step).contains(event))
            return step;
    return -1;
}

} // namespace

SegmentPlan segmentPlan(const Estimate &estimate, Bytes capacity)
{
    const StepRecord &record = *estimate.record;
    AllocatorOptions options = allocatorOptions(estimate.plan);
    options.capacity = std::max(capacity, Bytes{0});
    SegmentLog log;
    const auto &again = record.run()->lastStepReplaces;
    const Replay replayed = replay(record.trace(), options, record.workspaceBytes(), {}, again ? &*again : nullptr, &log);
    // What was taken or given back while the last, vain try was made.
    log.events.resize(log.changes.size(), replayed.outOfMemory.value_or(0));

    SegmentPlan plan;
    Bytes taken;
    for (std::size_t i = 0; i < log.changes.size(); ++i) {
        const SegmentChange &change = log.changes[i];
        const Bytes bytes{static_cast<std::int64_t>(change.bytes)};
        taken += change.taken ? bytes : -bytes;
        plan.peak = std::max(plan.peak, taken);
        plan.events.push_back(
            {change.address, bytes, change.taken, static_cast<Phase>(record.phaseOf(log.events[i])), stepOf(record, log.events[i])});
    }
    if (replayed.outOfMemory)
        plan.shortage =
            SegmentPlan::Shortage{static_cast<Phase>(record.phaseOf(*replayed.outOfMemory)), stepOf(record, *replayed.outOfMemory),
                                  replayed.shortage->tried, replayed.shortage->free, taken};
    return plan;
}

} // namespace headroom
