// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/timeline_chart.h"

#include "ui/charts/phase_label.h"
#include "ui/charts/plot.h"
#include "ui/charts/timeline_bands.h"
#include "ui/charts/timeline_marks.h"
#include "ui/charts/timeline_table.h"
#include "ui/display_settings.h"
#include "ui/highlight.h"
#include "ui/palette.h"

#include <QMouseEvent>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace headroom {
TimelineChart::TimelineChart(DisplaySettings *displaySettings, Highlight *highlight, QWidget *parent)
    : ChartWidget(displaySettings, highlight, parent)
    , m_reserved(nullptr)
    , m_baselineLine(nullptr)
    , m_snapshotHalo(nullptr)
    , m_snapshotAllocated(nullptr)
    , m_snapshotReserved(nullptr)
    , m_phases(new BandStrip(plot()))
    , m_layers(new BandStrip(plot()))
    , m_legend(new LineLegend(plot()))
    , m_borders(new TimelineMarks(plot(), QLatin1String("grid")))
    , m_marks(new TimelineMarks(plot(), QLatin1String("axes")))
    , m_overlay(new TimelineOverlay(plot()))
    , m_table(std::make_unique<TimelineTable>(displaySettings))
{
    QCPAxisRect *axes = plot()->axisRect();
    QCPLayoutGrid *layout = plot()->plotLayout();
    layout->take(axes);
    layout->simplify();
    layout->setRowSpacing(0);
    layout->addElement(0, 0, m_phases);
    layout->addElement(1, 0, m_layers);
    layout->addElement(2, 0, axes);
    layout->addElement(3, 0, m_legend);
    auto *margins = new QCPMarginGroup(plot());
    for (QCPLayoutElement *element : {static_cast<QCPLayoutElement *>(m_phases), static_cast<QCPLayoutElement *>(m_layers),
                                      static_cast<QCPLayoutElement *>(axes), static_cast<QCPLayoutElement *>(m_legend)})
        element->setMarginGroup(QCP::msLeft | QCP::msRight, margins);
    axes->setAutoMargins(QCP::msLeft | QCP::msRight | QCP::msBottom);
    axes->setMargins(QMargins(0, 2, 0, 0));
    axes->setMinimumMargins(QMargins(0, 2, 12, 0));
    plot()->xAxis->grid()->setVisible(false);
    plot()->xAxis->setSubTicks(false);
    plot()->xAxis->setNumberFormat(QLatin1String("f"));
    plot()->xAxis->setNumberPrecision(0);
    plot()->yAxis->setSubTicks(false);

    // The highest area first: each lies over the part of the one before that is not its own.
    for (std::size_t i = componentCount; i-- > 0;) {
        m_areas[i] = plot()->addGraph();
        m_areas[i]->setLineStyle(QCPGraph::lsStepLeft);
        m_areas[i]->setPen(Qt::NoPen);
        m_areas[i]->setAdaptiveSampling(false);
        m_areas[i]->setAntialiasedFill(false);
    }
    m_reserved = plot()->addGraph();
    m_reserved->setLineStyle(QCPGraph::lsStepLeft);
    m_reserved->setAdaptiveSampling(false);
    m_baselineLine = plot()->addGraph();
    m_baselineLine->setLineStyle(QCPGraph::lsStepLeft);
    m_baselineLine->setAdaptiveSampling(false);
    // A halo of the background's colour keeps the line in sight over every area.
    for (QCPGraph **line : {&m_snapshotReserved, &m_snapshotHalo, &m_snapshotAllocated}) {
        *line = plot()->addGraph();
        (*line)->setLineStyle(QCPGraph::lsStepLeft);
        (*line)->setAdaptiveSampling(false);
    }

    plot()->beforeLayout = [this](QSize size) { fetch(size); };
    plot()->toolTipAt = [this](QPoint position) {
        for (const BandStrip *strip : {m_phases, m_layers}) {
            if (const BandStrip::Band *band = strip->bandAt(position))
                return tr("%1: events %2 to %3")
                    .arg(band->label, locale().toString(band->from, 'f', 0), locale().toString(band->to - 1, 'f', 0));
        }
        return QString();
    };
    connect(plot(), &QCustomPlot::mouseWheel, this, &TimelineChart::wheel);
    connect(plot(), &QCustomPlot::mousePress, this, &TimelineChart::press);
    connect(plot(), &QCustomPlot::mouseMove, this, &TimelineChart::move);
    connect(plot(), &QCustomPlot::mouseRelease, this, &TimelineChart::release);
    connect(plot(), &QCustomPlot::mouseDoubleClick, this, &TimelineChart::resetView);
    connect(plot(), &Plot::mouseLeft, this, [this] {
        setCrosshair(std::nullopt);
        setHovered(std::nullopt);
    });
    connect(displaySettings, &DisplaySettings::changed, this, [this] {
        fillGraphs();
        fillSnapshot();
        relabel();
        redraw();
    });
    connect(highlight, &Highlight::changed, this, [this] {
        recolour();
        redraw();
    });
    restyle();
}

TimelineChart::~TimelineChart() = default;

void TimelineChart::setEstimate(std::shared_ptr<const Estimate> estimate)
{
    if (estimate && estimate == m_estimate && m_source)
        return;
    m_estimate = std::move(estimate);
    if (!m_estimate) {
        setSources({}, {}, std::nullopt);
        return;
    }
    std::optional<TimelineLimit> limit;
    if (!m_estimate->gpus.empty()) {
        const GpuEstimate &gpu = m_estimate->gpus.front();
        limit = TimelineLimit{QString::fromStdString(gpu.name), gpu.capacity, gpu.device - gpu.reserved};
    }
    setSources([of = m_estimate, step = m_step](std::size_t samples, std::uint32_t from,
                                                std::uint32_t to) { return of->timeline(step, samples, from, to); },
               [of = m_estimate, step = m_step](std::uint32_t event) { return of->alive(step, event); }, limit);
}

void TimelineChart::setStep(Estimate::Step step)
{
    if (step == m_step)
        return;
    m_step = step;
    m_source = {};
    fetchBaseline();
    setEstimate(m_estimate);
}

void TimelineChart::setMeasured(const std::optional<MeasuredMarks> &measured)
{
    if (measured == m_measured)
        return;
    m_measured = measured;
    relabel();
    redraw();
}

std::vector<std::pair<Phase, Bytes>> TimelineChart::measuredMarks() const
{
    std::vector<std::pair<Phase, Bytes>> marks;
    if (!m_measured || !m_estimate)
        return marks;
    for (std::size_t p = 0; p < phaseCount; ++p)
        if (const std::optional<Bytes> &bytes = m_measured->of(m_step).phases[p]; bytes && static_cast<Phase>(p) != Phase::Load)
            marks.emplace_back(static_cast<Phase>(p), *bytes);
    return marks;
}

void TimelineChart::setBaseline(std::shared_ptr<const Estimate> baseline)
{
    if (baseline == m_baseline)
        return;
    m_baseline = std::move(baseline);
    fetchBaseline();
    m_stale = true;
    redraw();
}

void TimelineChart::setSnapshot(std::optional<TimelineSnapshot> snapshot)
{
    if (!snapshot && !m_snapshot)
        return;
    m_snapshot = std::move(snapshot);
    m_stale = true;
    redraw();
}

void TimelineChart::laySnapshot()
{
    m_overlaid = m_snapshot ? layOver(m_timeline, m_step, *m_snapshot->timeline, m_snapshot->marks) : SnapshotOverlay{};
    std::vector<std::optional<OverlayPoint>> measured;
    if (!m_overlaid.points.empty())
        for (std::size_t sample = 0; sample < m_timeline.samples.size(); ++sample)
            measured.push_back(measuredAt(sample));
    m_table->setMeasured(std::move(measured));
}

std::optional<OverlayPoint> TimelineChart::measuredAt(std::size_t sample) const
{
    const auto &points = m_overlaid.points;
    if (points.empty() || sample >= m_edges.size())
        return std::nullopt;
    const double from = m_edges[sample];
    const double to = sample + 1 < m_edges.size() ? m_edges[sample + 1] : std::max(m_to, from + 1);
    // The one before the stretch holds into it; then the highest within.
    auto at =
        std::upper_bound(points.begin(), points.end(), from, [](double event, const OverlayPoint &point) { return event < point.event; });
    std::optional<OverlayPoint> highest;
    if (at != points.begin())
        highest = *std::prev(at);
    // Before a gap nothing holds.
    if (highest && at != points.end() && at->begins && highest->event < from)
        highest.reset();
    for (; at != points.end() && at->event < to; ++at) {
        if (!highest)
            highest = *at;
        highest->allocated = std::max(highest->allocated, at->allocated);
        highest->reserved = std::max(highest->reserved, at->reserved);
    }
    return highest;
}

void TimelineChart::fetchBaseline()
{
    constexpr std::size_t samples = 2000; // enough for a wide screen, and for a part of the step
    m_baselineTimeline = m_baseline ? m_baseline->timeline(m_step, samples) : Timeline{};
}

void TimelineChart::setSources(Source timeline, AliveSource alive, std::optional<TimelineLimit> limit)
{
    m_source = std::move(timeline);
    m_aliveSource = std::move(alive);
    m_limit = std::move(limit);
    m_stale = true;
    setCrosshair(std::nullopt);
    redraw();
}

QAbstractTableModel *TimelineChart::table() const
{
    // Whoever asks for the figures gets those of the estimate that was set, drawn or not.
    if (m_stale)
        const_cast<TimelineChart *>(this)->fetch(plot()->size());
    return m_table.get();
}

void TimelineChart::fetch(QSize size)
{
    const auto samples = std::size_t(std::max(300, size.width()));
    // A wider picture needs more; a little more room does not.
    if (m_stale || samples > m_fetchedSamples * 5 / 4) {
        const std::uint32_t before = m_timeline.events;
        const bool isWhole = m_to <= m_from || before == 0 || (m_from <= 0 && m_to >= before);
        if (!m_source) {
            m_timeline = {};
        } else if (isWhole) {
            m_timeline = m_source(samples, 0, UINT32_MAX);
        } else {
            m_timeline = m_source(samples, std::uint32_t(std::max(0.0, std::floor(m_from))), std::uint32_t(std::ceil(m_to)));
            // Another step: the old part of it means nothing.
            if (m_timeline.events != before)
                m_timeline = m_source(samples, 0, UINT32_MAX);
        }
        if (isWhole || m_timeline.events != before) {
            m_from = 0;
            m_to = m_timeline.events;
        }
        m_stale = false;
        m_fetchedSamples = samples;
        m_table->setSamples(m_timeline.samples);
        m_ghost = ghostOver(m_timeline, m_baselineTimeline);
        fillGraphs();
        laySnapshot();
        fillSnapshot();
        relabel();
    }
    // Layers have names where at least a number fits over each.
    const double width = std::max(1, size.width() - 60);
    const bool isZoomed = m_to - m_from < 0.999 * m_timeline.events;
    double widest = 0;
    for (const TimelineBand &layer : m_timeline.layers)
        widest = std::max(widest, (layer.to - layer.from) * width / std::max(1.0, m_to - m_from));
    m_layers->setShown(isZoomed && widest > QFontMetricsF(theme().font).height() * 1.6);
    m_legend->fit(size.width() - 70);
    for (QCPAxis *axis : {plot()->xAxis, plot()->yAxis})
        axis->setVisible(m_timeline.events > 0);
    plot()->xAxis->setRange(m_from, std::max(m_to, m_from + 1));
    const double unit = settings().gigaBytes();
    plot()->yAxis->setRange(lowestVisible() / unit, highestVisible() / unit);
    const Bytes lowest{std::llround(plot()->yAxis->range().lower * unit)};
    m_marks->axisNote = lowest.value > 0 ? tr("The axis starts at %1").arg(settings().bytes(lowest, 1)) : QString();
}

double TimelineChart::lowestVisible() const { return m_memoryTo > m_memoryFrom ? m_memoryFrom : memoryBase(); }

double TimelineChart::highestVisible() const { return m_memoryTo > m_memoryFrom ? m_memoryTo : memoryTop(); }

double TimelineChart::memoryTop() const
{
    std::int64_t highest = 0;
    for (const TimelineSample &sample : m_timeline.samples)
        highest = std::max({highest, sample.reserved.value, sample.components.total().value});
    for (const GhostPoint &point : m_ghost)
        highest = std::max(highest, point.allocated.value);
    highest = std::max({highest, m_overlaid.allocatedMost.value, m_overlaid.reservedMost.value});
    double top = std::max(1.0, double(highest)) * 1.1;
    // A far larger GPU would press the step flat: the legend says that its limit lies above.
    if (m_limit && double(m_limit->capacity.value) < top * 1.5)
        top = std::max(top, double(m_limit->capacity.value) * 1.06);
    return top;
}

double TimelineChart::memoryBase() const
{
    if (m_timeline.samples.empty())
        return 0;
    const double unit = settings().gigaBytes();
    const double top = memoryTop();
    double lowest = top;
    double weights = top; // the lowest area stays in sight
    for (const TimelineSample &sample : m_timeline.samples) {
        lowest = std::min(lowest, double(sample.components.total().value));
        if (sample.components.bytes[0].value > 0)
            weights = std::min(weights, double(sample.components.bytes[0].value));
    }
    for (const GhostPoint &point : m_ghost)
        lowest = std::min(lowest, double(point.allocated.value));
    for (const OverlayPoint &point : m_overlaid.points)
        lowest = std::min(lowest, double(point.allocated.value));
    lowest = std::min(lowest, weights);
    // What never changes would press what does into a strip: the axis starts at a round figure below it, and says so.
    if (lowest < 0.45 * top)
        return 0;
    const double wanted = (lowest - 0.2 * (top - lowest)) / unit;
    const double part = (top - lowest) / 4 / unit;
    const double digit = std::pow(10.0, std::floor(std::log10(part)));
    const double round = part >= 5 * digit ? 5 * digit : part >= 2 * digit ? 2 * digit : digit;
    return std::max(0.0, std::floor(wanted / round) * round * unit);
}

void TimelineChart::fillGraphs()
{
    const double unit = settings().gigaBytes();
    const std::size_t count = m_timeline.samples.size();
    std::array<QVector<QCPGraphData>, componentCount> areas;
    QVector<QCPGraphData> reserved;
    for (auto &area : areas)
        area.reserve(qsizetype(count) + 1);
    reserved.reserve(qsizetype(count) + 1);
    const auto add = [&](double event, const TimelineSample &sample) {
        Bytes height;
        for (std::size_t i = 0; i < componentCount; ++i) {
            height += sample.components.bytes[i];
            areas[i].append({event, double(height.value) / unit});
        }
        reserved.append({event, double(sample.reserved.value) / unit});
    };
    // A sample stands for its stretch: drawn from half way to its neighbours, a peak of one event is as wide as a pixel.
    m_edges.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        const double event = m_timeline.samples[i].event;
        m_edges[i] = i == 0 ? std::min(event, std::max(0.0, std::floor(m_from))) : std::ceil((event + m_timeline.samples[i - 1].event) / 2);
        add(m_edges[i], m_timeline.samples[i]);
    }
    if (count > 0)
        add(std::max(m_to, double(m_timeline.samples.back().event + 1)), m_timeline.samples.back());
    for (std::size_t i = 0; i < componentCount; ++i)
        m_areas[i]->data()->set(areas[i], true);
    m_reserved->data()->set(reserved, true);
    QVector<QCPGraphData> ghost;
    for (const GhostPoint &point : m_ghost)
        ghost.append({point.event, double(point.allocated.value) / unit});
    m_baselineLine->data()->set(ghost, true);
}

void TimelineChart::fillSnapshot()
{
    const double unit = settings().gigaBytes();
    QVector<QCPGraphData> allocated, reserved;
    for (const OverlayPoint &point : thinned(m_overlaid.points, m_from, m_to, std::max<std::size_t>(300, m_fetchedSamples))) {
        if (point.begins && !allocated.isEmpty()) { // a gap
            allocated.append({point.event, qQNaN()});
            reserved.append({point.event, qQNaN()});
        }
        allocated.append({point.event, double(point.allocated.value) / unit});
        reserved.append({point.event, double(point.reserved.value) / unit});
    }
    for (QCPGraph *line : {m_snapshotHalo, m_snapshotAllocated})
        line->data()->set(allocated, true);
    m_snapshotReserved->data()->set(reserved, true);
}

void TimelineChart::relabel()
{
    m_table->relabel();
    plot()->yAxis->setLabel(settings().gigaName());
    setAccessibleName(tr("Memory through the step"));

    std::vector<BandStrip::Band> bands;
    m_borders->borders.clear();
    for (const TimelineBand &band : m_timeline.phases) {
        QString label = QString::fromStdString(band.label);
        for (std::size_t i = 0; i < phaseCount; ++i) {
            if (band.label == name(static_cast<Phase>(i)))
                label = phaseLabel(static_cast<Phase>(i));
        }
        bands.push_back({label, {}, double(band.from), double(band.to)});
        m_borders->borders.push_back(band.from);
    }
    m_phases->setBands(std::move(bands));
    bands.clear();
    for (const TimelineBand &band : m_timeline.layers) {
        const QString label = QString::fromStdString(band.label);
        bands.push_back({label, label.section(QLatin1Char(' '), -1), double(band.from), double(band.to)});
    }
    m_layers->setBands(std::move(bands));

    m_marks->emptyText = m_timeline.events > 0 ? QString() : emptyText();
    m_marks->peak.reset();
    const TimelineSample *peak = nullptr;
    Bytes mostReserved;
    for (const TimelineSample &sample : m_timeline.samples) {
        mostReserved = std::max(mostReserved, sample.reserved);
        if (sample.event == m_timeline.peakEvent)
            peak = &sample;
    }
    QStringList sentences;
    if (peak) {
        const Bytes allocated = peak->components.total();
        const QString text = tr("Peak: %1 allocated in %2").arg(settings().bytes(allocated), phaseLabel(peak->phase));
        m_marks->peak = TimelineMarks::Peak{double(peak->event), double(allocated.value) / settings().gigaBytes(), text};
        sentences << text;
    }
    std::vector<LineLegend::Entry> entries;
    entries.push_back({LineLegend::Entry::Kind::Note, {}, tr("Across: allocations and frees in order")});
    for (Component component : allComponents)
        entries.push_back({LineLegend::Entry::Kind::Area, componentColour(component), componentLabel(component)});
    entries.push_back({LineLegend::Entry::Kind::Dashed, theme().text, tr("Reserved, up to %1").arg(settings().bytes(mostReserved))});
    if (!m_ghost.empty()) {
        Bytes most;
        for (const GhostPoint &point : m_ghost)
            most = std::max(most, point.allocated);
        const QString text = tr("Baseline: %1 allocated at its peak").arg(settings().bytes(most));
        entries.push_back({LineLegend::Entry::Kind::Dotted, theme().text, text});
        sentences << text;
    }
    if (m_snapshot && m_timeline.events > 0) {
        const QString rule = QString::fromStdString(m_overlaid.rule);
        if (m_overlaid.points.empty()) {
            const QString text = m_overlaid.isOtherStep ? tr("Snapshot %1, not drawn: %2").arg(m_snapshot->name, rule)
                                                        : tr("Snapshot %1: nothing was recorded").arg(m_snapshot->name);
            entries.push_back({LineLegend::Entry::Kind::Note, {}, text});
            sentences << text;
        } else {
            const QString allocated =
                tr("Measured: snapshot %1, %2 allocated at most").arg(m_snapshot->name, settings().bytes(m_overlaid.allocatedMost));
            const QString reserved = tr("%1 reserved at most").arg(settings().bytes(m_overlaid.reservedMost));
            entries.push_back({LineLegend::Entry::Kind::Solid, theme().text, allocated});
            entries.push_back({LineLegend::Entry::Kind::DashDotted, theme().text, tr("Measured: %1").arg(reserved)});
            entries.push_back({LineLegend::Entry::Kind::Note, {}, tr("Snapshot laid by order, not time: %1").arg(rule)});
            sentences << allocated + QLatin1String(", ") + reserved << tr("The snapshot is laid by order, not time: %1").arg(rule);
        }
    }
    m_marks->measured.clear();
    for (const std::pair<Phase, Bytes> &mark : measuredMarks()) {
        // Micro-batches are alike but for what accumulates: the last one is the highest.
        const auto band = std::find_if(m_timeline.phases.rbegin(), m_timeline.phases.rend(),
                                       [&](const TimelineBand &each) { return each.label == name(mark.first); });
        if (band != m_timeline.phases.rend())
            m_marks->measured.push_back({double(band->from), double(band->to), double(mark.second.value) / settings().gigaBytes()});
    }
    if (!m_marks->measured.empty()) {
        const QString text = tr("◆ measured, highest of each phase (%1)").arg(m_measured->run);
        entries.push_back({LineLegend::Entry::Kind::Note, {}, text});
        sentences << text;
    }
    if (m_limit) {
        const bool isAbove = double(m_limit->capacity.value) > memoryTop();
        const QString text = (isAbove ? tr("Capacity of %1, %2: above this view") : tr("Capacity of %1, %2; hatched: outside PyTorch"))
                                 .arg(m_limit->title, settings().bytes(m_limit->capacity));
        entries.push_back({LineLegend::Entry::Kind::Solid, overLimitColour(), text});
        m_marks->limit = double(m_limit->capacity.value) / settings().gigaBytes();
        m_marks->usable = double((m_limit->capacity - m_limit->outside).value) / settings().gigaBytes();
        sentences << text;
    } else {
        m_marks->limit.reset();
    }
    if (m_timeline.events == 0)
        entries.clear();
    else
        sentences << tr("Reserved, up to %1").arg(settings().bytes(mostReserved));
    m_legend->setEntries(std::move(entries));
    if (const double base = memoryBase(); base > 0)
        sentences << tr("The axis starts at %1").arg(settings().bytes({std::llround(base)}, 1));
    setAccessibleDescription(!m_source || sentences.isEmpty() ? emptyText() : sentences.join(QLatin1String(". ")));
    if (m_crosshair)
        setCrosshair(*m_crosshair);
}

void TimelineChart::restyle()
{
    const ChartTheme &look = theme();
    for (BandStrip *strip : {m_phases, m_layers})
        strip->setTheme(look);
    m_legend->setTheme(look);
    m_borders->theme = m_marks->theme = look;
    m_overlay->theme = look;
    plot()->setBackground(QBrush(look.background));
    for (QCPAxis *axis : {plot()->xAxis, plot()->yAxis}) {
        axis->setBasePen(QPen(look.muted, 1));
        axis->setTickPen(QPen(look.muted, 1));
        axis->setTickLabelFont(look.font);
        axis->setTickLabelColor(look.muted);
        axis->setLabelFont(look.small);
        axis->setLabelColor(look.muted);
        axis->grid()->setPen(QPen(look.grid, 1));
        axis->grid()->setZeroLinePen(Qt::NoPen);
    }
    m_reserved->setPen(QPen(look.text, 1.4, Qt::DashLine));
    m_baselineLine->setPen(QPen(look.text, 1.6, Qt::DotLine));
    m_snapshotHalo->setPen(QPen(look.background, 3.6));
    m_snapshotAllocated->setPen(QPen(look.text, 1.5));
    m_snapshotReserved->setPen(QPen(look.text, 1.2, Qt::DashDotLine));
    recolour();
    relabel();
}

void TimelineChart::recolour()
{
    const auto emphasised = highlight()->current().component;
    for (Component component : allComponents) {
        QColor colour = componentColour(component);
        if (emphasised && *emphasised != component)
            colour = blend(colour, theme().background, 0.6);
        m_areas[std::size_t(component)]->setBrush(colour);
    }
    m_overlay->emphasised = emphasised;
}

QSize TimelineChart::sizeHint() const { return {fontMetrics().height() * 50, fontMetrics().height() * 16}; }

QSize TimelineChart::minimumSizeHint() const { return {fontMetrics().height() * 24, fontMetrics().height() * 10}; }

} // namespace headroom
