// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/report/report.h"

#include <string>
#include <string_view>

namespace headroom::cli {

/// The table in columns for a terminal: two spaces before and between them, numbers to the right, the title not shown.
std::string formatTable(const ReportTable &table);

/// The text in lines of at most `width` columns, `indent` before each but the first.
std::string wrapped(std::string_view text, std::string_view indent, std::size_t width = 110);

} // namespace headroom::cli
