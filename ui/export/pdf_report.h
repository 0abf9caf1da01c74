// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/report/report.h"

#include <QByteArray>
#include <QPageSize>

#include <vector>

namespace headroom {

class ChartWidget;

/// The drawings that a report's sections ask for. Several for one place stand below each other.
struct ReportCharts {
    std::vector<ChartWidget *> memoryBars;
    ChartWidget *timeline = nullptr;
};

/// At most this many pages; tables give up their least rows for it and say so.
inline constexpr int mostReportPages = 4;

/// The report as PDF: selectable text, embedded fonts, charts as vectors, `plan` attached as plan.headroom.json.
QByteArray writePdf(const Report &report, const ReportCharts &charts, const QByteArray &plan, QPageSize::PageSizeId paper);

} // namespace headroom
