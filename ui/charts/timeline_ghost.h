// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"

#include <span>
#include <vector>

namespace headroom {

/// A point of a baseline's line on another plan's timeline.
struct GhostPoint {
    double event = 0; ///< on the timeline that it is laid over
    Bytes allocated;
};

/// A baseline's allocated memory laid over the timeline of another plan. Two plans seldom have the same number of events:
/// where both steps go through the same phases each phase covers the other's, else the whole step does.
std::vector<GhostPoint> ghostOver(const Timeline &shown, const Timeline &baseline);

} // namespace headroom
