// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/report/report.h"

#include <string>
#include <string_view>

namespace headroom {

// The longer sections of buildReport(), a file each.

/// What is planned: the settings that matter in every plan and all that differ from their defaults; the model's shape.
ReportSection planSection(const Estimate &estimate);

/// The tree of what is alive at the peak of a later step, a table a component, and the list of sources that it cites.
ReportSection breakdownSection(const Estimate &estimate, ByteUnit unit);

/// "75.3 %"; empty where there is no whole.
std::string formatShare(Bytes part, Bytes whole);

/// The first letter in upper case, for names that begin a line.
std::string capitalised(std::string_view name);

} // namespace headroom
