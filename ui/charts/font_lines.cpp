// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/font_lines.h"

#include <qcustomplot.h>

#include <QTextLayout>

namespace headroom {
namespace {

/// Figures come and go: more lines than some pictures have are old ones.
constexpr qsizetype mostLines = 400;
/// As wide as QPainter::drawText() takes a line that may not be broken.
constexpr double unbroken = 0x01000000;

} // namespace

FontLines::FontLines(const QFont &font)
    : m_font(font)
{
    const QFontMetricsF metrics(font);
    m_height = metrics.height();
    m_ascent = metrics.ascent();
}

FontLines::~FontLines() = default;
FontLines::FontLines(FontLines &&) noexcept = default;
FontLines &FontLines::operator=(FontLines &&) noexcept = default;

const FontLines::Line &FontLines::lineOf(const QString &text) const
{
    if (const auto known = m_lines.constFind(text); known != m_lines.constEnd())
        return *known;
    if (m_lines.size() >= mostLines)
        m_lines.clear();
    Line line;
    line.layout = std::make_shared<QTextLayout>(text, m_font);
    line.layout->setCacheEnabled(true);
    QTextOption option = line.layout->textOption();
    option.setWrapMode(QTextOption::ManualWrap);
    line.layout->setTextOption(option);
    line.layout->beginLayout();
    if (QTextLine only = line.layout->createLine(); only.isValid()) {
        only.setLineWidth(unbroken);
        only.setPosition({0, 0});
        line.advance = only.horizontalAdvance();
        line.height = only.ascent() + only.descent(); // height() is rounded up
    }
    line.layout->endLayout();
    return *m_lines.insert(text, line);
}

double FontLines::horizontalAdvance(const QString &text) const
{
    if (text.isEmpty())
        return 0;
    // A line does not count the spaces at its end.
    return text.back().isSpace() ? QFontMetricsF(m_font).horizontalAdvance(text) : lineOf(text).advance;
}

QString FontLines::elidedText(const QString &text, Qt::TextElideMode mode, double width) const
{
    return horizontalAdvance(text) <= width ? text : QFontMetricsF(m_font).elidedText(text, mode, width);
}

void FontLines::draw(QCPPainter *painter, const QRectF &area, int flags, const QString &text) const
{
    if (text.isEmpty())
        return;
    const bool isPlain = !text.contains(QLatin1Char('\n')) && !text.contains(QLatin1Char('\t')) && !text.isRightToLeft();
    if (painter->modes().testFlag(QCPPainter::pmVectorized) || painter->layoutDirection() == Qt::RightToLeft || !isPlain) {
        painter->setFont(m_font);
        painter->drawText(area, flags, text);
        return;
    }
    const Line &line = lineOf(text);
    QPointF corner = area.topLeft();
    if (flags & Qt::AlignRight)
        corner.rx() += area.width() - line.advance;
    else if (flags & Qt::AlignHCenter)
        corner.rx() += (area.width() - line.advance) / 2;
    if (flags & Qt::AlignBottom)
        corner.ry() += area.height() - line.height;
    else if (flags & Qt::AlignVCenter)
        corner.ry() += (area.height() - line.height) / 2;
    const bool isClipped = !(flags & Qt::TextDontClip) && !area.contains(QRectF(corner, QSizeF(line.advance, line.height)));
    if (isClipped) {
        painter->save();
        painter->setClipRect(area, Qt::IntersectClip);
    }
    line.layout->lineAt(0).draw(painter, corner);
    if (isClipped)
        painter->restore();
}

} // namespace headroom
