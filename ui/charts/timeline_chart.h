// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"
#include "core/measure/snapshot_overlay.h"
#include "ui/charts/chart_widget.h"
#include "ui/charts/timeline_ghost.h"
#include "ui/measured/measured_marks.h"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

class QCPGraph;

namespace headroom {

class BandStrip;
class LineLegend;
class TimelineMarks;
class TimelineOverlay;
class TimelineTable;

/// The GPU whose memory is drawn as a limit.
struct TimelineLimit {
    QString title;
    Bytes capacity;
    Bytes outside; ///< of the capacity not PyTorch's: context and libraries
};

/// A memory snapshot that is laid over the step.
struct TimelineSnapshot {
    QString name;
    std::shared_ptr<const MemoryTimeline> timeline;
    std::vector<ProbeMark> marks; ///< of the run in which it was recorded; empty: not known
};

/// One step of training, event by event: allocated as stacked areas by component, reserved and the first GPU's capacity as
/// lines, phases (and, zoomed in, layers) as bands above, the peak marked. A crosshair lists what is alive, largest first.
/// The wheel zooms, with Ctrl the memory axis; dragging pans; a double click shows all again. By keyboard: arrows move the
/// crosshair, plus and minus zoom, Page Up and Down pan, Home resets.
class TimelineChart : public ChartWidget
{
    Q_OBJECT
public:
    /// The samples of events [from, to), at most `samples`.
    using Source = std::function<Timeline(std::size_t samples, std::uint32_t from, std::uint32_t to)>;
    /// What is alive after an event, largest first.
    using AliveSource = std::function<std::vector<AliveTensor>(std::uint32_t event)>;

    TimelineChart(DisplaySettings *settings, Highlight *highlight, QWidget *parent = nullptr);
    ~TimelineChart() override;

    /// Null: nothing is known.
    void setEstimate(std::shared_ptr<const Estimate> estimate);
    void setStep(Estimate::Step step);
    /// The pinned plan, whose allocated memory is drawn as a line over the areas; null: none.
    void setBaseline(std::shared_ptr<const Estimate> baseline);
    /// What a run measured: the highest of each phase is marked; nullopt: nothing.
    void setMeasured(const std::optional<MeasuredMarks> &measured);
    /// The marks as they lie over the events: phase, allocated.
    std::vector<std::pair<Phase, Bytes>> measuredMarks() const;
    /// A recorded memory snapshot, drawn as lines over the step; nullopt: none.
    void setSnapshot(std::optional<TimelineSnapshot> snapshot);
    /// The snapshot as it lies over the step.
    const SnapshotOverlay &snapshotOverlay() const { return m_overlaid; }
    /// Where the figures come from; setEstimate() does this with the estimate's own.
    void setSources(Source timeline, AliveSource alive, std::optional<TimelineLimit> limit);

    QAbstractTableModel *table() const override;

    /// The baseline's line as it lies over the events; empty: no baseline.
    const std::vector<GhostPoint> &ghost() const { return m_ghost; }
    /// Events on screen, as far as they exist.
    double firstVisibleEvent() const { return m_from; }
    double lastVisibleEvent() const { return m_to; }
    void showEvents(double from, double to);
    /// The memory axis, in bytes. It starts above zero where what never changes would press all else flat; the chart says so.
    double lowestVisible() const;
    double highestVisible() const;
    void resetView();
    const Timeline &shown() const { return m_timeline; }

    std::optional<std::uint32_t> crosshairEvent() const { return m_crosshair; }
    /// Puts the crosshair on the sample that stands for an event; nullopt: away.
    void setCrosshair(std::optional<double> event);
    /// The crosshair's list as text, for a screen reader and the clipboard.
    QString crosshairText() const;

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

signals:
    void hovered(std::optional<Component> component);

protected:
    void restyle() override;
    void keyPressEvent(QKeyEvent *event) override;

private:
    void fetch(QSize size);
    void fetchBaseline();
    void laySnapshot();
    /// What was measured in the stretch of a sample; nothing where nothing lies over it.
    std::optional<OverlayPoint> measuredAt(std::size_t sample) const;
    void fillGraphs();
    void fillSnapshot();
    void recolour();
    void relabel();
    void wheel(QWheelEvent *event);
    void press(QMouseEvent *event);
    void move(QMouseEvent *event);
    void release(QMouseEvent *event);
    void zoom(double factor, double around);
    void zoomMemory(double factor, double around);
    void setMemoryRange(double from, double to);
    void setHovered(std::optional<Component> component);
    std::optional<Component> componentAt(QPointF position) const;
    std::optional<std::size_t> sampleAt(double event) const;
    double memoryTop() const;
    double memoryBase() const;

    std::shared_ptr<const Estimate> m_estimate, m_baseline;
    Estimate::Step m_step = Estimate::Step::Steady;
    Source m_source;
    AliveSource m_aliveSource;
    std::optional<TimelineLimit> m_limit;
    Timeline m_timeline;
    Timeline m_baselineTimeline; ///< of the whole step, whatever is on screen
    std::vector<GhostPoint> m_ghost;
    std::optional<MeasuredMarks> m_measured;
    std::optional<TimelineSnapshot> m_snapshot;
    SnapshotOverlay m_overlaid;  ///< of m_snapshot, over the whole step
    bool m_stale = false;        ///< m_timeline is of an older estimate or range
    std::vector<double> m_edges; ///< where each sample's stretch begins
    std::size_t m_fetchedSamples = 0;
    double m_from = 0, m_to = 0;
    double m_memoryFrom = 0, m_memoryTo = 0; ///< bytes; equal: automatic
    std::optional<std::uint32_t> m_crosshair;
    std::vector<AliveTensor> m_alive;
    std::optional<Component> m_hovered;
    std::optional<QPointF> m_dragFrom;
    bool m_hasDragged = false;
    double m_dragFirst = 0, m_dragLowest = 0;

    std::array<QCPGraph *, componentCount> m_areas{};
    QCPGraph *m_reserved, *m_baselineLine;
    QCPGraph *m_snapshotHalo, *m_snapshotAllocated, *m_snapshotReserved;
    BandStrip *m_phases, *m_layers;
    LineLegend *m_legend;
    TimelineMarks *m_borders; ///< behind the areas, which a border would cut where the peak is
    TimelineMarks *m_marks;
    TimelineOverlay *m_overlay;
    std::unique_ptr<TimelineTable> m_table;
};

} // namespace headroom
