// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/timeline_bands.h"

#include <algorithm>

namespace headroom {

BandStrip::BandStrip(QCustomPlot *plot)
    : QCPLayoutElement(plot)
{
    setLayer(QLatin1String("axes"));
    setMinimumMargins(QMargins());
    setAutoMargins(QCP::msLeft | QCP::msRight);
}

void BandStrip::setTheme(const ChartTheme &theme)
{
    m_theme = theme;
    setShown(m_isShown);
}

void BandStrip::setBands(std::vector<Band> bands) { m_bands = std::move(bands); }

void BandStrip::setShown(bool shown)
{
    m_isShown = shown;
    setVisible(shown);
    const int height = shown ? int(QFontMetricsF(m_theme.font).height() * 1.25) : 0;
    setMinimumSize(0, height);
    setMaximumSize(QWIDGETSIZE_MAX, height);
}

QRectF BandStrip::area(const Band &band) const
{
    const QCPAxis *axis = mParentPlot->xAxis;
    const double left = std::clamp(axis->coordToPixel(band.from), double(rect().left()), double(rect().right()) + 1);
    const double right = std::clamp(axis->coordToPixel(band.to), double(rect().left()), double(rect().right()) + 1);
    return {left, double(rect().top()), right - left, double(rect().height())};
}

const BandStrip::Band *BandStrip::bandAt(QPointF position) const
{
    for (const Band &band : m_bands) {
        if (m_isShown && area(band).contains(position))
            return &band;
    }
    return nullptr;
}

void BandStrip::draw(QCPPainter *painter)
{
    const QFontMetricsF metrics(m_theme.font);
    painter->setAntialiasing(true);
    struct Text {
        QRectF room;
        QString label;
    };
    std::vector<Text> placed;
    std::vector<std::pair<const Band *, QRectF>> tight;
    for (std::size_t i = 0; i < m_bands.size(); ++i) {
        const QRectF where = area(m_bands[i]);
        if (where.width() <= 0)
            continue;
        painter->fillRect(where, blend(m_theme.background, m_theme.text, i % 2 ? 0.18 : 0.08));
        const double width = metrics.horizontalAdvance(m_bands[i].label);
        if (width + 6 <= where.width())
            placed.push_back({QRectF(where.center().x() - width / 2, where.top(), width, where.height()), m_bands[i].label});
        else
            tight.emplace_back(&m_bands[i], where);
    }
    // A narrow band's name may reach over its neighbours, as long as it touches no other name.
    for (const auto &[band, where] : tight) {
        for (const QString &label : {band->label, band->shortLabel}) {
            const double width = metrics.horizontalAdvance(label);
            const double left =
                std::clamp(where.center().x() - width / 2, double(rect().left()), std::max(double(rect().left()), rect().right() - width));
            const QRectF room(left, where.top(), width, where.height());
            const bool isFree = std::none_of(placed.begin(), placed.end(),
                                             [&](const Text &text) { return text.room.adjusted(-6, 0, 6, 0).intersects(room); });
            if (label.isEmpty() || !isFree)
                continue;
            placed.push_back({room, label});
            break;
        }
    }
    painter->setFont(m_theme.font);
    painter->setPen(m_theme.text);
    for (const Text &text : placed)
        painter->drawText(text.room.adjusted(-1, 0, 1, 0), int(Qt::AlignCenter) | wholeText, text.label);
}

LineLegend::LineLegend(QCustomPlot *plot)
    : QCPLayoutElement(plot)
{
    setLayer(QLatin1String("legend"));
    setMinimumMargins(QMargins());
    setAutoMargins(QCP::msLeft | QCP::msRight);
}

void LineLegend::setTheme(const ChartTheme &theme) { m_theme = theme; }

void LineLegend::setEntries(std::vector<Entry> entries) { m_entries = std::move(entries); }

double LineLegend::widthOf(const Entry &entry) const
{
    const QFontMetricsF metrics(m_theme.small);
    return (entry.kind == Entry::Kind::Note ? 0 : metrics.height() * 1.5) + metrics.horizontalAdvance(entry.label) + metrics.height();
}

void LineLegend::fit(int width)
{
    int lines = 1;
    double x = 0;
    for (const Entry &entry : m_entries) {
        if (x > 0 && x + widthOf(entry) > width) {
            ++lines;
            x = 0;
        }
        x += widthOf(entry);
    }
    const int height = int(QFontMetricsF(m_theme.small).height() * 1.2 * lines) + 4;
    setMinimumSize(0, height);
    setMaximumSize(QWIDGETSIZE_MAX, height);
}

void LineLegend::draw(QCPPainter *painter)
{
    const QFontMetricsF metrics(m_theme.small);
    const double line = metrics.height();
    double x = rect().left();
    double y = rect().top() + 2;
    painter->setFont(m_theme.small);
    for (const Entry &entry : m_entries) {
        if (x > rect().left() && x + widthOf(entry) > rect().right() + line) {
            x = rect().left();
            y += line * 1.2;
        }
        const QRectF swatch(x, y + line * 0.15, line * 1.1, line * 0.7);
        if (entry.kind == Entry::Kind::Area) {
            painter->fillRect(swatch, entry.colour);
        } else if (entry.kind != Entry::Kind::Note) {
            const Qt::PenStyle style = entry.kind == Entry::Kind::Dashed       ? Qt::DashLine
                                       : entry.kind == Entry::Kind::Dotted     ? Qt::DotLine
                                       : entry.kind == Entry::Kind::DashDotted ? Qt::DashDotLine
                                                                               : Qt::SolidLine;
            painter->setPen(QPen(entry.colour, 1.6, style, Qt::FlatCap));
            painter->drawLine(QLineF(swatch.left(), swatch.center().y(), swatch.right(), swatch.center().y()));
        }
        painter->setPen(entry.kind == Entry::Kind::Note ? m_theme.muted : m_theme.text);
        const double indent = entry.kind == Entry::Kind::Note ? 0 : line * 1.5;
        painter->drawText(QRectF(x + indent, y, metrics.horizontalAdvance(entry.label) + 2, line),
                          int(Qt::AlignLeft) | int(Qt::AlignVCenter) | wholeText, entry.label);
        x += widthOf(entry);
    }
}

} // namespace headroom
