// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The tables of a page: the widths of their columns, their rows, their breaks.
#include "ui/export/page_flow.h"
#include "ui/export/page_style.h"

#include "ui/charts/chart_widget.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QTextLayout>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headroom {

using namespace pagestyle;

namespace {

constexpr double tableSize = 8.5;
constexpr double smallTableSize = 7.5;
constexpr std::size_t manyColumns = 7;
constexpr double longestUnbrokenWord = 120;
constexpr double wholeTable = 130; ///< tables up to this height are not broken over pages
constexpr double columnGap = 9;
constexpr double rowPadding = 1.6;

bool isNumeric(const ReportTable &table, std::size_t column) { return column < table.numeric.size() && table.numeric[column]; }

} // namespace

struct PageFlow::Cell {
    std::unique_ptr<QTextLayout> layout;
    double height = 0;
};

/// Either the cells of a row or the title of the rows that follow.
struct PageFlow::Row {
    std::vector<Cell> cells;
    Cell title;
    double height = 0;

    bool isTitle() const { return title.layout != nullptr; }
};

struct PageFlow::Grid {
    std::vector<double> columns; ///< widths
    double width = 0;
    Row head;
    std::vector<Row> rows;

    double height() const
    {
        return std::accumulate(rows.begin(), rows.end(), head.height, [](double sum, const Row &row) { return sum + row.height; });
    }
};

double PageFlow::naturalWidth(const ReportTable &table) const
{
    const QFontMetricsF normal(font(tableSize)), bold(font(tableSize, true));
    double width = 0;
    for (std::size_t column = 0; column < table.headings.size(); ++column) {
        double widest = bold.horizontalAdvance(QString::fromStdString(table.headings[column]));
        for (const auto &row : table.rows)
            widest = std::max(widest, normal.horizontalAdvance(QString::fromStdString(row[column])));
        width += widest / m_units + (column > 0 ? columnGap : 0);
    }
    return width + double(table.headings.size());
}

std::vector<double> PageFlow::columnWidths(const TableRun &tables, double width, double points) const
{
    const QFontMetricsF normal(font(points)), bold(font(points, true));
    const std::vector<std::string> &headings = tables.front()->headings;
    const std::size_t count = headings.size();
    // What a column would like, and what it cannot do without: its longest word. Figures are never broken.
    std::vector<double> wanted(count), least(count);
    const auto widestWord = [&](const QString &text, const QFontMetricsF &metrics) {
        double widest = 0;
        const QStringList words = text.split(QLatin1Char(' '));
        for (const QString &word : words)
            widest = std::max(widest, metrics.horizontalAdvance(word) / m_units + 1);
        return widest;
    };
    for (std::size_t column = 0; column < count; ++column) {
        const QString heading = QString::fromStdString(headings[column]);
        wanted[column] = bold.horizontalAdvance(heading) / m_units + 1;
        least[column] = widestWord(heading, bold);
        for (const ReportTable *table : tables) {
            for (const auto &row : table->rows) {
                const QString text = QString::fromStdString(row[column]);
                const double natural = normal.horizontalAdvance(text) / m_units + 1;
                wanted[column] = std::max(wanted[column], natural);
                const double word = isNumeric(*table, column) ? natural : std::min(widestWord(text, normal), longestUnbrokenWord);
                least[column] = std::max(least[column], word);
            }
        }
    }
    const double room = width - columnGap * double(count - 1);
    const double allWanted = std::accumulate(wanted.begin(), wanted.end(), 0.0);
    const double allLeast = std::accumulate(least.begin(), least.end(), 0.0);
    std::vector<double> columns = wanted;
    if (allWanted <= room) {
        // The rest goes to the last column of words: figures stay beside what they belong to.
        for (std::size_t column = count; column-- > 1;) {
            if (!isNumeric(*tables.front(), column)) {
                columns[column] += room - allWanted;
                break;
            }
        }
        return columns;
    }
    if (allLeast > room) {
        for (std::size_t column = 0; column < count; ++column)
            columns[column] = least[column] * room / allLeast;
        return columns;
    }
    // Long texts give way: what is left over the least is dealt out by the root of what each would still like, so that one
    // very long cell does not starve the others.
    std::vector<double> appetite(count);
    for (std::size_t column = 0; column < count; ++column)
        appetite[column] = std::sqrt(std::max(0.0, wanted[column] - least[column]));
    columns = least;
    double left = room - allLeast;
    for (int round = 0; round < 4 && left > 0.5; ++round) {
        const double hunger = std::accumulate(appetite.begin(), appetite.end(), 0.0);
        if (hunger <= 0)
            break;
        const double dealt = left;
        for (std::size_t column = 0; column < count; ++column) {
            const double given = std::min(dealt * appetite[column] / hunger, wanted[column] - columns[column]);
            columns[column] += given;
            left -= given;
            if (wanted[column] - columns[column] < 0.5)
                appetite[column] = 0;
        }
    }
    return columns;
}

PageFlow::Grid PageFlow::layOut(const TableRun &tables, double width) const
{
    const std::size_t count = tables.front()->headings.size();
    // A table of many columns is read row by row, like a list: a little smaller it wraps far less.
    const bool isRoomy = std::all_of(tables.begin(), tables.end(), [&](const ReportTable *table) { return naturalWidth(*table) <= width; });
    const double points = count >= manyColumns && !isRoomy ? smallTableSize : tableSize;
    const QFont normalFont = font(points), boldFont = font(points, true);
    Grid grid;
    grid.columns = columnWidths(tables, width, points);
    grid.width = std::accumulate(grid.columns.begin(), grid.columns.end(), columnGap * double(count - 1));
    const auto cell = [&](const std::string &text, const QFont &cellFont, double cellWidth, bool isRight) {
        Cell made;
        made.layout = layOutText(QString::fromStdString(text), cellFont, cellWidth, isRight ? Qt::AlignRight : Qt::AlignLeft);
        made.height = made.layout->boundingRect().height() / m_units;
        return made;
    };
    const auto rowOf = [&](const std::vector<std::string> &texts, const QFont &cellFont) {
        Row row;
        for (std::size_t column = 0; column < count; ++column) {
            row.cells.push_back(cell(texts[column], cellFont, grid.columns[column], isNumeric(*tables.front(), column)));
            row.height = std::max(row.height, row.cells.back().height);
        }
        row.height += 2 * rowPadding;
        return row;
    };
    grid.head = rowOf(tables.front()->headings, boldFont);
    for (const ReportTable *table : tables) {
        if (!table->title.empty()) {
            Row row;
            row.title = cell(table->title, font(points + 0.5, true), grid.width, false);
            row.height = row.title.height + 2 * rowPadding + 3;
            grid.rows.push_back(std::move(row));
        }
        for (const auto &texts : table->rows)
            grid.rows.push_back(rowOf(texts, normalFont));
    }
    return grid;
}

void PageFlow::drawHead(const Grid &grid, double left)
{
    if (m_painter)
        m_painter->painter().setPen(ink);
    double x = left;
    for (std::size_t column = 0; column < grid.columns.size(); ++column) {
        const Cell &cell = grid.head.cells[column];
        drawText(*cell.layout, x, m_y + grid.head.height - rowPadding - cell.height);
        x += grid.columns[column] + columnGap;
    }
    m_y += grid.head.height;
    rule(left, left + grid.width, m_y, 0.7, muted);
}

void PageFlow::drawGrid(const Grid &grid, double left)
{
    if (m_painter)
        m_painter->painter().setPen(ink);
    if (grid.height() < wholeTable)
        ensure(grid.height());
    bool isHeadDrawn = false;
    for (std::size_t i = 0; i < grid.rows.size(); ++i) {
        const Row &row = grid.rows[i];
        // A title stays with the first row below it, the headings with the first row of all.
        double needed = row.height + (isHeadDrawn ? 0 : grid.head.height);
        if (row.isTitle() && i + 1 < grid.rows.size())
            needed += grid.rows[i + 1].height;
        if (m_y + needed > bottom() && m_y > margin) {
            breakPage();
            isHeadDrawn = false;
        }
        if (row.isTitle() && i == 0) {
            if (m_painter)
                m_painter->painter().setPen(ink);
            // The title of the whole stands above the headings, titles within between the rows.
            drawText(*row.title.layout, left, m_y);
            m_y += row.height - rowPadding;
            continue;
        }
        if (!isHeadDrawn)
            drawHead(grid, left);
        isHeadDrawn = true;
        if (m_painter)
            m_painter->painter().setPen(ink);
        if (row.isTitle()) {
            drawText(*row.title.layout, left, m_y + rowPadding + 3);
        } else {
            double x = left;
            for (std::size_t column = 0; column < row.cells.size(); ++column) {
                drawText(*row.cells[column].layout, x, m_y + rowPadding);
                x += grid.columns[column] + columnGap;
            }
        }
        m_y += row.height;
        rule(left, left + grid.width, m_y, row.isTitle() ? 0.6 : 0.35, row.isTitle() ? muted : faint);
    }
    if (!isHeadDrawn)
        drawHead(grid, left);
}

void PageFlow::tables(const std::vector<ReportTable> &tables)
{
    constexpr double between = 24;
    for (std::size_t i = 0; i < tables.size(); ++i) {
        if (tables[i].headings.empty())
            continue;
        TableRun run{&tables[i]};
        while (i + run.size() < tables.size() && tables[i + run.size()].headings == tables[i].headings)
            run.push_back(&tables[i + run.size()]);
        if (run.size() == 1 && i + 1 < tables.size()) {
            // A little too wide is made to fit: a few cells wrap.
            const double natural = naturalWidth(tables[i]), next = naturalWidth(tables[i + 1]);
            const double room = contentWidth() - between;
            if (natural + next <= room * 1.15) {
                const double width = natural + next <= room ? natural + (room - natural - next) / 2 : room * natural / (natural + next);
                const Grid first = layOut(run, width), second = layOut({&tables[i + 1]}, room - width);
                const double height = std::max(first.height(), second.height());
                if (height < (bottom() - margin) / 2) {
                    ensure(height);
                    const double top = m_y;
                    drawGrid(first, margin);
                    m_y = top;
                    drawGrid(second, m_size.width() - margin - second.width);
                    m_y = top + height + 6;
                    ++i;
                    continue;
                }
            }
        }
        drawGrid(layOut(run, contentWidth()), margin);
        m_y += 6;
        i += run.size() - 1;
    }
}

} // namespace headroom
