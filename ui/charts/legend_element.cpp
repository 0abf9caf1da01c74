// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/legend_element.h"

#include "ui/palette.h"

#include <algorithm>

namespace headroom {

LegendElement::LegendElement(QCustomPlot *plot)
    : QCPLayoutElement(plot)
{
    setAutoMargins(QCP::msNone);
    setMargins(QMargins(0, 0, 0, 0));
    setLayer(QLatin1String("legend"));
}

void LegendElement::setTheme(const ChartTheme &theme)
{
    m_theme = theme;
    m_normal = FontLines(theme.font);
    m_bold = FontLines(theme.bold);
    measure();
}

void LegendElement::setTitle(const QString &title, const QString &subtitle)
{
    if (title == m_title && subtitle == m_subtitle)
        return;
    m_title = title;
    m_subtitle = subtitle;
    measure();
}

void LegendElement::setRows(std::vector<LegendRow> rows, const QString &widestValue)
{
    m_rows = std::move(rows);
    m_widestValue = widestValue;
    measure();
}

void LegendElement::measure()
{
    const FontLines &normal = m_normal, &bold = m_bold;
    m_labelWidth = m_differenceWidth = 0;
    m_valueWidth = m_widestValue.isEmpty() ? 0 : bold.horizontalAdvance(m_widestValue);
    for (const LegendRow &row : m_rows) {
        const FontLines &metrics = row.isTotal ? bold : normal;
        m_labelWidth = std::max(m_labelWidth, metrics.horizontalAdvance(row.label));
        m_valueWidth = std::max(m_valueWidth, metrics.horizontalAdvance(row.value));
        m_differenceWidth = std::max(m_differenceWidth, metrics.horizontalAdvance(row.difference));
    }
    const double em = normal.height();
    double width = em * 1.6 + m_labelWidth + (m_valueWidth > 0 ? em * 0.8 + m_valueWidth : 0);
    if (m_differenceWidth > 0)
        width += em * 0.7 + m_differenceWidth;
    width = std::max({width, bold.horizontalAdvance(m_title), normal.horizontalAdvance(m_subtitle)}) + 14;
    setMinimumSize(int(width) + 1, 0);
    setMaximumSize(int(width) + 1, QWIDGETSIZE_MAX);
}

double LegendElement::rowHeight() const
{
    const double line = m_normal.height();
    const double room = (rect().height() - top()) / std::max<std::size_t>(1, m_rows.size());
    return std::clamp(room, line, line * 1.4);
}

double LegendElement::top() const
{
    const double line = m_normal.height();
    return 8 + (m_title.isEmpty() ? 0 : line) + (m_subtitle.isEmpty() ? 0 : line) + line * 0.35;
}

int LegendElement::neededHeight() const { return int(top() + m_normal.height() * double(m_rows.size())) + 4; }

QRectF LegendElement::rowArea(std::size_t row) const
{
    return {double(rect().left()), rect().top() + top() + rowHeight() * double(row), double(rect().width()), rowHeight()};
}

const LegendRow *LegendElement::rowAt(QPointF position) const
{
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        if (rowArea(i).contains(position))
            return &m_rows[i];
    }
    return nullptr;
}

void LegendElement::draw(QCPPainter *painter)
{
    const double line = m_normal.height();
    const double left = rect().left() + 10;
    double y = rect().top() + 8;
    painter->setPen(m_theme.text);
    if (!m_title.isEmpty()) {
        m_bold.draw(painter, QRectF(left, y, rect().width() - 10, line), Qt::AlignLeft | Qt::AlignVCenter, m_title);
        y += line;
    }
    painter->setPen(m_theme.muted);
    if (!m_subtitle.isEmpty())
        m_normal.draw(painter, QRectF(left, y, rect().width() - 10, line), Qt::AlignLeft | Qt::AlignVCenter, m_subtitle);

    const double swatchWidth = line * 1.15, swatchHeight = line * 0.7;
    const double labelLeft = left + line * 1.6;
    const double valueLeft = labelLeft + m_labelWidth + line * 0.8;
    const double differenceLeft = valueLeft + m_valueWidth + line * 0.7;
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        const LegendRow &row = m_rows[i];
        const QRectF area = rowArea(i);
        if (area.bottom() > rect().bottom() + 2)
            break;
        const bool isEmphasised = m_emphasised && row.component == m_emphasised;
        if (isEmphasised)
            painter->fillRect(area.adjusted(4, 0, -2, 0), m_theme.grid);
        if (row.isTotal && i > 0 && !m_rows[i - 1].isTotal) {
            painter->setPen(QPen(blend(m_theme.background, m_theme.text, 0.35), 1));
            painter->drawLine(QLineF(left, area.top() + 0.5, area.right() - 4, area.top() + 0.5));
        }
        const QRectF swatch(left, area.center().y() - swatchHeight / 2, swatchWidth, swatchHeight);
        switch (row.swatch) {
        case LegendRow::Swatch::None: break;
        case LegendRow::Swatch::Component: painter->fillRect(swatch, componentColour(row.component.value_or(Component::Weights))); break;
        case LegendRow::Swatch::Cache: drawHatch(painter, swatch, Hatch::Cache, m_theme); break;
        case LegendRow::Swatch::Outside: drawHatch(painter, swatch, Hatch::Outside, m_theme); break;
        case LegendRow::Swatch::OverLimit: drawHatch(painter, swatch, Hatch::OverLimit, m_theme); break;
        }
        const FontLines &lines = row.isTotal || isEmphasised ? m_bold : m_normal;
        painter->setPen(row.swatch == LegendRow::Swatch::OverLimit ? m_theme.warning : m_theme.text);
        const double textLeft = row.swatch == LegendRow::Swatch::None ? left : labelLeft;
        lines.draw(painter, QRectF(textLeft, area.top(), m_labelWidth + line * 1.6, area.height()), Qt::AlignLeft | Qt::AlignVCenter,
                   row.label);
        lines.draw(painter, QRectF(valueLeft - line, area.top(), m_valueWidth + line, area.height()), Qt::AlignRight | Qt::AlignVCenter,
                   row.value);
        painter->setPen(m_theme.muted);
        lines.draw(painter, QRectF(differenceLeft - line, area.top(), m_differenceWidth + line, area.height()),
                   Qt::AlignRight | Qt::AlignVCenter, row.difference);
    }
}

} // namespace headroom
