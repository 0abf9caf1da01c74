// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Zooming, panning and pointing: the part of TimelineChart that answers mouse and keyboard.
#include "ui/charts/phase_label.h"
#include "ui/charts/plot.h"
#include "ui/charts/timeline_chart.h"
#include "ui/charts/timeline_marks.h"
#include "ui/display_settings.h"
#include "ui/highlight.h"
#include "ui/palette.h"

#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

constexpr double fewestEvents = 8; ///< closest zoom
constexpr double zoomStep = 0.8;   ///< of one notch of the wheel

} // namespace

void TimelineChart::showEvents(double from, double to)
{
    table(); // the number of events must be this estimate's
    const double all = m_timeline.events;
    if (all <= 0)
        return;
    const double width = std::clamp(to - from, std::min(fewestEvents, all), all);
    const double first = std::clamp(from, 0.0, all - width);
    if (first == m_from && first + width == m_to)
        return;
    m_from = first;
    m_to = first + width;
    m_stale = true;
    redraw();
}

void TimelineChart::setMemoryRange(double from, double to)
{
    const double top = memoryTop();
    const double height = std::clamp(to - from, top / 200, top);
    m_memoryFrom = std::clamp(from, 0.0, top - height);
    m_memoryTo = m_memoryFrom + height;
    redraw();
}

void TimelineChart::resetView()
{
    m_memoryFrom = m_memoryTo = 0;
    showEvents(0, m_timeline.events);
    redraw();
}

void TimelineChart::zoom(double factor, double around)
{
    showEvents(around - (around - m_from) * factor, around + (m_to - around) * factor);
}

void TimelineChart::zoomMemory(double factor, double around)
{
    const QCPRange range = plot()->yAxis->range();
    const double unit = settings().gigaBytes();
    setMemoryRange((around - (around - range.lower) * factor) * unit, (around + (range.upper - around) * factor) * unit);
}

void TimelineChart::wheel(QWheelEvent *event)
{
    event->accept();
    if (m_timeline.events == 0)
        return;
    const QPoint angle = event->angleDelta();
    const QPointF position = event->position();
    if (std::abs(angle.x()) > std::abs(angle.y())) {
        const double shift = -angle.x() / 120.0 * 0.1 * (m_to - m_from);
        showEvents(m_from + shift, m_to + shift);
        return;
    }
    const double factor = std::pow(zoomStep, angle.y() / 120.0);
    // Ctrl turns up as a sideways wheel with Alt on some systems; only Ctrl is promised.
    if (event->modifiers() & Qt::ControlModifier)
        zoomMemory(factor, plot()->yAxis->pixelToCoord(position.y()));
    else
        zoom(factor, plot()->xAxis->pixelToCoord(position.x()));
}

void TimelineChart::press(QMouseEvent *event)
{
    if (event->button() != Qt::LeftButton)
        return;
    m_dragFrom = event->position();
    m_hasDragged = false;
    m_dragFirst = m_from;
    m_dragLowest = m_memoryFrom;
}

void TimelineChart::move(QMouseEvent *event)
{
    const QRectF axes = plot()->axisRect()->rect();
    const QPointF position = event->position();
    if (m_dragFrom && (event->buttons() & Qt::LeftButton)) {
        const QPointF moved = position - *m_dragFrom;
        if (!m_hasDragged && moved.manhattanLength() < QApplication::startDragDistance())
            return;
        m_hasDragged = true;
        setCrosshair(std::nullopt);
        plot()->setCursor(Qt::ClosedHandCursor);
        const double width = m_to - m_from;
        const double first = m_dragFirst - moved.x() * width / std::max(1.0, axes.width());
        showEvents(first, first + width);
        if (m_memoryTo > m_memoryFrom) {
            const double height = m_memoryTo - m_memoryFrom;
            const double lowest = m_dragLowest + moved.y() * height / std::max(1.0, axes.height());
            setMemoryRange(lowest, lowest + height);
        }
        return;
    }
    plot()->setCursor(Qt::ArrowCursor);
    if (axes.contains(position))
        setCrosshair(plot()->xAxis->pixelToCoord(position.x()));
    else
        setCrosshair(std::nullopt);
    setHovered(componentAt(position));
}

void TimelineChart::release(QMouseEvent *event)
{
    const bool isClick = m_dragFrom && !m_hasDragged && event->button() == Qt::LeftButton;
    m_dragFrom.reset();
    plot()->setCursor(Qt::ArrowCursor);
    if (!isClick)
        return;
    // The breakdown, which lies behind this tab, shows it too. It is not brought to the front: a double click would be cut off.
    if (const auto component = componentAt(event->position()))
        highlight()->setSelected({component, {}});
}

std::optional<std::size_t> TimelineChart::sampleAt(double event) const
{
    const auto &samples = m_timeline.samples;
    if (samples.empty())
        return std::nullopt;
    const auto after =
        std::upper_bound(samples.begin(), samples.end(), event, [](double at, const TimelineSample &sample) { return at < sample.event; });
    return after == samples.begin() ? 0 : std::size_t(after - samples.begin()) - 1;
}

std::optional<Component> TimelineChart::componentAt(QPointF position) const
{
    if (!QRectF(plot()->axisRect()->rect()).contains(position))
        return std::nullopt;
    const auto index = sampleAt(plot()->xAxis->pixelToCoord(position.x()));
    if (!index)
        return std::nullopt;
    const double bytes = plot()->yAxis->pixelToCoord(position.y()) * settings().gigaBytes();
    Bytes height;
    for (Component component : allComponents) {
        height += m_timeline.samples[*index].components[component];
        if (bytes < double(height.value))
            return component;
    }
    return std::nullopt;
}

void TimelineChart::setHovered(std::optional<Component> component)
{
    if (component == m_hovered)
        return;
    m_hovered = component;
    highlight()->setHovered({component, {}});
    emit hovered(component);
}

void TimelineChart::setCrosshair(std::optional<double> event)
{
    if (event && m_stale)
        table();
    const auto index = event ? sampleAt(*event) : std::nullopt;
    if (!index) {
        if (!m_crosshair)
            return;
        m_crosshair.reset();
        m_alive.clear();
        m_overlay->event.reset();
    } else {
        const TimelineSample &sample = m_timeline.samples[*index];
        if (m_crosshair != sample.event)
            m_alive = m_aliveSource ? m_aliveSource(sample.event) : std::vector<AliveTensor>{};
        m_crosshair = sample.event;
        m_overlay->event = sample.event;
        m_overlay->height = double(sample.components.total().value) / settings().gigaBytes();
        m_overlay->title = tr("Event %1, %2").arg(locale().toString(sample.event), phaseLabel(sample.phase));
        if (sample.layer >= 0)
            m_overlay->title += tr(", layer %1").arg(sample.layer);
        m_overlay->totals =
            tr("%1 allocated, %2 reserved").arg(settings().bytes(sample.components.total()), settings().bytes(sample.reserved));
        m_overlay->measured.clear();
        if (const auto measured = measuredAt(*index))
            m_overlay->measured =
                tr("Measured: %1 allocated, %2 reserved").arg(settings().bytes(measured->allocated), settings().bytes(measured->reserved));
        m_overlay->more = tr("and %1 more");
        m_overlay->rows.clear();
        for (const AliveTensor &tensor : m_alive) {
            QString label = QString::fromStdString(tensor.label);
            if (tensor.count > 1)
                label += QStringLiteral(" × %1").arg(tensor.count);
            m_overlay->rows.push_back({tensor.component, label, settings().bytes(tensor.bytes)});
        }
    }
    if (isVisible())
        m_overlay->layer()->replot();
}

QString TimelineChart::crosshairText() const
{
    if (!m_crosshair)
        return {};
    QStringList lines{m_overlay->title, m_overlay->totals};
    if (!m_overlay->measured.isEmpty())
        lines << m_overlay->measured;
    for (const TimelineOverlay::Row &row : m_overlay->rows)
        lines << QStringLiteral("%1\t%2\t%3").arg(row.size, componentLabel(row.component), row.label);
    return lines.join(QLatin1Char('\n'));
}

void TimelineChart::keyPressEvent(QKeyEvent *event)
{
    table();
    const double middle = m_crosshair ? double(*m_crosshair) : (m_from + m_to) / 2;
    const auto step = [&](int by) {
        const auto index = m_crosshair ? sampleAt(*m_crosshair) : sampleAt(m_timeline.peakEvent);
        if (!index)
            return;
        const auto last = std::ptrdiff_t(m_timeline.samples.size()) - 1;
        const auto next = m_crosshair ? std::clamp(std::ptrdiff_t(*index) + by, std::ptrdiff_t(0), last) : std::ptrdiff_t(*index);
        setCrosshair(m_timeline.samples[std::size_t(next)].event);
        setAccessibleDescription(crosshairText());
    };
    switch (event->key()) {
    case Qt::Key_Left: step(-1); break;
    case Qt::Key_Right: step(1); break;
    case Qt::Key_Plus:
    case Qt::Key_Equal: zoom(zoomStep, middle); break;
    case Qt::Key_Minus: zoom(1 / zoomStep, middle); break;
    case Qt::Key_PageUp: showEvents(m_from - (m_to - m_from) * 0.8, m_to - (m_to - m_from) * 0.8); break;
    case Qt::Key_PageDown: showEvents(m_from + (m_to - m_from) * 0.8, m_to + (m_to - m_from) * 0.8); break;
    case Qt::Key_Home:
    case Qt::Key_0: resetView(); break;
    case Qt::Key_Escape: setCrosshair(std::nullopt); break;
    default: ChartWidget::keyPressEvent(event); break;
    }
}

} // namespace headroom
