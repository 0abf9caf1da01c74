// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/measure/snapshot_overlay.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace headroom {

namespace {

/// What happened between two marks: points [from, to) of the recording.
struct Stretch {
    Phase phase = Phase::Forward;
    std::optional<int> step;
    std::size_t from = 0, to = 0;
};

/// The recording cut at the marks, in their order; stretches without a point too.
std::vector<Stretch> stretchesOf(const MemoryTimeline &snapshot, std::span<const ProbeMark> given)
{
    std::vector<ProbeMark> marks(given.begin(), given.end());
    std::stable_sort(marks.begin(), marks.end(), [](const ProbeMark &a, const ProbeMark &b) { return a.microseconds < b.microseconds; });
    const auto &points = snapshot.points;
    std::vector<Stretch> stretches;
    std::size_t from = 0;
    for (const ProbeMark &mark : marks) {
        while (from < points.size() && snapshot.beganAt + points[from].microseconds < mark.microseconds)
            ++from;
        if (!stretches.empty())
            stretches.back().to = from;
        stretches.push_back({mark.phase, mark.step, from, points.size()});
    }
    return stretches;
}

std::optional<int> stepOf(std::span<const Stretch> stretches)
{
    std::map<int, std::size_t> points;
    for (const Stretch &stretch : stretches)
        if (stretch.step)
            points[*stretch.step] += stretch.to - stretch.from;
    std::optional<int> best;
    for (const auto &[step, count] : points)
        if (count > 0 && (!best || count >= points[*best]))
            best = step;
    return best;
}

/// The points of one stretch over the events [from, to).
void lay(SnapshotOverlay &out, const MemoryTimeline &snapshot, const Stretch &stretch, double from, double to)
{
    const auto &points = snapshot.points;
    const auto before = [&](std::size_t i) { return i == 0 ? snapshot.allocatedBefore : points[i - 1].allocated; };
    // Taking and giving back segments are no events of the prediction's axis. Of a thinned recording each point stands for as many.
    const auto counts = [&](std::size_t i) { return snapshot.isThinned() || points[i].allocated != before(i); };
    std::size_t events = 0;
    for (std::size_t i = stretch.from; i < stretch.to; ++i)
        events += counts(i) ? 1 : 0;
    const bool begins = out.points.empty() || out.points.back().event != from;
    if (!begins)
        out.points.pop_back(); // the end of the stretch before, at the same place
    const std::size_t first = out.points.size();
    Bytes reserved; // the highest since the event before
    std::size_t event = 0;
    for (std::size_t i = stretch.from; i < stretch.to; ++i) {
        reserved = std::max(reserved, points[i].reserved);
        if (!counts(i))
            continue;
        out.points.push_back(
            {from + (to - from) * static_cast<double>(event++) / static_cast<double>(events), points[i].allocated, reserved});
        reserved = {};
    }
    if (events == 0)
        out.points.push_back({from, before(stretch.from),
                              std::max(reserved, stretch.from == 0 ? snapshot.reservedBefore : points[stretch.from - 1].reserved)});
    out.points[first].begins = begins;
    out.points.push_back({to, out.points.back().allocated, out.points.back().reserved});
}

void layPhases(SnapshotOverlay &out, const Timeline &shown, const MemoryTimeline &snapshot, std::span<const Stretch> all)
{
    std::map<Phase, std::vector<Stretch>> measured;
    for (const Stretch &stretch : all)
        if (stretch.step == out.step)
            measured[stretch.phase].push_back(stretch);
    std::map<Phase, std::size_t> predicted, seen;
    for (const TimelineBand &band : shown.phases)
        if (const auto phase = phaseNamed(band.label))
            ++predicted[*phase];
    for (const TimelineBand &band : shown.phases) {
        const auto phase = phaseNamed(band.label);
        if (!phase)
            continue;
        const std::vector<Stretch> &same = measured[*phase];
        const std::size_t nth = seen[*phase]++;
        const bool isLast = nth + 1 == predicted[*phase];
        if (same.empty() || (!isLast && nth + 1 >= same.size()))
            continue;
        lay(out, snapshot, isLast ? same.back() : same[nth], band.from, band.to);
    }
    out.rule = fmt::format("step {} of the run, phase over phase", *out.step + 1);
    const std::size_t ran = measured[Phase::Forward].size(), drawn = predicted[Phase::Forward];
    if (ran > drawn && drawn > 0)
        out.rule += drawn == 1 ? fmt::format("; of {} micro-batches the last", ran)
                               : fmt::format("; of {} micro-batches the first {} and the last", ran,
                                             drawn == 2 ? "one" : fmt::format("{}", drawn - 1));
}

} // namespace

std::optional<int> recordedStep(const MemoryTimeline &snapshot, std::span<const ProbeMark> marks)
{
    return stepOf(stretchesOf(snapshot, marks));
}

SnapshotOverlay layOver(const Timeline &shown, Estimate::Step kind, const MemoryTimeline &snapshot, std::span<const ProbeMark> marks)
{
    SnapshotOverlay out;
    if (shown.events == 0 || snapshot.points.empty())
        return out;
    const std::vector<Stretch> stretches = stretchesOf(snapshot, marks);
    out.step = stepOf(stretches);
    if (out.step && (*out.step == 0) != (kind == Estimate::Step::First)) {
        out.isOtherStep = true;
        out.rule = fmt::format("of step {} of the run, {}", *out.step + 1, *out.step == 0 ? "the first" : "a later one");
        return out;
    }
    if (out.step) {
        layPhases(out, shown, snapshot, stretches);
    } else {
        lay(out, snapshot, {Phase::Forward, {}, 0, snapshot.points.size()}, 0, shown.events);
        out.rule = "all of it over the whole step; where its phases begin is not known";
    }
    for (const OverlayPoint &point : out.points) {
        out.allocatedMost = std::max(out.allocatedMost, point.allocated);
        out.reservedMost = std::max(out.reservedMost, point.reserved);
    }
    return out;
}

std::vector<OverlayPoint> thinned(std::span<const OverlayPoint> points, double from, double to, std::size_t samples)
{
    std::vector<OverlayPoint> out;
    if (samples == 0 || to <= from)
        return out;
    const double stretch = (to - from) / static_cast<double>(samples);
    std::int64_t bucket = -1;
    for (std::size_t i = 0; i < points.size(); ++i) {
        const OverlayPoint &point = points[i];
        // The last one before the part is kept: what it says holds until the next.
        const bool isBefore = point.event < from;
        if (isBefore && i + 1 < points.size() && points[i + 1].event <= from)
            continue;
        if (point.event > to)
            break;
        const std::int64_t own = isBefore ? -1 : static_cast<std::int64_t>((point.event - from) / stretch);
        if (out.empty() || own != bucket || point.begins) {
            out.push_back(point);
            bucket = own;
            continue;
        }
        out.back().allocated = std::max(out.back().allocated, point.allocated);
        out.back().reserved = std::max(out.back().reserved, point.reserved);
    }
    return out;
}

} // namespace headroom
