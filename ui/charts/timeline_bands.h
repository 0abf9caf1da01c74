// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"
#include "ui/charts/chart_theme.h"

#include <qcustomplot.h>

#include <vector>

namespace headroom {

/// Named stretches of the step side by side above the axes whose key axis they share: phases, or layers.
class BandStrip : public QCPLayoutElement
{
    Q_OBJECT
public:
    explicit BandStrip(QCustomPlot *plot);

    void setTheme(const ChartTheme &theme);
    struct Band {
        QString label, shortLabel; ///< the short one where the other does not fit
        double from = 0, to = 0;
    };
    void setBands(std::vector<Band> bands);
    const std::vector<Band> &bands() const { return m_bands; }
    const Band *bandAt(QPointF position) const;
    /// Takes no room at all while false.
    void setShown(bool shown);

protected:
    void draw(QCPPainter *painter) override;

private:
    QRectF area(const Band &band) const;

    ChartTheme m_theme;
    std::vector<Band> m_bands;
    bool m_isShown = true;
};

/// The key to areas and lines in one line below the axes.
class LineLegend : public QCPLayoutElement
{
    Q_OBJECT
public:
    explicit LineLegend(QCustomPlot *plot);

    struct Entry {
        enum class Kind { Area, Dashed, Dotted, DashDotted, Solid, Note };
        Kind kind = Kind::Area;
        QColor colour;
        QString label;
    };
    void setTheme(const ChartTheme &theme);
    void setEntries(std::vector<Entry> entries);
    /// Height for this width: entries wrap.
    void fit(int width);

protected:
    void draw(QCPPainter *painter) override;

private:
    double widthOf(const Entry &entry) const;

    ChartTheme m_theme;
    std::vector<Entry> m_entries;
};

} // namespace headroom
