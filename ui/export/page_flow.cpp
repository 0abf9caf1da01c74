// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/export/page_flow.h"
#include "ui/export/page_style.h"

#include "ui/charts/chart_widget.h"

#include <QCoreApplication>
#include <QFontDatabase>
#include <QFontMetricsF>
#include <QPainter>
#include <QTextLayout>

#include <algorithm>
#include <cmath>

namespace headroom {

using namespace pagestyle;

namespace {

constexpr double footerRoom = 26;
constexpr double bodySize = 9.5;
constexpr double indentation = 8;
/// A chart's pixel in points: charts are laid out as on a screen of 96 dots an inch.
constexpr double chartPixel = 72.0 / 96.0;

} // namespace

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
    // Pixels of the painter's own fine units: breaks are the same on every device.
    QFont font = paperFont(QFont(), int(std::lround(points * m_units)));
    font.setBold(bold);
    return font;
}

std::unique_ptr<QTextLayout> PageFlow::layOutText(const QString &text, const QFont &font, double width, Qt::Alignment alignment) const
{
    // The report indents rows by em spaces; lines that wrap are indented alike.
    qsizetype depth = 0;
    while (depth < text.size() && text[depth] == QChar(0x2003))
        ++depth;
    const double indent = std::min(double(depth) * indentation, width / 2) * m_units;
    auto layout = std::make_unique<QTextLayout>(text.mid(depth), font);
    QTextOption option(alignment);
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    layout->setTextOption(option);
    layout->beginLayout();
    double y = 0;
    for (QTextLine line = layout->createLine(); line.isValid(); line = layout->createLine()) {
        line.setLineWidth(width * m_units - indent);
        line.setPosition(QPointF(indent, y));
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

void PageFlow::heading(const QString &text, double room)
{
    const auto layout = layOutText(text, font(13, true), contentWidth(), Qt::AlignLeft);
    const double height = layout->boundingRect().height() / m_units;
    m_y += m_y > margin ? 11 : 0;
    ensure(height + room); // a heading alone at the foot of a page helps nobody
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

void PageFlow::listing(const QString &text)
{
    const QFont fixed = paperFont(QFontDatabase::systemFont(QFontDatabase::FixedFont), int(std::lround(7.5 * m_units)));
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

void PageFlow::chart(ChartWidget &chart, double height, double least)
{
    // Rather a little lower than a page that ends half empty.
    const double room = bottom() - m_y;
    if (room < height && room >= least)
        height = room;
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
