// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/timeline_marks.h"

#include "ui/palette.h"

#include <algorithm>

namespace headroom {
namespace {

/// Rows of the crosshair's list at most: more cannot be read while the pointer moves.
constexpr std::size_t mostRows = 12;

} // namespace

TimelineMarks::TimelineMarks(QCustomPlot *plot, const QString &layer)
    : QCPLayerable(plot, layer)
{}

void TimelineMarks::applyDefaultAntialiasingHint(QCPPainter *painter) const { painter->setAntialiasing(true); }

QRect TimelineMarks::clipRect() const { return mParentPlot->axisRect()->rect().adjusted(-6, 0, 1, 2); }

void TimelineMarks::draw(QCPPainter *painter)
{
    const QRectF plot = mParentPlot->axisRect()->rect();
    if (!emptyText.isEmpty()) {
        painter->setFont(theme.font);
        painter->setPen(theme.muted);
        painter->drawText(plot.adjusted(24, 0, -24, 0), int(Qt::AlignCenter) | int(Qt::TextWordWrap), emptyText);
        return;
    }
    painter->setPen(QPen(blend(theme.background, theme.text, 0.3), 1, Qt::DotLine));
    for (double event : borders) {
        const double x = mParentPlot->xAxis->coordToPixel(event);
        if (x > plot.left() + 1 && x < plot.right())
            painter->drawLine(QLineF(x, plot.top(), x, plot.bottom()));
    }
    if (limit) {
        const double y = mParentPlot->yAxis->coordToPixel(*limit);
        const double usableY = std::min(plot.bottom(), mParentPlot->yAxis->coordToPixel(usable));
        if (y >= plot.top() && y <= plot.bottom()) {
            // The strip below the limit that PyTorch cannot have.
            const QRectF taken(plot.left(), y, plot.width(), usableY - y);
            painter->save();
            painter->setPen(QPen(blend(theme.background, overLimitColour(), 0.6), 1, Qt::SolidLine, Qt::FlatCap));
            if (taken.height() >= 2)
                painter->drawLines(hatchLines(taken, 9, false));
            painter->restore();
            painter->setPen(QPen(overLimitColour(), 1.8));
            painter->drawLine(QLineF(plot.left(), y, plot.right(), y));
        }
    }
    drawMeasured(painter);
    if (peak)
        drawPeak(painter);
    if (!axisNote.isEmpty()) {
        painter->setFont(theme.bold);
        const QFontMetricsF metrics(theme.bold);
        const QRectF room(plot.left() + 10, plot.bottom() - metrics.height() - 4, metrics.horizontalAdvance(axisNote) + 10,
                          metrics.height() + 2);
        painter->fillRect(room, theme.background);
        painter->setPen(QPen(theme.muted, 1));
        painter->drawRect(room.adjusted(0.5, 0.5, -0.5, -0.5));
        // Two strokes through the axis, as in a drawing that leaves a part out.
        painter->setPen(QPen(theme.text, 1.5));
        for (double y : {plot.bottom() - 7, plot.bottom() - 11})
            painter->drawLine(QLineF(plot.left() - 5, y + 2, plot.left() + 5, y - 2));
        painter->setPen(theme.text);
        painter->drawText(room, int(Qt::AlignCenter) | wholeText, axisNote);
    }
}

void TimelineMarks::drawMeasured(QCPPainter *painter) const
{
    const QRectF plot = mParentPlot->axisRect()->rect();
    for (const Measured &mark : measured) {
        const double from = std::max(plot.left(), mParentPlot->xAxis->coordToPixel(mark.from));
        const double to = std::min(plot.right(), mParentPlot->xAxis->coordToPixel(mark.to));
        const double y = std::round(mParentPlot->yAxis->coordToPixel(mark.height)) + 0.5;
        if (from > plot.right() || to < plot.left() || y < plot.top() || y > plot.bottom())
            continue;
        constexpr double half = 5;
        const double middle = (from + to) / 2;
        if (to - from > 2 * half) {
            painter->setPen(QPen(theme.background, 3.4));
            painter->drawLine(QLineF(from, y, to, y));
            painter->setPen(QPen(theme.text, 1.4, Qt::DashLine));
            painter->drawLine(QLineF(from, y, to, y));
        }
        painter->setPen(QPen(theme.background, 1.2));
        painter->setBrush(theme.text);
        painter->drawPolygon(QPolygonF({{middle - half, y}, {middle, y - half}, {middle + half, y}, {middle, y + half}}));
        painter->setBrush(Qt::NoBrush);
    }
}

void TimelineMarks::drawPeak(QCPPainter *painter) const
{
    const QRectF plot = mParentPlot->axisRect()->rect();
    const QPointF at(mParentPlot->xAxis->coordToPixel(peak->event), mParentPlot->yAxis->coordToPixel(peak->height));
    if (!plot.adjusted(-1, -1, 1, 1).contains(at))
        return;
    painter->setPen(QPen(theme.background, 1.5));
    painter->setBrush(theme.text);
    painter->drawEllipse(at, 4, 4);
    painter->setBrush(Qt::NoBrush);
    const QFontMetricsF metrics(theme.bold);
    const double width = metrics.horizontalAdvance(peak->label) + 10;
    const double height = metrics.height() + 2;
    // Beside the peak, on the side with more room: nothing is as high as the peak, so that the text hides nothing.
    double left = at.x() + 8;
    if (left + width > plot.right())
        left = at.x() - 8 - width;
    left = std::max(left, plot.left() + 2);
    const double top = std::clamp(at.y() - height / 2, plot.top() + 1, plot.bottom() - height);
    const QRectF room(left, top, width, height);
    QColor ground = theme.background;
    ground.setAlphaF(0.88F);
    painter->fillRect(room, ground);
    painter->setFont(theme.bold);
    painter->setPen(theme.text);
    painter->drawText(room, int(Qt::AlignCenter) | wholeText, peak->label);
}

TimelineOverlay::TimelineOverlay(QCustomPlot *plot)
    : QCPLayerable(plot, QLatin1String("overlay"))
{}

void TimelineOverlay::applyDefaultAntialiasingHint(QCPPainter *painter) const { painter->setAntialiasing(true); }

QRect TimelineOverlay::clipRect() const { return mParentPlot->viewport(); }

void TimelineOverlay::draw(QCPPainter *painter)
{
    if (!event)
        return;
    const QRectF plot = mParentPlot->axisRect()->rect();
    const double x = mParentPlot->xAxis->coordToPixel(*event);
    if (x < plot.left() - 1 || x > plot.right() + 1)
        return;
    painter->setPen(QPen(theme.text, 1));
    painter->drawLine(QLineF(x, plot.top(), x, plot.bottom()));
    const double y = mParentPlot->yAxis->coordToPixel(height);
    if (plot.contains(QPointF(x, y))) {
        painter->setBrush(theme.background);
        painter->drawEllipse(QPointF(x, y), 3, 3);
    }

    const QFontMetricsF normal(theme.font), bold(theme.bold);
    const double line = normal.height();
    const double padding = line * 0.5;
    const QRectF viewport = mParentPlot->viewport();
    const double room = viewport.height() - 2 * padding - 8;
    const std::size_t heads = measured.isEmpty() ? 2 : 3;
    const std::size_t fitting = std::size_t(std::max(0.0, room / line - double(heads)));
    std::size_t shown = std::min({rows.size(), mostRows, fitting});
    if (shown < rows.size() && shown > 0 && shown == fitting)
        --shown; // leave a line to say so
    double sizes = 0;
    double labels = 0;
    for (std::size_t i = 0; i < shown; ++i) {
        sizes = std::max(sizes, normal.horizontalAdvance(rows[i].size));
        labels = std::max(labels, normal.horizontalAdvance(rows[i].label));
    }
    const double widest = std::max(plot.width() * 0.48, 160.0);
    const double width = std::min(widest, std::max({bold.horizontalAdvance(title), normal.horizontalAdvance(totals),
                                                    normal.horizontalAdvance(measured), line * 1.2 + labels + line + sizes}) +
                                              2 * padding);
    const bool isMore = shown < rows.size();
    const double boxHeight = line * double(heads + shown + (isMore ? 1 : 0)) + 2 * padding;
    double left = x + 12;
    if (left + width > viewport.right() - 2)
        left = x - 12 - width;
    left = std::clamp(left, viewport.left() + 2, std::max(viewport.left() + 2, viewport.right() - width - 2));
    const double top = std::clamp(plot.top() + 4, viewport.top() + 2, std::max(viewport.top() + 2, viewport.bottom() - boxHeight - 2));
    const QRectF box(left, top, width, boxHeight);
    painter->setPen(QPen(theme.muted, 1));
    painter->setBrush(theme.background);
    painter->drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);

    const QRectF inside = box.adjusted(padding, padding, -padding, -padding);
    double textTop = inside.top();
    const auto write = [&](const QFont &font, const QColor &colour, const QString &text) {
        painter->setFont(font);
        painter->setPen(colour);
        painter->drawText(QRectF(inside.left(), textTop, inside.width(), line), Qt::AlignLeft | Qt::AlignVCenter,
                          QFontMetricsF(font).elidedText(text, Qt::ElideRight, inside.width()));
        textTop += line;
    };
    write(theme.bold, theme.text, title);
    write(theme.font, theme.muted, totals);
    if (!measured.isEmpty())
        write(theme.font, theme.text, measured);
    for (std::size_t i = 0; i < shown; ++i) {
        const Row &row = rows[i];
        painter->fillRect(QRectF(inside.left(), textTop + line * 0.2, line * 0.7, line * 0.6), componentColour(row.component));
        painter->setFont(emphasised == row.component ? theme.bold : theme.font);
        painter->setPen(theme.text);
        const double labelWidth = inside.width() - line * 1.2 - sizes - line * 0.5;
        painter->drawText(QRectF(inside.left() + line * 1.2, textTop, labelWidth, line), Qt::AlignLeft | Qt::AlignVCenter,
                          QFontMetricsF(painter->font()).elidedText(row.label, Qt::ElideMiddle, labelWidth));
        painter->setFont(theme.font);
        painter->drawText(QRectF(inside.right() - sizes - 2, textTop, sizes + 2, line), Qt::AlignRight | Qt::AlignVCenter, row.size);
        textTop += line;
    }
    if (isMore)
        write(theme.font, theme.muted, more.arg(rows.size() - shown));
}

} // namespace headroom
