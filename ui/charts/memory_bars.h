// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/charts/chart_theme.h"
#include "ui/charts/font_lines.h"
#include "ui/charts/memory_chart.h"
#include "ui/charts/memory_stack.h"

#include <qcustomplot.h>

#include <optional>
#include <span>
#include <vector>

namespace headroom {

class DisplaySettings;

/// Draws the bars of a MemoryChart within the plot's axes (y: GiB or GB), and remembers where.
class MemoryBars : public QCPLayerable
{
    Q_OBJECT
public:
    MemoryBars(QCustomPlot *plot, const DisplaySettings *settings);

    void setTheme(const ChartTheme &theme);
    void setEmphasised(std::optional<Component> component) { m_emphasised = component; }
    /// `bars` outlive the drawing; of them `count` from `first` on are drawn (scrolling).
    void setBars(std::span<const MemoryBar> bars, std::size_t first, std::size_t count);

    /// Measured peaks are marked on this bar; nullopt: on none.
    void setMeasured(std::optional<std::size_t> bar, const MeasuredStep &measured)
    {
        m_markedBar = bar;
        m_measured = measured;
    }
    std::optional<std::size_t> markedBar() const { return m_markedBar; }

    const std::vector<BarShape> &shapes() const { return m_shapes; }
    /// The bar at x, whatever the height.
    std::optional<std::size_t> barAt(double x) const;

    /// The GPU's verdict in words, with the figures of the sentence that stands above the chart. `form`: 0 whole, with the
    /// step that decides where it is not the one shown; 1 short; 2 the number alone. Empty without a GPU.
    QString verdictText(const MemoryBar &bar, int form) const;
    /// Written where there are no bars.
    void setEmptyText(const QString &text) { m_emptyText = text; }

    /// Pixels above the highest outline that the GPU's names take, for a chart this wide.
    double titleHeight(double plotWidth) const;
    /// Pixels below the axis for verdict and total.
    double footerHeight() const;
    /// Below this width a bar cannot be read.
    double minimumSlotWidth() const;

protected:
    void draw(QCPPainter *painter) override;
    void applyDefaultAntialiasingHint(QCPPainter *painter) const override;

private:
    struct Slot; // where things of one bar stand
    struct Segment {
        BarShape::Kind kind = BarShape::Kind::Component;
        std::optional<Component> component;
        Bytes bytes;
        QRectF area;
    };
    Slot slotOf(std::size_t bar) const;
    double slotWidth() const;
    double pixel(Bytes height) const;
    QColor fill(Component component, bool ghost) const;
    QString label(const Segment &segment, bool isShort) const;
    QStringList titleLines(const MemoryBar &bar, double width) const;
    std::vector<Segment> segments(const MemoryStack &stack, double left, double width) const;
    bool isThin(const Segment &segment) const;
    bool wantsLeader(const Segment &segment) const;
    void measureLeaders();

    void drawBar(QCPPainter *painter, std::size_t index);
    /// `limit`: the pixel of the GPU's capacity, above which the hatch lies.
    void drawSegment(QCPPainter *painter, const Segment &segment, double limit) const;
    void drawLeaders(QCPPainter *painter, const std::vector<Segment> &segments, const Slot &slot, double titleRight,
                     double titleBottom) const;
    void drawGhost(QCPPainter *painter, std::size_t index, const Slot &slot, double titleBottom);
    void drawMeasured(QCPPainter *painter, std::size_t index, const Slot &slot);
    void drawFooter(QCPPainter *painter, const MemoryBar &bar, const Slot &slot) const;

    const DisplaySettings *m_settings;
    ChartTheme m_theme;
    FontLines m_normal, m_small, m_bold; ///< lines in the theme's fonts
    std::optional<Component> m_emphasised;
    std::span<const MemoryBar> m_bars;
    std::size_t m_first = 0, m_count = 0;
    bool m_hasBaseline = false;
    double m_leaderWidth = 0; ///< 0: no room, or nothing to say
    int m_footerForm = 0;     ///< of verdictText()
    std::optional<std::size_t> m_markedBar;
    MeasuredStep m_measured;
    QString m_emptyText;
    std::vector<BarShape> m_shapes;
};

} // namespace headroom
