// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/chart_theme.h"

#include "ui/palette.h"

#include <QPainter>

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

void drawHatch(QPainter *painter, const QRectF &area, Hatch hatch, const ChartTheme &theme)
{
    painter->save();
    QColor colour;
    QColor ground = theme.background;
    double width = 1.0;
    double spacing = 6.0;
    bool rising = true;
    switch (hatch) {
    case Hatch::Cache:
        colour = theme.cache;
        ground = blend(theme.background, colour, 0.12);
        break;
    case Hatch::Outside:
        colour = theme.outside;
        ground = blend(theme.background, colour, 0.25);
        rising = false;
        spacing = 4.5;
        break;
    case Hatch::OverLimit:
        colour = overLimitColour();
        ground = blend(theme.background, colour, 0.25);
        width = 3.0;
        spacing = 8.0;
        break;
    }
    painter->fillRect(area, ground);
    painter->setPen(QPen(colour, width, Qt::SolidLine, Qt::FlatCap));
    painter->drawLines(hatchLines(area, spacing, rising));
    painter->restore();
}

} // namespace headroom
