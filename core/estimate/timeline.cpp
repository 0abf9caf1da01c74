// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/step_record.h"

#include <algorithm>
#include <map>

namespace headroom {

using namespace autograd;

namespace {

int stepIndex(const StepRecord &record, Estimate::Step step) { return step == Estimate::Step::First ? 0 : record.steps() - 1; }

} // namespace

Timeline Estimate::timeline(Step step, std::size_t samples, std::uint32_t from, std::uint32_t to) const
{
    Timeline out;
    if (!record || samples == 0)
        return out;
    const EventRange range = record->step(stepIndex(*record, step));
    const Trace &trace = record->trace();
    out.events = range.to - range.from;
    out.peakEvent = record->peakEvent(stepIndex(*record, step)) - range.from;
    to = std::min(to, out.events);
    from = std::min(from, to);

    const auto extend = [](std::vector<TimelineBand> &bands, std::string label, std::uint32_t at) {
        if (!bands.empty() && bands.back().label == label) {
            bands.back().to = at + 1;
            return;
        }
        bands.push_back({std::move(label), at, at + 1});
    };

    ComponentBytes now = range.from > 0 ? record->componentsAfter(range.from - 1) : ComponentBytes{};
    std::int64_t allocated = now.total().value;
    const double stretch = std::max(1.0, static_cast<double>(to - from) / static_cast<double>(samples));
    std::int64_t bucket = -1, highest = -1;
    std::int16_t layer = -1, bandLayer = -1;
    TracePhase phase = TracePhase::Load;
    auto mark = std::lower_bound(trace.marks.begin(), trace.marks.end(), range.from,
                                 [](const Mark &m, std::uint32_t event) { return m.event < event; });
    for (std::uint32_t i = 0; i < out.events; ++i) {
        const std::uint32_t event = range.from + i;
        const Event e = trace.events[event];
        const Bytes bytes = record->bytes(e.storage);
        const Bytes change = e.release ? -bytes : bytes;
        now[record->component(e.storage)] += change;
        allocated += change.value;
        if (!e.release)
            layer = trace.storages[e.storage].layer;
        const TracePhase before = phase;
        for (; mark != trace.marks.end() && mark->event <= event; ++mark)
            phase = mark->phase;
        if (i == 0 || phase != before)
            extend(out.phases, std::string(name(static_cast<Phase>(phase))), i);
        else
            out.phases.back().to = i + 1;
        if (!out.layers.empty() && layer == bandLayer) {
            out.layers.back().to = i + 1;
        } else if (layer != bandLayer || out.layers.empty()) {
            bandLayer = layer;
            out.layers.push_back({layer < 0 ? std::string() : "layer " + std::to_string(layer), i, i + 1});
        }
        if (i < from || i >= to)
            continue;
        // in each stretch its highest sample
        const auto own = static_cast<std::int64_t>(static_cast<double>(i - from) / stretch);
        if (own != bucket) {
            bucket = own;
            highest = -1;
            out.samples.emplace_back();
        }
        if (allocated > highest) {
            highest = allocated;
            out.samples.back() = {i, static_cast<Phase>(phase), layer, record->reservedAfter(event), now};
        }
    }
    std::erase_if(out.layers, [](const TimelineBand &b) { return b.label.empty(); });
    return out;
}

} // namespace headroom
