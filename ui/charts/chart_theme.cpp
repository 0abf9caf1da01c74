// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/chart_theme.h"

#include "ui/palette.h"

#include <qcustomplot.h>

#include <QPainter>
#include <QPixmapCache>

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

QFont scaled(QFont font, double factor)
{
    if (font.pixelSize() > 0)
        font.setPixelSize(std::max(1, qRound(font.pixelSize() * factor)));
    else
        font.setPointSizeF(font.pointSizeF() * factor);
    return font;
}

struct HatchLook {
    QColor line, ground;
    double width = 1.0, spacing = 6.0;
    bool rising = true;
};

HatchLook lookOf(Hatch hatch, const ChartTheme &theme)
{
    switch (hatch) {
    case Hatch::Cache: return {theme.cache, blend(theme.background, theme.cache, 0.12), 1.0, 6.0, true};
    case Hatch::Outside: return {theme.outside, blend(theme.background, theme.outside, 0.25), 1.0, 4.5, false};
    case Hatch::OverLimit: return {overLimitColour(), blend(theme.background, overLimitColour(), 0.25), 3.0, 8.0, true};
    }
    return {};
}

void drawLines(QPainter *painter, const QRectF &area, const HatchLook &look)
{
    painter->setPen(QPen(look.line, look.width, Qt::SolidLine, Qt::FlatCap));
    painter->drawLines(hatchLines(area, look.spacing, look.rising));
}

/// A piece of the hatch with whole periods of each spacing, so that it joins itself. `shift`: where the chart's whole numbers lie
/// between the pixels.
QPixmap tileOf(const HatchLook &look, QPointF shift)
{
    constexpr int size = 72;
    const QString key = QStringLiteral("headroom/hatch/%1/%2/%3/%4/%5/%6/%7")
                            .arg(look.line.rgb())
                            .arg(look.ground.rgb())
                            .arg(look.width)
                            .arg(look.spacing)
                            .arg(look.rising)
                            .arg(shift.x())
                            .arg(shift.y());
    QPixmap tile;
    if (QPixmapCache::find(key, &tile))
        return tile;
    tile = QPixmap(size, size);
    tile.fill(look.ground);
    QPainter painter(&tile);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.translate(shift);
    drawLines(&painter, QRectF(-size, -size, 3 * size, 3 * size), look);
    painter.end();
    QPixmapCache::insert(key, tile);
    return tile;
}

} // namespace

ChartTheme ChartTheme::from(const QPalette &palette, const QFont &font)
{
    ChartTheme theme;
    theme.background = palette.color(QPalette::Active, QPalette::Base);
    theme.text = readableOn(palette.color(QPalette::Active, QPalette::Text), theme.background);
    theme.muted = readableOn(blend(theme.text, theme.background, 0.35), theme.background);
    theme.grid = blend(theme.background, theme.text, 0.12);
    theme.warning = readableOn(overLimitColour(), theme.background);
    theme.cache = cacheColour(palette);
    theme.outside = outsideColour(palette);
    theme.font = font;
    theme.small = scaled(font, 0.92);
    theme.bold = font;
    theme.bold.setBold(true);
    return theme;
}

QColor blend(const QColor &a, const QColor &b, double share)
{
    const auto part = [share](double x, double y) { return static_cast<float>(x + (y - x) * share); };
    return QColor::fromRgbF(part(a.redF(), b.redF()), part(a.greenF(), b.greenF()), part(a.blueF(), b.blueF()));
}

QVector<QLineF> hatchLines(const QRectF &area, double spacing, bool rising)
{
    QVector<QLineF> lines;
    if (area.width() <= 0 || area.height() <= 0 || spacing <= 0)
        return lines;
    const double left = area.left(), right = area.right(), top = area.top(), bottom = area.bottom();
    // Rising: x + y = c. Falling: x - y = c. Multiples of the spacing keep the lines in place while the area grows.
    const double first = rising ? left + top : left - bottom;
    const double last = rising ? right + bottom : right - top;
    for (double c = std::ceil(first / spacing) * spacing; c < last; c += spacing) {
        const double from = rising ? std::max(left, c - bottom) : std::max(left, c + top);
        const double to = rising ? std::min(right, c - top) : std::min(right, c + bottom);
        if (to > from)
            lines.append(rising ? QLineF(from, c - from, to, c - to) : QLineF(from, from - c, to, to - c));
    }
    return lines;
}

void drawHatch(QCPPainter *painter, const QRectF &area, Hatch hatch, const ChartTheme &theme)
{
    const HatchLook look = lookOf(hatch, theme);
    painter->save();
    const QTransform &place = painter->transform();
    // On the screen the same piece again and again: strokes take longer than all else in a bar.
    if (!painter->modes().testFlag(QCPPainter::pmVectorized) && painter->testRenderHint(QPainter::Antialiasing) &&
        place.type() <= QTransform::TxTranslate && painter->device()->devicePixelRatio() == 1) {
        const QPointF shift(place.dx() - std::floor(place.dx()), place.dy() - std::floor(place.dy()));
        painter->setBrushOrigin(-shift);
        painter->fillRect(area, QBrush(tileOf(look, shift)));
    } else {
        painter->fillRect(area, look.ground);
        drawLines(painter, area, look);
    }
    painter->restore();
}

} // namespace headroom
