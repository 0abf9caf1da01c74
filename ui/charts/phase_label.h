// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"

#include <QString>

namespace headroom {

/// "backward": a phase for people, in the program's language, as it stands within a sentence or over a band.
QString phaseLabel(Phase phase);

} // namespace headroom
