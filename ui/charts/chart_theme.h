// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QColor>
#include <QFont>
#include <QLineF>
#include <QPalette>
#include <QRectF>
#include <QVector>

class QCPPainter;

namespace headroom {

/// Colours and fonts of a chart, taken from the widget's palette and font: QCustomPlot follows neither by itself.
struct ChartTheme {
    QColor background; ///< the palette's Base
    QColor text;       ///< on background, at least 4.5:1
    QColor muted;      ///< secondary text, at least 4.5:1 too
    QColor grid;
    QColor warning; ///< text about what is over the limit, at least 4.5:1
    QColor cache;   ///< lines of the hatches
    QColor outside;
    QFont font, small, bold;

    static ChartTheme from(const QPalette &palette, const QFont &font);
};

/// `a` moved towards `b` by `share` (0: a, 1: b).
QColor blend(const QColor &a, const QColor &b, double share);

/// For text in a rectangle as wide as the text was measured: on paper letters are a hair wider, and the last one would be cut.
inline constexpr int wholeText = Qt::TextDontClip;

/// What each hatch means, apart by direction and density: no two look alike without colour.
enum class Hatch { Cache, Outside, OverLimit };

/// The hatch's lines within `area`, cut at its edges, so that no painter needs to clip (QSvgGenerator cannot).
QVector<QLineF> hatchLines(const QRectF &area, double spacing, bool rising);
/// Fills `area` with the background and the hatch. In print and in pictures that are scaled lines, not a pattern brush: sharp at
/// any scale.
void drawHatch(QCPPainter *painter, const QRectF &area, Hatch hatch, const ChartTheme &theme);

} // namespace headroom
