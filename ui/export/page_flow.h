// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/report/report.h"

#include <QFont>
#include <QSizeF>
#include <QString>

#include <functional>
#include <memory>
#include <vector>

class QTextLayout;

namespace headroom {

class ChartPainter;
class ChartWidget;

/// Fills pages from the top: text, tables that carry their headings over to the next page, charts. All lengths are in
/// points (1/72 inch). Without a painter nothing is drawn: pages are only counted, with the same breaks.
class PageFlow
{
public:
    /// `units` of the painter make a point. `newPage` is called between pages.
    PageFlow(QSizeF page, ChartPainter *painter, double units, std::function<void()> newPage);
    ~PageFlow();

    /// Written at the foot of every page, left; the page's number of `pages` stands on the right.
    void setFooter(const QString &text, int pages);

    void title(const QString &text, const QString &subtitle);
    /// Begins a page where less than `room` is left for what belongs to the heading.
    void heading(const QString &text, double room);
    void paragraph(const QString &text);
    /// Neighbours with the same headings become one table with their titles between the rows; neighbours that are narrow
    /// enough stand side by side.
    void tables(const std::vector<ReportTable> &tables);
    /// In fixed pitch on a grey ground.
    void listing(const QString &text);
    /// Across the page; lower than `height`, but not below `least`, where that saves a page break.
    void chart(ChartWidget &chart, double height, double least);
    /// Ends the last page.
    void finish();

    int pages() const { return m_page; }
    double contentWidth() const;

private:
    struct Cell;
    struct Row;
    struct Grid;
    using TableRun = std::vector<const ReportTable *>; ///< with the same headings
    Grid layOut(const TableRun &tables, double width) const;
    std::vector<double> columnWidths(const TableRun &tables, double width, double points) const;
    double naturalWidth(const ReportTable &table) const;
    void drawHead(const Grid &grid, double left);
    void drawGrid(const Grid &grid, double left);
    void drawText(const QTextLayout &layout, double left, double top);
    std::unique_ptr<QTextLayout> layOutText(const QString &text, const QFont &font, double width, Qt::Alignment alignment) const;
    QFont font(double points, bool bold = false) const;
    void ensure(double height);
    void breakPage();
    void drawFooter();
    double bottom() const;
    void rule(double left, double right, double y, double width, const QColor &colour);

    QSizeF m_size;
    ChartPainter *m_painter;
    double m_units;
    std::function<void()> m_newPage;
    QString m_footer;
    int m_pages = 0;
    int m_page = 1;
    double m_y;
};

} // namespace headroom
