// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/export/pdf_report.h"

#include "ui/charts/chart_widget.h"
#include "ui/export/page_flow.h"

#include <QBuffer>
#include <QCoreApplication>
#include <QPainter>
#include <QPdfWriter>

#include <algorithm>
#include <array>

namespace headroom {
namespace {

constexpr double unitsPerPoint = 20;   ///< fine enough that letters stand where the font wants them
constexpr int writerResolution = 1200; ///< dots an inch

/// How much of a report is printed. Each figure is a table's, a section's or a listing's.
struct Limits {
    std::size_t rows = 0, depth = 0, paragraphs = 0, lines = 0;
};

/// From everything to what surely fits four pages. Pages are counted with each until one fits.
constexpr std::array<Limits, 9> attempts = {{{1000, 9, 60, 400},
                                             {60, 9, 30, 60},
                                             {40, 9, 24, 40},
                                             {30, 2, 16, 30},
                                             {20, 2, 12, 24},
                                             {14, 1, 10, 20},
                                             {10, 1, 8, 16},
                                             {7, 1, 6, 12},
                                             {5, 0, 4, 8}}};

QString tr(const char *text) { return QCoreApplication::translate("headroom::PdfReport", text); }

/// Levels of a row below the first: the report indents with em spaces.
std::size_t depthOf(const std::vector<std::string> &row)
{
    const QString label = row.empty() ? QString() : QString::fromStdString(row.front());
    qsizetype depth = 0;
    while (depth < label.size() && label[depth] == QChar(0x2003))
        ++depth;
    return std::size_t(depth);
}

ReportTable shortened(const ReportTable &table, const Limits &limits)
{
    ReportTable result{table.title, table.headings, table.numeric, {}};
    std::size_t left = 0;
    for (const auto &row : table.rows) {
        if (depthOf(row) <= limits.depth && result.rows.size() < limits.rows)
            result.rows.push_back(row);
        else
            ++left;
    }
    if (left > 0 && !table.headings.empty()) {
        std::vector<std::string> more(table.headings.size());
        more.front() = tr("… %1 more rows").arg(left).toStdString();
        // Where there is a column for words, it says where to find them.
        for (std::size_t column = more.size(); column-- > 1;) {
            if (column < table.numeric.size() && !table.numeric[column]) {
                const std::size_t place = column > 1 && column + 1 == more.size() && !table.numeric[column - 1] ? column - 1 : column;
                more[place] = tr("headroom-cli report lists all").toStdString();
                break;
            }
        }
        result.rows.push_back(std::move(more));
    }
    return result;
}

QString shortenedListing(const std::string &listing, const Limits &limits)
{
    QStringList lines = QString::fromStdString(listing).trimmed().split(QLatin1Char('\n'));
    if (std::size_t(lines.size()) > limits.lines) {
        lines = lines.mid(0, qsizetype(limits.lines));
        lines << tr("… the plan that is attached to this file has all of it");
    }
    // A config in one line may be megabytes long.
    for (QString &line : lines) {
        if (line.size() > 600)
            line = line.left(600) + QStringLiteral(" …");
    }
    return lines.join(QLatin1Char('\n'));
}

void compose(PageFlow &flow, const Report &report, const ReportCharts &charts, const Limits &limits)
{
    flow.title(QString::fromStdString(report.title), QString::fromStdString(report.subtitle));
    for (const ReportSection &section : report.sections) {
        flow.heading(QString::fromStdString(section.heading));
        std::size_t written = 0;
        for (const std::string &paragraph : section.paragraphs) {
            if (++written > limits.paragraphs) {
                flow.paragraph(tr("… and %1 more").arg(section.paragraphs.size() - limits.paragraphs));
                break;
            }
            flow.paragraph(QString::fromStdString(paragraph));
        }
        if (section.chart == ReportChart::MemoryBars) {
            for (ChartWidget *chart : charts.memoryBars)
                flow.chart(*chart, 235);
        }
        if (section.chart == ReportChart::Timeline && charts.timeline)
            flow.chart(*charts.timeline, 190);
        std::vector<ReportTable> tables;
        for (const ReportTable &table : section.tables)
            tables.push_back(shortened(table, limits));
        flow.tables(tables);
        for (const std::string &listing : section.listings)
            flow.listing(shortenedListing(listing, limits));
    }
}

} // namespace

QByteArray writePdf(const Report &report, const ReportCharts &charts, const QByteArray &plan, QPageSize::PageSizeId paper)
{
    const QPageSize size(paper);
    const QSizeF points = size.size(QPageSize::Point);
    int pages = 0;
    Limits limits = attempts.front();
    for (const Limits &attempt : attempts) {
        PageFlow counting(points, nullptr, unitsPerPoint, {});
        compose(counting, report, charts, attempt);
        limits = attempt;
        pages = counting.pages();
        if (pages <= mostReportPages)
            break;
    }

    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    {
        QPdfWriter writer(&buffer);
        writer.setPageSize(size);
        writer.setPageMargins(QMarginsF());
        writer.setResolution(writerResolution);
        writer.setTitle(QString::fromStdString(report.title));
        writer.setCreator(QStringLiteral("Headroom %1").arg(QLatin1String(HEADROOM_VERSION)));
        writer.addFileAttachment(QStringLiteral("plan.headroom.json"), plan, QStringLiteral("application/json"));
        ChartPainter painter(&writer);
        const double scale = writerResolution / 72.0 / unitsPerPoint;
        painter.painter().scale(scale, scale);
        PageFlow flow(points, &painter, unitsPerPoint, [&] { writer.newPage(); });
        flow.setFooter(tr("%1 — Headroom %2").arg(QString::fromStdString(report.title), QLatin1String(HEADROOM_VERSION)), pages);
        compose(flow, report, charts, limits);
        flow.finish();
    }
    return bytes;
}

} // namespace headroom
