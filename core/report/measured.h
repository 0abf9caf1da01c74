// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/measure/comparison.h"
#include "core/report/report.h"

#include <span>
#include <string>

namespace headroom {

/// Every row: group (where it begins), figure, predicted, measured, error.
ReportTable comparisonTable(const Comparison &comparison, ByteUnit unit = ByteUnit::Binary);

/// "Predicted against measured, later steps: allocated -0.40 %, reserved +1.20 %, device +0.90 %."; empty where no later step was
/// measured.
std::string comparisonSummary(const Comparison &comparison);

/// The report's page on measured runs. With several runs, their totals and components only.
ReportSection measuredSection(std::span<const MeasuredRun> runs, ByteUnit unit = ByteUnit::Binary);

/// result, figure, predicted, measured, error: a row a figure (RFC 4180). Bytes and counts; the error is a fraction.
std::string writeComparisonCsv(std::span<const MeasuredRun> runs);

/// {"rows": [{"figure", "predicted", "measured", "error"}], "results": [{"result", "differences", "notes", "ending"}]}; with
/// several runs each row begins with "result".
std::string writeComparisonJson(std::span<const MeasuredRun> runs);

} // namespace headroom
