// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"

#include <QColor>
#include <QPalette>
#include <QString>

namespace headroom {

// Okabe and Ito's palette (jfly.uni-koeln.de/color), which any colour vision can tell apart. A colour never stands alone:
// order, label or hatch says the same.

/// The fill of a component, the same in light and dark.
QColor componentColour(Component component);
/// Hatch of what lies above a GPU's capacity.
QColor overLimitColour();
/// Hatches of cache (reserved - allocated) and of what is outside PyTorch, readable on this palette's base colour.
QColor cacheColour(const QPalette &palette);
QColor outsideColour(const QPalette &palette);

/// "Weights", for people, in the program's language.
QString componentLabel(Component component);

/// WCAG 2.1 contrast ratio of two opaque colours, 1 to 21.
double contrastRatio(const QColor &a, const QColor &b);
/// Black or white, whichever reads better on this background: at least 4.5:1 on every colour.
QColor textOver(const QColor &background);
/// `wanted` moved towards black or white until it has `ratio` on `background`, for coloured text.
QColor readableOn(const QColor &wanted, const QColor &background, double ratio = 4.5);

/// Qt before 6.5 does not say whether the system is dark: the palette does.
bool isDark(const QPalette &palette);

} // namespace headroom
