// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"
#include "ui/charts/chart_widget.h"
#include "ui/charts/memory_stack.h"
#include "ui/measured/measured_marks.h"

#include <memory>
#include <optional>
#include <vector>

class QScrollBar;

namespace headroom {

class LegendElement;
class MemoryBars;
class MemoryTable;

/// Where one part of a bar has been drawn, in the plot's pixels.
struct BarShape {
    enum class Kind { Component, Cache, Outside, OverLimit, Outline, Ghost, Measured };
    Kind kind = Kind::Component;
    std::size_t bar = 0;                ///< index of the GPU
    std::optional<Component> component; ///< Component and Ghost only
    QRectF area;
    Bytes bytes = {}; ///< Measured only
};

/// The product's face: a stacked bar for each selected GPU inside an outline as tall as the GPU's memory. From the bottom
/// the five components, hatched cache (reserved - allocated) and what is outside PyTorch (device - reserved); what rises
/// above the outline is hatched as a warning. Beside each bar stands a pinned baseline as a narrow ghost. The legend on
/// the left carries the values of the first GPU. Without a GPU there is one bar and no outline.
class MemoryChart : public ChartWidget
{
    Q_OBJECT
public:
    MemoryChart(DisplaySettings *settings, Highlight *highlight, QWidget *parent = nullptr);
    ~MemoryChart() override;

    /// Null: nothing is known, the chart is empty and says so.
    void setEstimate(std::shared_ptr<const Estimate> estimate);
    /// The pinned plan to compare with; null: none.
    void setBaseline(std::shared_ptr<const Estimate> baseline);
    /// What a run measured, marked on its GPU's bar; nullopt: nothing.
    void setMeasured(const std::optional<MeasuredMarks> &measured);
    /// Which step's peak is shown. Steady state is the default.
    void setStep(Estimate::Step step);
    Estimate::Step step() const { return m_step; }

    QAbstractTableModel *table() const override;
    /// As drawn last; what hit tests use.
    const std::vector<BarShape> &shapes() const;
    const std::vector<MemoryBar> &bars() const { return m_bars; }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

signals:
    /// The pointer has entered a component's segment or legend row, or left them all.
    void hovered(std::optional<Component> component);
    void clicked(Component component);

protected:
    void restyle() override;
    void resizeEvent(QResizeEvent *event) override;
    void keyPressEvent(QKeyEvent *event) override;
    void wheelEvent(QWheelEvent *event) override;

private:
    void rebuild();
    void relabel();
    void fitAxes(QSize size);
    void pointAt(QPointF position);
    void setHovered(std::optional<Component> component);
    std::optional<Component> componentAt(QPointF position) const;
    QString toolTip(QPointF position) const;
    QString partText(std::size_t bar, const QString &part, Bytes bytes, std::optional<Bytes> baseline) const;

    std::shared_ptr<const Estimate> m_estimate, m_baseline;
    Estimate::Step m_step = Estimate::Step::Steady;
    std::vector<MemoryBar> m_bars;
    std::optional<MeasuredMarks> m_measured;
    std::optional<Component> m_hovered;
    LegendElement *m_legend;
    MemoryBars *m_drawing;
    QScrollBar *m_scroll;
    std::unique_ptr<MemoryTable> m_table;
};

} // namespace headroom
