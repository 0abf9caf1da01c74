// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/memory_chart.h"

#include "ui/charts/legend_element.h"
#include "ui/charts/memory_bars.h"
#include "ui/charts/memory_table.h"
#include "ui/charts/phase_label.h"
#include "ui/charts/plot.h"
#include "ui/display_settings.h"
#include "ui/highlight.h"
#include "ui/palette.h"

#include <QKeyEvent>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace headroom {

MemoryChart::MemoryChart(DisplaySettings *displaySettings, Highlight *highlight, QWidget *parent)
    : ChartWidget(displaySettings, highlight, parent)
    , m_legend(new LegendElement(plot()))
    , m_drawing(new MemoryBars(plot(), displaySettings))
    , m_scroll(new QScrollBar(Qt::Horizontal, plot()))
    , m_table(std::make_unique<MemoryTable>(displaySettings))
{
    QCPAxisRect *axes = plot()->axisRect();
    plot()->plotLayout()->take(axes);
    plot()->plotLayout()->simplify();
    plot()->plotLayout()->addElement(0, 0, m_legend);
    plot()->plotLayout()->addElement(0, 1, axes);
    plot()->plotLayout()->setColumnSpacing(0);
    axes->setAutoMargins(QCP::msLeft);
    plot()->xAxis->setTickLabels(false);
    plot()->xAxis->setTicks(false);
    plot()->xAxis->grid()->setVisible(false);
    plot()->yAxis->setSubTicks(false);
    plot()->yAxis->ticker()->setTickCount(5);

    m_scroll->hide();
    m_scroll->setFocusPolicy(Qt::NoFocus);
    connect(m_scroll, &QScrollBar::valueChanged, this, &MemoryChart::redraw);
    // Nothing lies over the chart that changes alone: one layer less to be filled and laid over the others each time.
    plot()->layer(QLatin1String("overlay"))->setMode(QCPLayer::lmLogical);
    plot()->beforeLayout = [this](QSize size) { fitAxes(size); };
    plot()->toolTipAt = [this](QPoint position) { return toolTip(position); };
    connect(plot(), &QCustomPlot::mouseMove, this, [this](QMouseEvent *event) { pointAt(event->position()); });
    connect(plot(), &Plot::mouseLeft, this, [this] { setHovered(std::nullopt); });
    connect(plot(), &QCustomPlot::mouseRelease, this, [this](QMouseEvent *event) {
        if (event->button() != Qt::LeftButton)
            return;
        if (const auto component = componentAt(event->position())) {
            this->highlight()->setSelected({component, {}});
            emit clicked(*component);
        }
    });
    connect(displaySettings, &DisplaySettings::changed, this, [this] {
        relabel();
        redraw();
    });
    connect(highlight, &Highlight::changed, this, [this] {
        m_drawing->setEmphasised(this->highlight()->current().component);
        m_legend->setEmphasised(this->highlight()->current().component);
        redraw();
    });
    restyle();
}

MemoryChart::~MemoryChart() = default;

void MemoryChart::setEstimate(std::shared_ptr<const Estimate> estimate)
{
    if (estimate == m_estimate)
        return;
    m_estimate = std::move(estimate);
    rebuild();
}

void MemoryChart::setBaseline(std::shared_ptr<const Estimate> baseline)
{
    if (baseline == m_baseline)
        return;
    m_baseline = std::move(baseline);
    rebuild();
}

void MemoryChart::setMeasured(const std::optional<MeasuredMarks> &measured)
{
    if (measured == m_measured)
        return;
    m_measured = measured;
    rebuild();
}

void MemoryChart::setStep(Estimate::Step step)
{
    if (step == m_step)
        return;
    m_step = step;
    rebuild();
}

QAbstractTableModel *MemoryChart::table() const { return m_table.get(); }

const std::vector<BarShape> &MemoryChart::shapes() const { return m_drawing->shapes(); }

QSize MemoryChart::sizeHint() const { return {fontMetrics().height() * 50, fontMetrics().height() * 20}; }

QSize MemoryChart::minimumSizeHint() const { return {fontMetrics().height() * 26, m_legend->neededHeight()}; }

void MemoryChart::rebuild()
{
    m_bars = m_estimate ? memoryBars(*m_estimate, m_baseline.get(), m_step) : std::vector<MemoryBar>{};
    m_table->setBars(m_bars);
    std::optional<std::size_t> marked;
    if (m_measured && !m_measured->of(m_step).isEmpty())
        for (std::size_t i = 0; i < m_bars.size() && !marked; ++i)
            if (m_measured->gpuId.empty() || m_bars[i].id.empty() || m_bars[i].id == m_measured->gpuId)
                marked = i;
    m_drawing->setMeasured(marked, marked ? m_measured->of(m_step) : MeasuredStep());
    relabel();
    redraw();
}

void MemoryChart::relabel()
{
    m_table->relabel();
    plot()->yAxis->setLabel(settings().gigaName());
    setAccessibleName(tr("Memory by GPU"));
    std::vector<LegendRow> rows;
    m_drawing->setEmptyText(emptyText());
    if (m_bars.empty()) {
        setAccessibleDescription(emptyText());
        m_legend->setTitle({}, {});
        m_legend->setRows({}, {});
        return;
    }
    const MemoryBar &bar = m_bars.front();
    const auto add = [&](LegendRow row, Bytes bytes, Bytes baseline) {
        row.value = settings().bytes(bytes);
        if (bar.baseline) {
            const Bytes difference = bytes - baseline;
            row.difference = difference.value == 0
                                 ? QStringLiteral("±0")
                                 : (difference.value > 0 ? QLatin1String("+") : QLatin1String("")) + settings().bytes(difference);
        }
        rows.push_back(std::move(row));
    };
    const MemoryStack before = bar.baseline.value_or(MemoryStack{});
    using Swatch = LegendRow::Swatch;
    for (Component component : allComponents)
        add({Swatch::Component, component, componentLabel(component), {}, {}, tr("At the instant of the peak"), false},
            bar.stack.components[component], before.components[component]);
    add({Swatch::None, {}, tr("Allocated"), {}, {}, tr("What torch.cuda.max_memory_allocated reports"), true}, bar.stack.allocated(),
        before.allocated());
    add({Swatch::Cache,
         {},
         tr("Cache"),
         {},
         {},
         tr("Reserved minus allocated: rounding and fragmentation of PyTorch's caching allocator"),
         false},
        bar.stack.cache, before.cache);
    add({Swatch::None, {}, tr("Reserved"), {}, {}, tr("What torch.cuda.max_memory_reserved reports"), true}, bar.stack.reserved(),
        before.reserved());
    add({Swatch::Outside, {}, tr("Outside PyTorch"), {}, {}, tr("CUDA context, libraries and communication buffers"), false},
        bar.stack.outside, before.outside);
    add({Swatch::None, {}, tr("Device"), {}, {}, tr("What nvidia-smi shows"), true}, bar.stack.device(), before.device());
    if (bar.isOverLimit()) {
        LegendRow over{Swatch::OverLimit,
                       {},
                       tr("Over the limit"),
                       {},
                       {},
                       tr("What does not fit on %1").arg(QString::fromStdString(bar.title)),
                       false};
        over.value = settings().bytes(bar.stack.device() - *bar.capacity);
        rows.push_back(std::move(over));
    }
    const bool isSteady = m_step == Estimate::Step::Steady;
    const QString step = isSteady ? tr("Peak in steady state") : tr("Peak of the first step");
    const QString phase = phaseLabel(isSteady ? m_estimate->peak.phase : m_estimate->firstStep.phase);
    const bool differ = std::any_of(m_bars.begin(), m_bars.end(), [&](const MemoryBar &other) { return other.stack != bar.stack; });
    m_legend->setTitle(step, differ ? tr("in %1, on %2").arg(phase, QString::fromStdString(bar.title)) : tr("in %1").arg(phase));
    m_legend->setRows(std::move(rows), settings().bytes(gib(888)));

    QStringList sentences{step};
    for (const MemoryBar &each : m_bars) {
        if (!each.capacity)
            sentences << tr("No GPU selected: %1 needed").arg(settings().bytes(each.stack.device()));
        else
            sentences << tr("%1: %2").arg(QString::fromStdString(each.title), m_drawing->verdictText(each, 0));
    }
    if (m_drawing->markedBar()) {
        const MeasuredStep &measured = m_measured->of(m_step);
        for (const auto &[text, bytes] :
             {std::pair(tr("Measured allocated: %1"), measured.allocated), std::pair(tr("Measured reserved: %1"), measured.reserved),
              std::pair(tr("Measured device memory: %1"), measured.device)})
            if (bytes)
                sentences << text.arg(settings().bytes(*bytes));
    }
    setAccessibleDescription(sentences.join(QLatin1String(". ")));
}

void MemoryChart::restyle()
{
    const ChartTheme &look = theme();
    m_legend->setTheme(look);
    m_drawing->setTheme(look);
    plot()->setBackground(QBrush(look.background));
    plot()->plotLayout()->setRowSpacing(0);
    for (QCPAxis *axis : {plot()->xAxis, plot()->yAxis}) {
        axis->setBasePen(QPen(look.muted, 1));
        axis->setTickPen(QPen(look.muted, 1));
        axis->setSubTickPen(QPen(look.muted, 1));
        axis->setTickLabelFont(look.font);
        axis->setTickLabelColor(look.muted);
        axis->setLabelFont(look.font);
        axis->setLabelColor(look.muted);
        axis->grid()->setPen(QPen(look.grid, 1));
        axis->grid()->setZeroLinePen(Qt::NoPen);
    }
    relabel();
}

void MemoryChart::fitAxes(QSize size)
{
    QCPAxisRect *axes = plot()->axisRect();
    // Room for the axis' figures whatever they are: how many bars fit must not depend on which are shown.
    const double axisRoom = QFontMetricsF(theme().font).height() * 4.5;
    const double width = std::max(1.0, size.width() - m_legend->minimumSize().width() - axisRoom - 8);
    const std::size_t fitting = std::max<std::size_t>(1, std::size_t(width / m_drawing->minimumSlotWidth()));
    const std::size_t shown = std::min(fitting, std::max<std::size_t>(1, m_bars.size()));
    const bool scrolls = m_bars.size() > shown && size == plot()->size();
    const int scrollHeight = scrolls ? m_scroll->sizeHint().height() : 0;
    {
        const QSignalBlocker blocker(m_scroll);
        m_scroll->setRange(0, int(m_bars.size() - std::min(m_bars.size(), shown)));
        m_scroll->setPageStep(int(shown));
        m_scroll->setVisible(scrolls);
        if (scrolls)
            m_scroll->setGeometry(size.width() - int(width) - 8, size.height() - scrollHeight, int(width), scrollHeight);
    }
    for (QCPAxis *axis : {plot()->xAxis, plot()->yAxis})
        axis->setVisible(!m_bars.empty());
    // In print nothing scrolls: all bars, however narrow.
    if (scrolls)
        m_drawing->setBars(m_bars, std::size_t(m_scroll->value()), shown);
    else
        m_drawing->setBars(m_bars, 0, m_bars.size());

    const int footer = m_bars.empty() ? 8 : int(std::ceil(m_drawing->footerHeight()));
    axes->setMinimumMargins(QMargins(0, 0, 0, 0));
    axes->setMargins(QMargins(axes->margins().left(), 6, 8, footer + scrollHeight));
    const std::size_t first = scrolls ? std::size_t(m_scroll->value()) : 0;
    Bytes highest;
    for (std::size_t i = first; i < m_bars.size() && i < first + (scrolls ? shown : m_bars.size()); ++i) {
        highest = std::max({highest, m_bars[i].stack.device(), m_bars[i].capacity.value_or(Bytes{})});
        if (m_bars[i].baseline)
            highest = std::max(highest, m_bars[i].baseline->device());
        if (m_drawing->markedBar() == i)
            for (const std::optional<Bytes> &measured :
                 {m_measured->of(m_step).allocated, m_measured->of(m_step).reserved, m_measured->of(m_step).device})
                highest = std::max(highest, measured.value_or(Bytes{}));
    }
    const double height = std::max(1, size.height() - 6 - footer - scrollHeight);
    const double title = std::min(m_drawing->titleHeight(width), height / 2);
    const double top = std::max(double(highest.value) / settings().gigaBytes(), 1e-3);
    plot()->yAxis->setRange(0, top * height / (height - title));
}

std::optional<Component> MemoryChart::componentAt(QPointF position) const
{
    if (const LegendRow *row = m_legend->rowAt(position))
        return row->component;
    for (const BarShape &shape : m_drawing->shapes()) {
        if (shape.component && shape.area.contains(position))
            return shape.component;
    }
    return std::nullopt;
}

void MemoryChart::pointAt(QPointF position)
{
    setHovered(componentAt(position));
    plot()->setCursor(m_hovered ? Qt::PointingHandCursor : Qt::ArrowCursor);
}

void MemoryChart::setHovered(std::optional<Component> component)
{
    if (component == m_hovered)
        return;
    m_hovered = component;
    highlight()->setHovered({component, {}});
    emit hovered(component);
}

QString MemoryChart::partText(std::size_t bar, const QString &part, Bytes bytes, std::optional<Bytes> baseline) const
{
    const MemoryBar &of = m_bars[bar];
    const double share = of.stack.device().value > 0 ? 100.0 * double(bytes.value) / double(of.stack.device().value) : 0.0;
    QString text = tr("<b>%1: %2</b><br>%3 % of what the run takes")
                       .arg(part.toHtmlEscaped(), settings().bytes(bytes), locale().toString(share, 'f', 1));
    if (of.capacity)
        text += tr(" on %1").arg(QString::fromStdString(of.title).toHtmlEscaped());
    if (baseline)
        text += tr("<br>baseline %1").arg(settings().bytes(*baseline));
    return text;
}

QString MemoryChart::toolTip(QPointF position) const
{
    if (const LegendRow *row = m_legend->rowAt(position))
        return row->toolTip;
    const auto &all = m_drawing->shapes();
    // The last drawn lies on top.
    for (auto shape = all.rbegin(); shape != all.rend(); ++shape) {
        if (!shape->area.contains(position))
            continue;
        const MemoryBar &bar = m_bars[shape->bar];
        const auto before = [&](auto part) { return bar.baseline ? std::optional<Bytes>(part(*bar.baseline)) : std::nullopt; };
        switch (shape->kind) {
        case BarShape::Kind::Component:
            return partText(shape->bar, componentLabel(*shape->component), bar.stack.components[*shape->component],
                            before([&](const MemoryStack &s) { return s.components[*shape->component]; }));
        case BarShape::Kind::Cache:
            return partText(shape->bar, tr("Cache"), bar.stack.cache, before([](const MemoryStack &s) { return s.cache; }));
        case BarShape::Kind::Outside:
            return partText(shape->bar, tr("Outside PyTorch"), bar.stack.outside, before([](const MemoryStack &s) { return s.outside; }));
        case BarShape::Kind::OverLimit:
            return tr("<b>Over the limit: %1</b><br>%2 has %3, the run takes %4")
                .arg(settings().bytes(bar.stack.device() - *bar.capacity), QString::fromStdString(bar.title).toHtmlEscaped(),
                     settings().bytes(*bar.capacity), settings().bytes(bar.stack.device()));
        case BarShape::Kind::Measured: {
            const MeasuredStep &measured = m_measured->of(m_step);
            const bool isAllocated = measured.allocated == shape->bytes, isReserved = measured.reserved == shape->bytes;
            const QString what = isAllocated ? tr("allocated") : isReserved ? tr("reserved") : tr("device");
            const Bytes predicted = isAllocated ? bar.stack.allocated() : isReserved ? bar.stack.reserved() : bar.stack.device();
            return tr("<b>Measured, %1: %2</b><br>predicted %3<br>%4")
                .arg(what, settings().bytes(shape->bytes), settings().bytes(predicted), m_measured->run.toHtmlEscaped());
        }
        case BarShape::Kind::Ghost: {
            const Bytes bytes = shape->component ? bar.baseline->components[*shape->component] : bar.baseline->device();
            return tr("<b>Baseline</b><br>%1: %2")
                .arg(shape->component ? componentLabel(*shape->component) : tr("Device"), settings().bytes(bytes));
        }
        case BarShape::Kind::Outline: {
            // Free space, and the gap around the stack: look below it first.
            const bool isFree = position.y() < plot()->yAxis->coordToPixel(double(bar.stack.device().value) / settings().gigaBytes());
            if (isFree)
                return tr("<b>Free: %1</b><br>%2 has %3")
                    .arg(settings().bytes(*bar.capacity - bar.stack.device()), QString::fromStdString(bar.title).toHtmlEscaped(),
                         settings().bytes(*bar.capacity));
            break;
        }
        }
    }
    return {};
}

void MemoryChart::resizeEvent(QResizeEvent *event)
{
    ChartWidget::resizeEvent(event);
    setHovered(std::nullopt);
}

void MemoryChart::keyPressEvent(QKeyEvent *event)
{
    // Up and down pass through the components as the pointer does; Enter opens one.
    const auto current = highlight()->current().component;
    const int index = current ? int(*current) : -1;
    switch (event->key()) {
    case Qt::Key_Up: highlight()->setSelected({allComponents[std::size_t(std::min(index + 1, int(componentCount) - 1))], {}}); break;
    case Qt::Key_Down: highlight()->setSelected({allComponents[std::size_t(std::max(index - 1, 0))], {}}); break;
    case Qt::Key_Escape: highlight()->clearSelected(); break;
    case Qt::Key_Left: m_scroll->setValue(m_scroll->value() - 1); break;
    case Qt::Key_Right: m_scroll->setValue(m_scroll->value() + 1); break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (current)
            emit clicked(*current);
        break;
    default: ChartWidget::keyPressEvent(event); break;
    }
}

void MemoryChart::wheelEvent(QWheelEvent *event)
{
    if (!m_scroll->isVisible()) {
        ChartWidget::wheelEvent(event);
        return;
    }
    const QPoint turned = event->angleDelta();
    const int steps = std::abs(turned.x()) > std::abs(turned.y()) ? turned.x() : turned.y();
    m_scroll->setValue(m_scroll->value() - (steps > 0 ? 1 : -1));
    event->accept();
}

} // namespace headroom
