// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"
#include "core/units/bytes.h"

#include <string>

namespace headroom::cli {

/// An estimate for a person at a terminal: verdicts, components, phases, notes.
std::string formatEstimate(const Estimate &estimate, ByteUnit unit);

} // namespace headroom::cli
