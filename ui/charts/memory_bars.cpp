// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/memory_bars.h"

#include "ui/display_settings.h"
#include "ui/palette.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

constexpr double outlineGap = 3; ///< between a bar and the GPU's outline
constexpr double leaderLine = 14;

} // namespace

struct MemoryBars::Slot {
    double left = 0, width = 0; ///< of the whole place
    double barLeft = 0, barWidth = 0;
    double leaderLeft = 0; ///< of the labels beside the bar
    bool leadersOnRight = true;
    double ghostLeft = 0, ghostWidth = 0;
    double differenceWidth = 0; ///< between bar and ghost; 0: no room for text
};

MemoryBars::MemoryBars(QCustomPlot *plot, const DisplaySettings *settings)
    : QCPLayerable(plot, QLatin1String("main"))
    , m_settings(settings)
{}

void MemoryBars::setTheme(const ChartTheme &theme)
{
    m_theme = theme;
    m_normal = FontLines(theme.font);
    m_small = FontLines(theme.small);
    m_bold = FontLines(theme.bold);
}

void MemoryBars::setBars(std::span<const MemoryBar> bars, std::size_t first, std::size_t count)
{
    m_bars = bars;
    m_first = std::min(first, bars.size());
    m_count = std::min(count, bars.size() - m_first);
    m_hasBaseline = std::any_of(bars.begin(), bars.end(), [](const MemoryBar &bar) { return bar.baseline.has_value(); });
}

void MemoryBars::applyDefaultAntialiasingHint(QCPPainter *painter) const { painter->setAntialiasing(true); }

double MemoryBars::minimumSlotWidth() const { return m_normal.height() * (m_hasBaseline ? 6.5 : 5.5); }

double MemoryBars::footerHeight() const { return m_normal.height() * 2 + 8; }

double MemoryBars::titleHeight(double plotWidth) const
{
    const double width = plotWidth / double(std::max<std::size_t>(1, m_count)) - 8;
    qsizetype lines = 0;
    for (std::size_t i = m_first; i < m_first + m_count; ++i)
        lines = std::max(lines, titleLines(m_bars[i], width).size());
    return m_bold.height() * double(lines) + 8;
}

double MemoryBars::slotWidth() const { return mParentPlot->axisRect()->width() / double(std::max<std::size_t>(1, m_count)); }

MemoryBars::Slot MemoryBars::slotOf(std::size_t bar) const
{
    const double em = m_normal.height();
    Slot slot;
    slot.width = slotWidth();
    slot.left = mParentPlot->axisRect()->left() + slot.width * double(bar - m_first);
    // A ghost must stand nearer to its own bar than to the next one, and so must names beside a bar, which the next one's
    // title may be as high as.
    const double room = (m_hasBaseline ? slot.width * 0.84 : slot.width - em * 1.5) - 2 * outlineGap;
    if (m_hasBaseline) {
        slot.differenceWidth = m_normal.horizontalAdvance(QStringLiteral("+88.8 GiB")) + 18;
        if (room - slot.differenceWidth < em * 4.5)
            slot.differenceWidth = 0;
    }
    const double gap = m_hasBaseline ? std::max(slot.differenceWidth, 6 + outlineGap) : 0;
    const double barRoom = room - gap - m_leaderWidth;
    slot.barWidth = std::round(std::min(m_hasBaseline ? barRoom * 0.78 : barRoom, em * 10));
    slot.ghostWidth = m_hasBaseline ? std::round(std::min(barRoom - slot.barWidth, em * 2.4)) : 0;
    const double group = m_leaderWidth + slot.barWidth + gap + slot.ghostWidth;
    double x = slot.left + (slot.width - group) / 2;
    slot.leadersOnRight = !m_hasBaseline;
    if (!slot.leadersOnRight) {
        slot.leaderLeft = x;
        x += m_leaderWidth;
    }
    slot.barLeft = std::round(x);
    if (slot.leadersOnRight)
        slot.leaderLeft = slot.barLeft + slot.barWidth;
    slot.ghostLeft = std::round(slot.barLeft + slot.barWidth + gap);
    return slot;
}

std::optional<std::size_t> MemoryBars::barAt(double x) const
{
    const double place = (x - mParentPlot->axisRect()->left()) / slotWidth();
    if (place < 0 || place >= double(m_count))
        return std::nullopt;
    return m_first + std::size_t(place);
}

double MemoryBars::pixel(Bytes height) const
{
    return std::round(mParentPlot->yAxis->coordToPixel(double(height.value) / m_settings->gigaBytes()));
}

QColor MemoryBars::fill(Component component, bool ghost) const
{
    QColor colour = componentColour(component);
    if (ghost)
        colour = blend(colour, m_theme.background, 0.5);
    if (m_emphasised && *m_emphasised != component)
        colour = blend(colour, m_theme.background, 0.6);
    return colour;
}

QString MemoryBars::label(const Segment &segment, bool isShort) const
{
    QString name;
    switch (segment.kind) {
    case BarShape::Kind::Cache: name = tr("Cache"); break;
    case BarShape::Kind::Outside: name = isShort ? tr("Outside") : tr("Outside PyTorch"); break;
    default: name = segment.component ? componentLabel(*segment.component) : QString(); break;
    }
    return name + QLatin1String("  ") + m_settings->bytes(segment.bytes, isShort ? 1 : 2);
}

QStringList MemoryBars::titleLines(const MemoryBar &bar, double width) const
{
    const FontLines &metrics = m_bold;
    if (!bar.capacity)
        return {metrics.elidedText(tr("No GPU selected"), Qt::ElideRight, width)};
    const QString title = QString::fromStdString(bar.title);
    QStringList lines;
    if (metrics.horizontalAdvance(title) <= width) {
        lines << title;
    } else {
        // Two lines at most; what still does not fit loses its middle, so that the size at the end stays.
        QString first;
        const QStringList words = title.split(QLatin1Char(' '));
        qsizetype used = 0;
        for (; used < words.size(); ++used) {
            const QString longer = first.isEmpty() ? words[used] : first + QLatin1Char(' ') + words[used];
            if (used > 0 && metrics.horizontalAdvance(longer) > width)
                break;
            first = longer;
        }
        lines << metrics.elidedText(first, Qt::ElideRight, width);
        if (used < words.size())
            lines << metrics.elidedText(words.mid(used).join(QLatin1Char(' ')), Qt::ElideMiddle, width);
    }
    lines << m_settings->bytes(*bar.capacity, 1);
    return lines;
}

std::vector<MemoryBars::Segment> MemoryBars::segments(const MemoryStack &stack, double left, double width) const
{
    std::vector<Segment> result;
    Bytes height;
    const auto add = [&](BarShape::Kind kind, std::optional<Component> component, Bytes bytes) {
        if (bytes.value <= 0)
            return;
        const double bottom = pixel(height);
        height += bytes;
        const double top = pixel(height);
        result.push_back({kind, component, bytes, QRectF(left, top, width, bottom - top)});
    };
    for (Component component : allComponents)
        add(BarShape::Kind::Component, component, stack.components[component]);
    add(BarShape::Kind::Cache, std::nullopt, stack.cache);
    add(BarShape::Kind::Outside, std::nullopt, stack.outside);
    return result;
}

bool MemoryBars::isThin(const Segment &segment) const { return segment.area.height() < m_normal.ascent() + 1; }

bool MemoryBars::wantsLeader(const Segment &segment) const
{
    if (isThin(segment))
        return true;
    // Beside others that have their names beside the bar, one whose name does not fit in it is named there too.
    return m_leaderWidth > 0 && m_normal.horizontalAdvance(label(segment, true)) > segment.area.width() - 8;
}

void MemoryBars::measureLeaders()
{
    // Labels beside the bars are drawn for all bars or for none: bars of one width are compared more easily.
    const FontLines &metrics = m_small;
    double widest = 0;
    bool isAnyThin = false;
    for (std::size_t i = m_first; i < m_first + m_count; ++i) {
        for (const Segment &segment : segments(m_bars[i].stack, 0, 1)) {
            widest = std::max(widest, metrics.horizontalAdvance(label(segment, true)));
            isAnyThin = isAnyThin || isThin(segment);
        }
    }
    m_leaderWidth = 0;
    if (!isAnyThin)
        return;
    const double wanted = widest + leaderLine + outlineGap + 6;
    m_leaderWidth = wanted;
    if (slotOf(m_first).barWidth < metrics.height() * 4)
        m_leaderWidth = 0;
}

void MemoryBars::draw(QCPPainter *painter)
{
    m_shapes.clear();
    if (m_count == 0) {
        painter->setFont(m_theme.font);
        painter->setPen(m_theme.muted);
        painter->drawText(mParentPlot->viewport().adjusted(24, 8, -24, -8), int(Qt::AlignCenter) | int(Qt::TextWordWrap), m_emptyText);
        return;
    }
    measureLeaders();
    const FontLines &metrics = m_normal;
    for (m_footerForm = 0; m_footerForm < 2; ++m_footerForm) {
        const auto fits = [&](const MemoryBar &bar) {
            return metrics.horizontalAdvance(verdictText(bar, m_footerForm)) + metrics.height() * 1.2 <= slotWidth() - 8;
        };
        const auto shown = m_bars.subspan(m_first, m_count);
        if (std::all_of(shown.begin(), shown.end(), fits))
            break;
    }
    for (std::size_t i = m_first; i < m_first + m_count; ++i)
        drawBar(painter, i);
}

void MemoryBars::drawBar(QCPPainter *painter, std::size_t index)
{
    const MemoryBar &bar = m_bars[index];
    const Slot slot = slotOf(index);
    const std::vector<Segment> parts = segments(bar.stack, slot.barLeft, slot.barWidth);
    const double ground = pixel({});
    if (bar.capacity) {
        const QRectF free(slot.barLeft, pixel(*bar.capacity), slot.barWidth, ground - pixel(*bar.capacity));
        painter->fillRect(free.adjusted(-outlineGap, 0, outlineGap, 0), blend(m_theme.background, m_theme.text, 0.035));
    }
    for (const Segment &part : parts) {
        drawSegment(painter, part, bar.capacity ? pixel(*bar.capacity) : 0);
        m_shapes.push_back({part.kind, index, part.component, part.area});
    }
    if (bar.isOverLimit()) {
        const double top = pixel(bar.stack.device());
        // A little over is still over: never thinner than can be seen.
        const double height = std::max(4.0, pixel(*bar.capacity) - top);
        const QRectF over(slot.barLeft, pixel(*bar.capacity) - height, slot.barWidth, height);
        drawHatch(painter, over, Hatch::OverLimit, m_theme);
        painter->setPen(QPen(overLimitColour(), 1.5));
        painter->setBrush(Qt::NoBrush);
        painter->drawRect(over);
        m_shapes.push_back({BarShape::Kind::OverLimit, index, std::nullopt, over});
    }
    if (bar.capacity) {
        const double top = pixel(*bar.capacity);
        const QRectF outline(slot.barLeft - outlineGap, top, slot.barWidth + 2 * outlineGap, ground - top);
        painter->setPen(QPen(m_theme.text, 2, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
        painter->setBrush(Qt::NoBrush);
        painter->drawRect(outline);
        m_shapes.push_back({BarShape::Kind::Outline, index, std::nullopt, outline});
    }

    // The name stands above whatever is highest; the ghost counts where the name reaches over it.
    const FontLines &bold = m_bold;
    const QStringList lines = titleLines(bar, slot.width - 8);
    double widest = 0;
    for (const QString &line : lines)
        widest = std::max(widest, bold.horizontalAdvance(line));
    const double outerWidth = slot.barWidth + 2 * outlineGap;
    double centre = slot.barLeft + slot.barWidth / 2;
    centre = std::clamp(centre, slot.left + 4 + widest / 2, std::max(slot.left + 4 + widest / 2, slot.left + slot.width - 4 - widest / 2));
    double highest = std::min(pixel(bar.stack.device()), bar.capacity ? pixel(*bar.capacity) : ground);
    if (bar.baseline && centre + widest / 2 > slot.barLeft + outerWidth)
        highest = std::min(highest, pixel(bar.baseline->device()));
    const double titleBottom = highest - 4;
    double y = titleBottom - bold.height() * double(lines.size());
    for (qsizetype i = 0; i < lines.size(); ++i) {
        const bool isName = !bar.capacity || i + 1 < lines.size();
        painter->setPen(bar.capacity ? m_theme.text : m_theme.muted);
        (isName ? m_bold : m_normal)
            .draw(painter, QRectF(centre - widest / 2 - 2, y, widest + 4, bold.height()), int(Qt::AlignCenter) | wholeText, lines[i]);
        y += bold.height();
    }
    if (m_leaderWidth > 0)
        drawLeaders(painter, parts, slot, centre + widest / 2, titleBottom);
    if (bar.baseline)
        drawGhost(painter, index, slot, titleBottom);
    if (m_markedBar == index)
        drawMeasured(painter, index, slot);
    drawFooter(painter, bar, slot);
}

/// A line across the bar and a diamond at its left edge for each measured total, named where there is room.
void MemoryBars::drawMeasured(QCPPainter *painter, std::size_t index, const Slot &slot)
{
    constexpr double half = 4.5;
    const FontLines &metrics = m_small;
    const double left = slot.barLeft - outlineGap - half - 1;
    double lastLabel = 1e9; // the one below, which must not be written over
    const auto mark = [&](const std::optional<Bytes> &bytes, const QString &name) {
        if (!bytes)
            return;
        const double y = std::round(pixel(*bytes)) + 0.5;
        const QLineF line(left, y, slot.barLeft + slot.barWidth, y);
        painter->setPen(QPen(m_theme.background, 3.2));
        painter->drawLine(line);
        painter->setPen(QPen(m_theme.text, 1.3, Qt::DashLine));
        painter->drawLine(line);
        const QPolygonF diamond({{left - half, y}, {left, y - half}, {left + half, y}, {left, y + half}});
        painter->setPen(QPen(m_theme.background, 1));
        painter->setBrush(m_theme.text);
        painter->drawPolygon(diamond);
        painter->setBrush(Qt::NoBrush);
        m_shapes.push_back({BarShape::Kind::Measured, index, std::nullopt,
                            QRectF(left - half, y - 3, slot.barLeft + slot.barWidth - left + half, 6), *bytes});
        const QString text = name + QLatin1Char(' ') + m_settings->giga(*bytes, 2);
        const double width = metrics.horizontalAdvance(text);
        const double from = m_leaderWidth > 0 && !slot.leadersOnRight ? slot.leaderLeft : slot.left;
        if (left - half - 4 - width < from || (m_leaderWidth > 0 && !slot.leadersOnRight) || lastLabel - y < metrics.height())
            return;
        lastLabel = y;
        painter->setPen(m_theme.text);
        metrics.draw(painter, QRectF(left - half - 4 - width, y - metrics.height() / 2, width + 1, metrics.height()),
                     Qt::AlignRight | Qt::AlignVCenter, text);
    };
    mark(m_measured.allocated, MemoryChart::tr("measured, allocated"));
    mark(m_measured.reserved, MemoryChart::tr("reserved"));
    mark(m_measured.device, MemoryChart::tr("device"));
}

void MemoryBars::drawSegment(QCPPainter *painter, const Segment &segment, double limit) const
{
    QColor ground = m_theme.background;
    if (segment.kind == BarShape::Kind::Component) {
        ground = fill(*segment.component, false);
        painter->fillRect(segment.area, ground);
        if (segment.area.height() >= 3)
            painter->fillRect(QRectF(segment.area.left(), segment.area.top(), segment.area.width(), 1), m_theme.background);
    } else {
        drawHatch(painter, segment.area, segment.kind == BarShape::Kind::Cache ? Hatch::Cache : Hatch::Outside, m_theme);
        painter->setPen(QPen(segment.kind == BarShape::Kind::Cache ? m_theme.cache : m_theme.outside, 1));
        painter->setBrush(Qt::NoBrush);
        if (segment.area.height() >= 3)
            painter->drawRect(segment.area.adjusted(0.5, 0.5, -0.5, -0.5));
    }
    // What is above the limit is hatched: the label stands in what is below.
    Segment visible = segment;
    visible.area.setTop(std::min(segment.area.bottom(), std::max(segment.area.top(), limit)));
    if (wantsLeader(segment) || isThin(visible))
        return;
    const FontLines &metrics = m_normal;
    const double room = segment.area.width() - 8;
    QString text = label(segment, false);
    if (metrics.horizontalAdvance(text) > room)
        text = label(segment, true);
    if (metrics.horizontalAdvance(text) > room)
        text = m_settings->bytes(segment.bytes, 1);
    if (metrics.horizontalAdvance(text) > room)
        text = m_settings->giga(segment.bytes, 1);
    const double width = metrics.horizontalAdvance(text);
    if (width > room)
        return;
    if (segment.kind != BarShape::Kind::Component)
        painter->fillRect(QRectF(visible.area.center().x() - width / 2 - 4, visible.area.center().y() - metrics.height() / 2, width + 8,
                                 metrics.height()),
                          m_theme.background);
    painter->setPen(segment.kind == BarShape::Kind::Component ? textOver(ground) : m_theme.text);
    metrics.draw(painter,
                 QRectF(visible.area.left(), visible.area.center().y() - metrics.height() / 2, visible.area.width(), metrics.height()),
                 Qt::AlignCenter, text);
}

void MemoryBars::drawLeaders(QCPPainter *painter, const std::vector<Segment> &parts, const Slot &slot, double titleRight,
                             double titleBottom) const
{
    const FontLines &metrics = m_small;
    const double line = metrics.height();
    std::vector<const Segment *> thin;
    for (const Segment &part : parts) {
        if (wantsLeader(part))
            thin.push_back(&part);
    }
    if (thin.empty())
        return;
    // From the bottom up each label takes the height of its segment, or the next free one above the label below.
    std::vector<double> centres;
    double below = pixel({}) + line / 2;
    for (const Segment *part : thin) {
        const double y = std::min(part->area.center().y(), below - line);
        centres.push_back(y);
        below = y;
    }
    // From the top down the same again: what would rise into the name pushes only those below it that it meets.
    const bool isBelowTitle = slot.leadersOnRight ? titleRight > slot.barLeft + slot.barWidth + leaderLine : true;
    const double top = (isBelowTitle ? titleBottom : mParentPlot->axisRect()->top()) + line / 2 + 1;
    double above = top - line;
    for (auto y = centres.rbegin(); y != centres.rend(); ++y) {
        *y = std::max(*y, above + line);
        above = *y;
    }
    const double direction = slot.leadersOnRight ? 1 : -1;
    const double edge = slot.leadersOnRight ? slot.barLeft + slot.barWidth + outlineGap + 2 : slot.barLeft - outlineGap - 2;
    for (std::size_t i = 0; i < thin.size(); ++i) {
        const double y = thin[i]->area.center().y();
        const double bend = edge + direction * (leaderLine - 4);
        painter->setPen(QPen(blend(m_theme.background, m_theme.text, 0.5), 1));
        painter->drawLine(QLineF(edge - direction * (outlineGap + 2), y, bend, centres[i]));
        painter->setPen(m_emphasised && thin[i]->component != m_emphasised ? m_theme.muted : m_theme.text);
        const double width = m_leaderWidth - leaderLine - outlineGap - 2;
        const double left = slot.leadersOnRight ? bend + 4 : bend - 4 - width;
        const int side = int(slot.leadersOnRight ? Qt::AlignLeft : Qt::AlignRight);
        metrics.draw(painter, QRectF(left, centres[i] - line / 2, width, line), side | int(Qt::AlignVCenter) | wholeText,
                     label(*thin[i], true));
    }
}

void MemoryBars::drawGhost(QCPPainter *painter, std::size_t index, const Slot &slot, double titleBottom)
{
    const MemoryBar &bar = m_bars[index];
    for (const Segment &part : segments(*bar.baseline, slot.ghostLeft, slot.ghostWidth)) {
        if (part.component)
            painter->fillRect(part.area, fill(*part.component, true));
        else
            drawHatch(painter, part.area, part.kind == BarShape::Kind::Cache ? Hatch::Cache : Hatch::Outside, m_theme);
        m_shapes.push_back({BarShape::Kind::Ghost, index, part.component, part.area});
    }
    const double ghostTop = pixel(bar.baseline->device());
    painter->setPen(QPen(m_theme.muted, 1, Qt::DashLine));
    painter->setBrush(Qt::NoBrush);
    painter->drawRect(QRectF(slot.ghostLeft, ghostTop, slot.ghostWidth, pixel({}) - ghostTop).adjusted(0.5, 0.5, -0.5, -0.5));
    if (slot.differenceWidth <= 0)
        return;

    // Like a measure in a drawing: from the ghost's top to the bar's, the difference written beside.
    const FontLines &metrics = m_normal;
    const double barTop = pixel(bar.stack.device());
    const double left = slot.barLeft + slot.barWidth + outlineGap + 4;
    const double right = slot.ghostLeft - 3;
    const double middle = (barTop + ghostTop) / 2;
    const Bytes difference = bar.stack.device() - bar.baseline->device();
    painter->setPen(QPen(m_theme.muted, 1));
    painter->drawLine(QLineF(left, barTop + 0.5, right, barTop + 0.5));
    painter->drawLine(QLineF(left, ghostTop + 0.5, right, ghostTop + 0.5));
    const double room = std::abs(barTop - ghostTop);
    const QString text = (difference.value > 0 ? QLatin1String("+") : QLatin1String("")) + m_settings->bytes(difference, 1);
    double y = middle - metrics.height() / 2;
    if (room < metrics.height() + 2)
        y = std::max(barTop, ghostTop) + 2; // no room between: below both
    else
        painter->drawLine(QLineF(right - 4, barTop + 0.5, right - 4, ghostTop + 0.5));
    y = std::clamp(y, std::min(titleBottom + 1, pixel({}) - metrics.height()), pixel({}) - metrics.height());
    painter->setPen(m_theme.text);
    metrics.draw(painter, QRectF(left, y, right - left - 6, metrics.height()), Qt::AlignCenter, text);
}

QString MemoryBars::verdictText(const MemoryBar &bar, int form) const
{
    if (!bar.capacity)
        return {};
    if (form == 2)
        return m_settings->bytes(bar.headroom, 1);
    const bool isShort = bar.headroom.value < 0;
    const QString margin = m_settings->bytes(isShort ? -bar.headroom : bar.headroom, 1);
    const QString room = (isShort ? tr("short by %1") : tr("%1 to spare")).arg(margin);
    if (form == 1)
        return room;
    QString text;
    switch (bar.verdict) {
    case Verdict::Fits: text = tr("fits, %1").arg(room); break;
    case Verdict::Tight: text = tr("tight, %1").arg(room); break;
    case Verdict::DoesNotFit: text = tr("does not fit, %1").arg(room); break;
    }
    if (bar.decides)
        text += *bar.decides == Estimate::Step::First ? tr(" (first step decides)") : tr(" (steady state decides)");
    return text;
}

void MemoryBars::drawFooter(QCPPainter *painter, const MemoryBar &bar, const Slot &slot) const
{
    const FontLines &metrics = m_normal;
    const double line = metrics.height();
    double y = pixel({}) + 5;
    const QString total = metrics.elidedText(m_footerForm < 2 ? tr("%1 in use").arg(m_settings->bytes(bar.stack.device()))
                                                              : m_settings->bytes(bar.stack.device(), 1),
                                             Qt::ElideRight, slot.width - 4);
    const double centre = std::clamp(slot.barLeft + slot.barWidth / 2, slot.left + metrics.horizontalAdvance(total) / 2 + 2,
                                     slot.left + slot.width - metrics.horizontalAdvance(total) / 2 - 2);
    painter->setPen(m_theme.text);
    metrics.draw(painter, QRectF(centre - slot.width / 2, y, slot.width, line), Qt::AlignHCenter | Qt::AlignVCenter, total);
    if (slot.ghostWidth > 0 && slot.differenceWidth > 0) {
        painter->setPen(m_theme.muted);
        const double width = metrics.horizontalAdvance(tr("baseline"));
        const double left = std::min(slot.ghostLeft + slot.ghostWidth / 2 - width / 2, slot.left + slot.width - width - 8);
        if (left > centre + metrics.horizontalAdvance(total) / 2 + 8)
            metrics.draw(painter, QRectF(left, y, width + 1, line), int(Qt::AlignLeft) | int(Qt::AlignVCenter) | wholeText, tr("baseline"));
    }
    if (!bar.capacity)
        return;
    y += line;
    const Verdict verdict = bar.verdict;
    const QString text = metrics.elidedText(verdictText(bar, m_footerForm), Qt::ElideRight, slot.width - line - 4);
    const double width = line + metrics.horizontalAdvance(text);
    const double middle = std::clamp(slot.barLeft + slot.barWidth / 2, slot.left + width / 2 + 2,
                                     std::max(slot.left + width / 2 + 2, slot.left + slot.width - width / 2 - 2));
    const QRectF icon(middle - width / 2 + line * 0.1, y + line * 0.2, line * 0.62, line * 0.62);
    const QColor colour =
        verdict == Verdict::Fits ? readableOn(componentColour(Component::Optimizer), m_theme.background) : m_theme.warning;
    painter->setPen(QPen(colour, 1.8, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    painter->setBrush(Qt::NoBrush);
    switch (verdict) {
    case Verdict::Fits:
        painter->drawPolyline(
            QPolygonF({{icon.left(), icon.center().y()}, {icon.left() + icon.width() * 0.38, icon.bottom()}, icon.topRight()}));
        break;
    case Verdict::Tight: painter->drawPolygon(QPolygonF({{icon.center().x(), icon.top()}, icon.bottomRight(), icon.bottomLeft()})); break;
    case Verdict::DoesNotFit:
        painter->drawLine(QLineF(icon.topLeft(), icon.bottomRight()));
        painter->drawLine(QLineF(icon.topRight(), icon.bottomLeft()));
        break;
    }
    painter->setPen(verdict == Verdict::DoesNotFit ? m_theme.warning : m_theme.text);
    metrics.draw(painter, QRectF(middle - width / 2 + line, y, width, line), int(Qt::AlignLeft) | int(Qt::AlignVCenter) | wholeText, text);
}

} // namespace headroom
