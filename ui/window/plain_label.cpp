// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/plain_label.h"

#include <QEvent>
#include <QPainter>
#include <QTextLayout>

#include <cmath>

namespace headroom {
namespace {

constexpr double unbroken = QWIDGETSIZE_MAX;

} // namespace

PlainLabel::PlainLabel(bool wraps, QWidget *parent)
    : QLabel(parent)
{
    setTextFormat(Qt::PlainText);
    setTextInteractionFlags(Qt::TextSelectableByMouse);
    setWordWrap(wraps);
}

PlainLabel::~PlainLabel() = default;

const QTextLayout &PlainLabel::laidOut(double width) const
{
    if (!m_layout || m_laidOut != text()) {
        m_laidOut = text();
        QString lines = m_laidOut;
        lines.replace(QLatin1Char('\n'), QChar::LineSeparator);
        m_layout = std::make_unique<QTextLayout>(lines, font());
        m_layout->setCacheEnabled(true); // breaking lines anew for another width does not choose glyphs anew
        QTextOption option = m_layout->textOption();
        option.setTextDirection(layoutDirection());
        option.setWrapMode(wordWrap() ? QTextOption::WordWrap : QTextOption::ManualWrap);
        m_layout->setTextOption(option);
        m_width = -1;
    }
    if (width != m_width) {
        m_width = width;
        m_height = m_textWidth = 0;
        m_layout->beginLayout();
        for (QTextLine line = m_layout->createLine(); line.isValid(); line = m_layout->createLine()) {
            line.setLeadingIncluded(true);
            line.setLineWidth(width);
            line.setPosition({0, m_height});
            m_height += std::ceil(line.height());
            m_textWidth = std::max(m_textWidth, line.horizontalAdvance());
        }
        m_layout->endLayout();
    }
    return *m_layout;
}

QSize PlainLabel::sizeHint() const
{
    // Where it wraps, the layout gives it all the room there is, and asks for the height.
    const int line = fontMetrics().height();
    if (wordWrap())
        return QSize(line * 20, line).grownBy(contentsMargins());
    laidOut(unbroken);
    return QSize(qRound(m_textWidth) + 1, line).grownBy(contentsMargins());
}

QSize PlainLabel::minimumSizeHint() const
{
    if (!wordWrap())
        return sizeHint();
    const int line = fontMetrics().height();
    return QSize(line * 4, line).grownBy(contentsMargins());
}

int PlainLabel::heightForWidth(int width) const
{
    // As wide as the text is painted: beside the margins.
    const QMargins margins = contentsMargins();
    laidOut(std::max(width - margins.left() - margins.right(), 0));
    return std::max(static_cast<int>(m_height), fontMetrics().height()) + margins.top() + margins.bottom();
}

void PlainLabel::paintEvent(QPaintEvent *event)
{
    // QLabel makes a document of its text, which it needs for what is selected in it, and for what runs from right to left.
    if (hasSelectedText() || isRightToLeft() || !isEnabled()) {
        QLabel::paintEvent(event);
        return;
    }
    const QRect area = contentsRect();
    const QTextLayout &lines = laidOut(wordWrap() ? area.width() : unbroken);
    QPainter painter(this);
    painter.setClipRect(area);
    painter.setPen(palette().color(foregroundRole()));
    lines.draw(&painter, QPointF(area.left(), area.top() + std::floor(std::max(0.0, (area.height() - m_height) / 2))));
}

void PlainLabel::changeEvent(QEvent *event)
{
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange || event->type() == QEvent::LayoutDirectionChange)
        m_layout.reset();
    QLabel::changeEvent(event);
}

} // namespace headroom
