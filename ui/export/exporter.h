// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"
#include "core/measure/comparison.h"
#include "core/units/result.h"

#include <QString>

#include <memory>
#include <optional>
#include <vector>

namespace headroom {

/// Writes a plan's estimate by the file's ending, whole or not at all: .pdf the report with the plan attached, .png and .svg
/// the memory chart. Needs a QApplication but no display. The paper is the locale's, A4 or Letter. The same estimate gives
/// the same bytes but for the PDF's date of making, if the program fixed QHash's seed first. `baseline` may be null;
/// `runs` are the report's measured ones.
std::optional<Issue> exportTo(const QString &file, std::shared_ptr<const Estimate> estimate, std::shared_ptr<const Estimate> baseline,
                              ByteUnit unit, const std::vector<MeasuredRun> &runs = {});

/// Whether exportTo() writes the report under this name, and so wants the runs.
bool isReport(const QString &file);

/// What is wrong with the name of a file to export to; nothing where exportTo() knows its ending.
std::optional<Issue> checkExportName(const QString &file);

} // namespace headroom
