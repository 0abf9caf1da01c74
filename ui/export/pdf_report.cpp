// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/export/pdf_report.h"

#include "ui/charts/chart_widget.h"
#include "ui/export/page_flow.h"

#include <QBuffer>
#include <QCoreApplication>
#include <QPainter>
#include <QPdfWriter>

#include <array>

namespace headroom {
namespace {

constexpr double unitsPerPoint = 20; ///< fine enough that letters stand where the font wants them
constexpr double leastBars = 165;    ///< points of height in which a chart can be read
constexpr double leastTimeline = 132;
constexpr int writerResolution = 1200; ///< dots an inch

/// How much of a report is printed: rows from this share on (where a table has shares), rows of a table, paragraphs of a
/// section, lines of a listing.
struct Limits {
    double share = 0;
    std::size_t rows = 0, paragraphs = 0, lines = 0;
};

/// From everything to what surely fits four pages. Pages are counted with each until one fits.
constexpr std::array<Limits, 14> attempts = {{{0, 1000, 60, 400},
                                              {0.05, 60, 30, 60},
                                              {0.1, 60, 30, 44},
                                              {0.2, 60, 24, 40},
                                              {0.3, 60, 20, 36},
                                              {0.5, 50, 16, 30},
                                              {0.75, 40, 16, 28},
                                              {1, 30, 12, 24},
                                              {1.5, 30, 12, 24},
                                              {2, 24, 10, 20},
                                              {3, 20, 8, 18},
                                              {5, 16, 8, 16},
                                              {8, 12, 6, 12},
                                              {20, 8, 4, 8}}};

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

/// A group of one kind in one row, "MLP: matrix": the two rows would give the same figures.
ReportTable withoutOnlyChildren(const ReportTable &table)
{
    ReportTable result{table.title, table.headings, table.numeric, {}, {}};
    const auto depth = [&](std::size_t row) { return row < table.rows.size() ? depthOf(table.rows[row]) : std::size_t(0); };
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
        std::vector<std::string> row = table.rows[i];
        if (i < table.shares.size())
            result.shares.push_back(table.shares[i]);
        if (row.size() >= 2 && depth(i + 1) == depth(i) + 1 && depth(i + 2) <= depth(i) && table.rows[i + 1][1] == row[1]) {
            const QString child = QString::fromStdString(table.rows[i + 1].front()).mid(qsizetype(depth(i) + 1));
            const QString label = QStringLiteral("%1: %2").arg(QString::fromStdString(row.front()), child);
            row = table.rows[++i];
            row.front() = label.toStdString();
        }
        result.rows.push_back(std::move(row));
    }
    return result;
}

ReportTable shortened(const ReportTable &whole, const Limits &limits)
{
    const ReportTable table = withoutOnlyChildren(whole);
    ReportTable result{table.title, table.headings, table.numeric, {}, {}};
    std::size_t small = 0, left = 0;
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
        if (i < table.shares.size() && table.shares[i] < limits.share)
            ++small;
        else if (result.rows.size() >= limits.rows)
            ++left;
        else
            result.rows.push_back(table.rows[i]);
    }
    const auto say = [&](const QString &text) {
        std::vector<std::string> row(table.headings.size());
        row.front() = text.toStdString();
        result.rows.push_back(std::move(row));
    };
    if (small > 0)
        say(tr("… %1 below %2 %").arg(small).arg(limits.share));
    if (left > 0)
        say(tr("… %1 more rows").arg(left));
    return result;
}

bool isShortened(const Report &report, const Limits &limits)
{
    for (const ReportSection &section : report.sections) {
        for (const ReportTable &table : section.tables) {
            if (shortened(table, limits).rows.size() != withoutOnlyChildren(table).rows.size())
                return true;
        }
    }
    return false;
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
    const bool isAbridged = isShortened(report, limits);
    for (const ReportSection &section : report.sections) {
        const bool hasTimeline = section.chart == ReportChart::Timeline && charts.timeline;
        const bool hasBars = section.chart == ReportChart::MemoryBars && !charts.memoryBars.empty();
        flow.heading(QString::fromStdString(section.heading), hasBars ? leastBars + 75 : hasTimeline ? leastTimeline + 50 : 70);
        std::size_t written = 0;
        for (const std::string &paragraph : section.paragraphs) {
            if (++written > limits.paragraphs) {
                flow.paragraph(tr("… and %1 more").arg(section.paragraphs.size() - limits.paragraphs));
                break;
            }
            flow.paragraph(QString::fromStdString(paragraph));
        }
        if (hasBars) {
            for (ChartWidget *chart : charts.memoryBars)
                flow.chart(*chart, charts.memoryBars.size() > 1 ? 190 : 225, leastBars);
        }
        if (hasTimeline)
            flow.chart(*charts.timeline, 185, leastTimeline);
        std::vector<ReportTable> tables;
        for (const ReportTable &table : section.tables)
            tables.push_back(shortened(table, limits));
        flow.tables(tables);
        if (isAbridged && !section.listings.empty())
            flow.paragraph(
                tr("Tables are abridged to four pages; headroom-cli report --as markdown plan.headroom.json writes them whole."));
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
