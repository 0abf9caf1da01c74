// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"
#include "ui/charts/chart_theme.h"

#include <qcustomplot.h>

#include <optional>
#include <vector>

namespace headroom {

class DisplaySettings;

/// What is written on a timeline: the limit of the GPU, the borders of the phases, the peak, and that the axis does not
/// start at zero where it does not.
class TimelineMarks : public QCPLayerable
{
    Q_OBJECT
public:
    TimelineMarks(QCustomPlot *plot, const QString &layer);

    struct Peak {
        double event = 0, height = 0; ///< in the axes' units
        QString label;
    };
    ChartTheme theme;
    std::optional<double> limit; ///< capacity, in the axis' unit
    double usable = 0;           ///< of the limit, what PyTorch can have
    std::vector<double> borders; ///< events
    std::optional<Peak> peak;
    /// A measured peak of a phase, over the phase's events.
    struct Measured {
        double from = 0, to = 0, height = 0; ///< in the axes' units
    };
    std::vector<Measured> measured;
    QString axisNote;  ///< empty: the axis starts at zero
    QString emptyText; ///< in place of everything where there is no timeline

protected:
    void draw(QCPPainter *painter) override;
    void applyDefaultAntialiasingHint(QCPPainter *painter) const override;
    QRect clipRect() const override;

private:
    void drawPeak(QCPPainter *painter) const;
    void drawMeasured(QCPPainter *painter) const;
};

/// The crosshair with its list; on a layer of its own, so that moving it does not draw the areas anew.
class TimelineOverlay : public QCPLayerable
{
    Q_OBJECT
public:
    explicit TimelineOverlay(QCustomPlot *plot);

    struct Row {
        Component component = Component::Temporary;
        QString label, size;
    };
    ChartTheme theme;
    std::optional<double> event; ///< unset: no crosshair
    double height = 0;           ///< allocated there
    QString title, totals;
    QString measured;      ///< empty: no snapshot lies there
    std::vector<Row> rows; ///< largest first; as many are drawn as fit
    std::optional<Component> emphasised;
    QString more; ///< "and %1 more" with its place for the number

protected:
    void draw(QCPPainter *painter) override;
    void applyDefaultAntialiasingHint(QCPPainter *painter) const override;
    QRect clipRect() const override;
};

} // namespace headroom
