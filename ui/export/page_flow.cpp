// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/export/page_flow.h"

#include "ui/charts/chart_widget.h"

#include <QCoreApplication>
#include <QFontDatabase>
#include <QFontMetricsF>
#include <QPainter>
#include <QTextLayout>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headroom {
namespace {

constexpr double margin = 46;
constexpr double footerRoom = 26;
constexpr double bodySize = 9.5;
constexpr double tableSize = 8.5;
constexpr double columnGap = 10;
constexpr double rowPadding = 2;
/// A chart's pixel in points: charts are laid out as on a screen of 96 dots an inch.
constexpr double chartPixel = 72.0 / 96.0;

const QColor ink(0x1a, 0x1a, 0x1a);
const QColor muted(0x59, 0x59, 0x59);
const QColor faint(0xd0, 0xd0, 0xd0);

} // namespace

struct PageFlow::Cell {
    std::unique_ptr<QTextLayout> layout;
    double height = 0;
};

struct PageFlow::Grid {
    std::unique_ptr<QTextLayout> title;
    double titleHeight = 0;
    std::vector<double> columns; ///< widths
    std::vector<Cell> head;
    double headHeight = 0;
    std::vector<std::vector<Cell>> rows;
    std::vector<double> rowHeights;
    double width = 0;

    double height() const { return titleHeight + headHeight + std::accumulate(rowHeights.begin(), rowHeights.end(), 0.0); }
};

PageFlow::PageFlow(QSizeF page, ChartPainter *painter, double units, std::function<void()> newPage)
    : m_size(page)
    , m_painter(painter)
    , m_units(units)
    , m_newPage(std::move(newPage))
    , m_y(margin)
{}

PageFlow::~PageFlow() = default;

void PageFlow::setFooter(const QString &text, int pages)
{
    m_footer = text;
    m_pages = pages;
}

double PageFlow::contentWidth() const { return m_size.width() - 2 * margin; }

double PageFlow::bottom() const { return m_size.height() - margin - footerRoom + 10; }

QFont PageFlow::font(double points, bool bold) const
{
    QFont font;
    // Pixels of the painter's own fine units: breaks are the same on every device, letters are not moved to whole pixels.
    font.setPixelSize(int(std::lround(points * m_units)));
    font.setHintingPreference(QFont::PreferNoHinting);
    font.setBold(bold);
    return font;
}

std::unique_ptr<QTextLayout> PageFlow::layOutText(const QString &text, const QFont &font, double width, Qt::Alignment alignment) const
{
    auto layout = std::make_unique<QTextLayout>(text, font);
    QTextOption option(alignment);
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    layout->setTextOption(option);
    layout->beginLayout();
    double y = 0;
    for (QTextLine line = layout->createLine(); line.isValid(); line = layout->createLine()) {
        line.setLineWidth(width * m_units);
        line.setPosition(QPointF(0, y));
        y += line.height();
    }
    layout->endLayout();
    return layout;
}

void PageFlow::drawText(const QTextLayout &layout, double left, double top)
{
    if (m_painter)
        layout.draw(&m_painter->painter(), QPointF(left * m_units, top * m_units));
}

void PageFlow::rule(double left, double right, double y, double width, const QColor &colour)
{
    if (!m_painter)
        return;
    QPainter &painter = m_painter->painter();
    painter.save();
    painter.setPen(QPen(colour, width * m_units, Qt::SolidLine, Qt::FlatCap));
    painter.drawLine(QLineF(left * m_units, y * m_units, right * m_units, y * m_units));
    painter.restore();
}

void PageFlow::ensure(double height)
{
    if (m_y + height > bottom() && m_y > margin)
        breakPage();
}

void PageFlow::breakPage()
{
    drawFooter();
    if (m_newPage)
        m_newPage();
    ++m_page;
    m_y = margin;
}

void PageFlow::finish() { drawFooter(); }

void PageFlow::drawFooter()
{
    if (!m_painter)
        return;
    const double top = m_size.height() - margin - 2;
    rule(margin, m_size.width() - margin, top - 4, 0.5, faint);
    m_painter->painter().setPen(muted);
    const QString number = QCoreApplication::translate("headroom::PdfReport", "Page %1 of %2").arg(m_page).arg(m_pages);
    const QFont small = font(8);
    const double numberWidth = QFontMetricsF(small).horizontalAdvance(number) / m_units + 4;
    const double room = contentWidth() - numberWidth - 12;
    const QString text = QFontMetricsF(small).elidedText(m_footer, Qt::ElideMiddle, room * m_units);
    drawText(*layOutText(text, small, room, Qt::AlignLeft), margin, top);
    drawText(*layOutText(number, small, numberWidth, Qt::AlignRight), m_size.width() - margin - numberWidth, top);
}

void PageFlow::title(const QString &text, const QString &subtitle)
{
    const auto head = layOutText(text, font(18, true), contentWidth(), Qt::AlignLeft);
    if (m_painter)
        m_painter->painter().setPen(ink);
    drawText(*head, margin, m_y);
    m_y += head->boundingRect().height() / m_units + 3;
    const auto below = layOutText(subtitle, font(12), contentWidth(), Qt::AlignLeft);
    drawText(*below, margin, m_y);
    m_y += below->boundingRect().height() / m_units + 4;
}

void PageFlow::heading(const QString &text)
{
    const auto layout = layOutText(text, font(13, true), contentWidth(), Qt::AlignLeft);
    const double height = layout->boundingRect().height() / m_units;
    m_y += m_y > margin ? 11 : 0;
    ensure(height + 70); // a heading alone at the foot of a page helps nobody
    if (m_painter)
        m_painter->painter().setPen(ink);
    drawText(*layout, margin, m_y);
    m_y += height + 1;
    rule(margin, m_size.width() - margin, m_y, 0.8, ink);
    m_y += 5;
}

void PageFlow::paragraph(const QString &text)
{
    const auto layout = layOutText(text, font(bodySize), contentWidth(), Qt::AlignLeft);
    const double height = layout->boundingRect().height() / m_units;
    ensure(height);
    if (m_painter)
        m_painter->painter().setPen(ink);
    drawText(*layout, margin, m_y);
    m_y += height + 4;
}

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
    return width + 2;
}

PageFlow::Grid PageFlow::layOut(const ReportTable &table, double width) const
{
    const QFont normalFont = font(tableSize), boldFont = font(tableSize, true);
    const QFontMetricsF normal(normalFont), bold(boldFont);
    const std::size_t count = table.headings.size();
    Grid grid;
    grid.width = width;
    if (!table.title.empty()) {
        grid.title = layOutText(QString::fromStdString(table.title), font(bodySize, true), width, Qt::AlignLeft);
        grid.titleHeight = grid.title->boundingRect().height() / m_units + 2;
    }

    // What a column would like, and what it cannot do without: its longest word. Figures are never broken.
    std::vector<double> wanted(count), least(count);
    const auto widestWord = [&](const QString &text, const QFontMetricsF &metrics) {
        double widest = 0;
        const QStringList words = text.split(QLatin1Char(' '));
        for (const QString &word : words)
            widest = std::max(widest, metrics.horizontalAdvance(word));
        return widest / m_units;
    };
    const auto isNumeric = [&](std::size_t column) { return column < table.numeric.size() && table.numeric[column]; };
    for (std::size_t column = 0; column < count; ++column) {
        const QString heading = QString::fromStdString(table.headings[column]);
        wanted[column] = bold.horizontalAdvance(heading) / m_units + 1;
        least[column] = widestWord(heading, bold) + 1;
        for (const auto &row : table.rows) {
            const QString text = QString::fromStdString(row[column]);
            const double natural = normal.horizontalAdvance(text) / m_units + 1;
            wanted[column] = std::max(wanted[column], natural);
            least[column] =
                std::max(least[column],
                         isNumeric(column) ? natural : std::min(natural, std::max(40.0, std::min(90.0, widestWord(text, normal) + 1))));
        }
    }
    const double room = width - columnGap * double(count - 1);
    const double allWanted = std::accumulate(wanted.begin(), wanted.end(), 0.0);
    const double allLeast = std::accumulate(least.begin(), least.end(), 0.0);
    grid.columns = wanted;
    if (allWanted <= room) {
        // The rest goes to the last column of words: figures stay beside what they belong to.
        for (std::size_t column = count; column-- > 0;) {
            if (!isNumeric(column) && column > 0) {
                grid.columns[column] += room - allWanted;
                break;
            }
        }
    } else if (allLeast <= room) {
        // Long texts give way: what is left over the least is dealt out by what each would still like, its root taken, so
        // that one very long cell does not starve the others.
        std::vector<double> appetite(count);
        for (std::size_t column = 0; column < count; ++column)
            appetite[column] = std::sqrt(std::max(0.0, wanted[column] - least[column]));
        grid.columns = least;
        double left = room - allLeast;
        for (int round = 0; round < 4 && left > 0.5; ++round) {
            const double hunger = std::accumulate(appetite.begin(), appetite.end(), 0.0);
            if (hunger <= 0)
                break;
            const double dealt = left;
            for (std::size_t column = 0; column < count; ++column) {
                const double given = std::min(dealt * appetite[column] / hunger, wanted[column] - grid.columns[column]);
                grid.columns[column] += given;
                left -= given;
                if (wanted[column] - grid.columns[column] < 0.5)
                    appetite[column] = 0;
            }
        }
    } else {
        for (std::size_t column = 0; column < count; ++column)
            grid.columns[column] = least[column] * room / allLeast;
    }

    const auto cell = [&](const std::string &text, const QFont &cellFont, std::size_t column) {
        Cell made;
        made.layout =
            layOutText(QString::fromStdString(text), cellFont, grid.columns[column], isNumeric(column) ? Qt::AlignRight : Qt::AlignLeft);
        made.height = made.layout->boundingRect().height() / m_units;
        return made;
    };
    const auto heightOf = [](const std::vector<Cell> &cells) {
        double height = 0;
        for (const Cell &each : cells)
            height = std::max(height, each.height);
        return height + 2 * rowPadding;
    };
    for (std::size_t column = 0; column < count; ++column)
        grid.head.push_back(cell(table.headings[column], boldFont, column));
    grid.headHeight = heightOf(grid.head);
    for (const auto &row : table.rows) {
        std::vector<Cell> cells;
        for (std::size_t column = 0; column < count; ++column)
            cells.push_back(cell(row[column], normalFont, column));
        grid.rowHeights.push_back(heightOf(cells));
        grid.rows.push_back(std::move(cells));
    }
    return grid;
}

void PageFlow::drawHead(const Grid &grid, double left, double top)
{
    if (m_painter)
        m_painter->painter().setPen(ink);
    double x = left;
    for (std::size_t column = 0; column < grid.head.size(); ++column) {
        drawText(*grid.head[column].layout, x, top + grid.headHeight - rowPadding - grid.head[column].height);
        x += grid.columns[column] + columnGap;
    }
    rule(left, left + grid.width, top + grid.headHeight, 0.7, muted);
}

void PageFlow::drawGrid(const Grid &grid, double left)
{
    const double first = grid.rowHeights.empty() ? 0 : grid.rowHeights.front();
    ensure(grid.titleHeight + grid.headHeight + first);
    if (m_painter)
        m_painter->painter().setPen(ink);
    if (grid.title)
        drawText(*grid.title, left, m_y);
    m_y += grid.titleHeight;
    drawHead(grid, left, m_y);
    m_y += grid.headHeight;
    for (std::size_t row = 0; row < grid.rows.size(); ++row) {
        if (m_y + grid.rowHeights[row] > bottom()) {
            breakPage();
            drawHead(grid, left, m_y);
            m_y += grid.headHeight;
        }
        if (m_painter)
            m_painter->painter().setPen(ink);
        double x = left;
        for (std::size_t column = 0; column < grid.rows[row].size(); ++column) {
            drawText(*grid.rows[row][column].layout, x, m_y + rowPadding);
            x += grid.columns[column] + columnGap;
        }
        m_y += grid.rowHeights[row];
        rule(left, left + grid.width, m_y, 0.35, faint);
    }
}

void PageFlow::tables(const std::vector<ReportTable> &tables)
{
    constexpr double between = 24;
    for (std::size_t i = 0; i < tables.size(); ++i) {
        const double natural = naturalWidth(tables[i]);
        const double next = i + 1 < tables.size() ? naturalWidth(tables[i + 1]) : contentWidth();
        if (natural + between + next <= contentWidth()) {
            const double spare = (contentWidth() - natural - next - between) / 2;
            const Grid first = layOut(tables[i], natural + spare), second = layOut(tables[i + 1], next + spare);
            const double height = std::max(first.height(), second.height());
            if (height < bottom() - margin) {
                ensure(height);
                const double top = m_y;
                drawGrid(first, margin);
                m_y = top;
                drawGrid(second, margin + first.width + between);
                m_y = top + height + 8;
                ++i;
                continue;
            }
        }
        drawGrid(layOut(tables[i], contentWidth()), margin);
        m_y += 8;
    }
}

void PageFlow::listing(const QString &text)
{
    QFont fixed = QFontDatabase::systemFont(QFontDatabase::FixedFont);
    fixed.setPixelSize(int(std::lround(8 * m_units)));
    fixed.setHintingPreference(QFont::PreferNoHinting);
    const QStringList lines = text.trimmed().split(QLatin1Char('\n'));
    constexpr double padding = 5;
    m_y += 2;
    for (qsizetype i = 0; i < lines.size(); ++i) {
        const auto layout =
            layOutText(lines[i].isEmpty() ? QStringLiteral(" ") : lines[i], fixed, contentWidth() - 2 * padding, Qt::AlignLeft);
        const double height = layout->boundingRect().height() / m_units;
        ensure(height + padding);
        if (m_painter) {
            m_painter->painter().fillRect(QRectF(margin * m_units, m_y * m_units, contentWidth() * m_units, (height + 1) * m_units),
                                          QColor(0xf3, 0xf3, 0xf3));
            m_painter->painter().setPen(ink);
        }
        drawText(*layout, margin + padding, m_y + 0.5);
        m_y += height + 0.5;
    }
    m_y += 7;
}

void PageFlow::chart(ChartWidget &chart, double height)
{
    ensure(height);
    if (m_painter) {
        QPainter &painter = m_painter->painter();
        painter.save();
        painter.translate(margin * m_units, m_y * m_units);
        painter.scale(chartPixel * m_units, chartPixel * m_units);
        chart.drawOn(*m_painter, QSize(int(contentWidth() / chartPixel), int(height / chartPixel)));
        painter.restore();
    }
    m_y += height + 6;
}

} // namespace headroom
