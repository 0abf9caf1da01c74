// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/timeline_ghost.h"

#include <algorithm>

namespace headroom {

std::vector<GhostPoint> ghostOver(const Timeline &shown, const Timeline &baseline)
{
    if (shown.events == 0)
        return {};
    const auto isSamePhase = [](const TimelineBand &a, const TimelineBand &b) { return a.label == b.label; };
    const bool hasSamePhases =
        std::equal(shown.phases.begin(), shown.phases.end(), baseline.phases.begin(), baseline.phases.end(), isSamePhase);
    // Where stretches begin on both timelines; between two of them events are spread evenly.
    std::vector<double> from = {0}, to = {0};
    if (hasSamePhases) {
        for (std::size_t i = 1; i < shown.phases.size(); ++i) {
            from.push_back(baseline.phases[i].from);
            to.push_back(shown.phases[i].from);
        }
    }
    from.push_back(baseline.events);
    to.push_back(shown.events);

    std::vector<GhostPoint> points;
    points.reserve(baseline.samples.size());
    std::size_t stretch = 0;
    for (const TimelineSample &sample : baseline.samples) {
        const double event = sample.event;
        while (stretch + 2 < from.size() && event >= from[stretch + 1])
            ++stretch;
        const double part = (event - from[stretch]) / std::max(1.0, from[stretch + 1] - from[stretch]);
        points.push_back({to[stretch] + part * (to[stretch + 1] - to[stretch]), sample.components.total()});
    }
    return points;
}

} // namespace headroom
