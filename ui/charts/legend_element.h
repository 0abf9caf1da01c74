// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"
#include "ui/charts/chart_theme.h"
#include "ui/charts/font_lines.h"

#include <qcustomplot.h>

#include <optional>
#include <vector>

namespace headroom {

struct LegendRow {
    enum class Swatch { None, Component, Cache, Outside, OverLimit };
    Swatch swatch = Swatch::None;
    std::optional<Component> component;
    QString label;
    QString value;      ///< right-aligned
    QString difference; ///< against the baseline, right-aligned
    QString toolTip;
    bool isTotal = false; ///< bold, below a rule where the row above is none
};

/// A legend that is a table: swatch, name, value, difference. Part of the plot's layout beside the axes, never over them,
/// and so part of every picture and print.
class LegendElement : public QCPLayoutElement
{
    Q_OBJECT
public:
    explicit LegendElement(QCustomPlot *plot);

    void setTheme(const ChartTheme &theme);
    void setTitle(const QString &title, const QString &subtitle);
    /// Columns grow with their texts but do not shrink below `widest`, so that nothing moves while a slider is dragged.
    void setRows(std::vector<LegendRow> rows, const QString &widestValue);
    void setEmphasised(std::optional<Component> component) { m_emphasised = component; }
    const std::vector<LegendRow> &rows() const { return m_rows; }

    /// The row at a point of the plot, or null.
    const LegendRow *rowAt(QPointF position) const;
    QRectF rowArea(std::size_t row) const;
    int neededHeight() const;

protected:
    void draw(QCPPainter *painter) override;

private:
    void measure();
    double rowHeight() const;
    double top() const;

    ChartTheme m_theme;
    FontLines m_normal, m_bold; ///< lines in the theme's fonts
    QString m_title, m_subtitle, m_widestValue;
    std::vector<LegendRow> m_rows;
    std::optional<Component> m_emphasised;
    double m_labelWidth = 0, m_valueWidth = 0, m_differenceWidth = 0;
};

} // namespace headroom
