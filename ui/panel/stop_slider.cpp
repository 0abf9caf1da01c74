// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panel/stop_slider.h"

#include <QMouseEvent>
#include <QPainter>
#include <QStyle>
#include <QStyleOptionSlider>
#include <QWheelEvent>

#include <algorithm>
#include <vector>

namespace headroom {

StopSlider::StopSlider(QWidget *parent)
    : QSlider(Qt::Horizontal, parent)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setFocusPolicy(Qt::StrongFocus);
}

void StopSlider::setStopNames(const QStringList &names)
{
    m_names = names;
    updateGeometry();
    update();
}

QFont StopSlider::nameFont() const
{
    QFont small = font();
    if (small.pointSizeF() > 0)
        small.setPointSizeF(small.pointSizeF() * 0.8);
    return small;
}

int StopSlider::nameHeight() const
{
    qsizetype lines = 0;
    for (const QString &name : m_names)
        lines = std::max(lines, name.count(QLatin1Char('\n')) + 1);
    return static_cast<int>(lines) * QFontMetrics(nameFont()).height();
}

QSize StopSlider::sizeHint() const { return QSlider::sizeHint() + QSize(0, nameHeight()); }

QSize StopSlider::minimumSizeHint() const { return QSlider::minimumSizeHint() + QSize(0, nameHeight()); }

void StopSlider::initStyleOption(QStyleOptionSlider *option) const
{
    QSlider::initStyleOption(option);
    option->rect.setHeight(height() - nameHeight());
}

QPoint StopSlider::handleCentre(int position) const
{
    QStyleOptionSlider option;
    initStyleOption(&option);
    option.sliderPosition = position;
    return style()->subControlRect(QStyle::CC_Slider, &option, QStyle::SC_SliderHandle, this).center();
}

QList<int> StopSlider::namedPositions() const
{
    const auto collide = [this](int a, int b) { return nameRect(a).intersects(nameRect(b)); };
    QList<int> all;
    for (int position = minimum(); position <= maximum() && position < m_names.size(); ++position)
        all << position;
    const auto first = std::adjacent_find(all.begin(), all.end(), collide);
    if (first == all.end())
        return all;
    // Too narrow for all: where the handle stands, and the ends where they leave it room.
    QList<int> few = {value()};
    for (const int end : {minimum(), maximum()})
        if (std::none_of(few.begin(), few.end(), [&](int other) { return other == end || collide(other, end); }))
            few << end;
    return few;
}

QRect StopSlider::nameRect(int position) const
{
    const QFontMetrics metrics(nameFont());
    const QSize size = metrics.size(0, m_names.value(position));
    const int gap = metrics.averageCharWidth() / 3;
    const int left = std::clamp(handleCentre(position).x() - size.width() / 2, 0, std::max(0, width() - size.width()));
    return {left, height() - nameHeight(), size.width() + gap, nameHeight()};
}

void StopSlider::paintEvent(QPaintEvent *event)
{
    QSlider::paintEvent(event);
    if (m_names.isEmpty())
        return;
    QPainter painter(this);
    painter.setFont(nameFont());
    painter.setPen(palette().color(isEnabled() ? QPalette::Active : QPalette::Disabled, QPalette::WindowText));
    for (const int position : namedPositions()) {
        const QRect area = nameRect(position);
        painter.drawText(area.adjusted(0, 0, 2, 0), int(Qt::AlignTop) | int(Qt::TextDontClip), m_names.value(position));
    }
}

void StopSlider::mousePressEvent(QMouseEvent *event)
{
    if (event->button() != Qt::LeftButton || maximum() <= minimum()) {
        QSlider::mousePressEvent(event);
        return;
    }
    // Where the handle is not yet, it goes first: one press takes a value, the same press can go on as a drag.
    const int first = handleCentre(minimum()).x();
    const int last = handleCentre(maximum()).x();
    const int x = event->position().toPoint().x();
    const int span = std::max(1, std::abs(last - first));
    const int offset = std::clamp(last >= first ? x - first : first - x, 0, span);
    const int target = minimum() + (offset * (maximum() - minimum()) + span / 2) / span;
    setSliderDown(true);
    setSliderPosition(target);
    const QPoint centre = handleCentre(target);
    QMouseEvent onHandle(event->type(), QPointF(centre), mapToGlobal(QPointF(centre)), event->button(), event->buttons(),
                         event->modifiers());
    QSlider::mousePressEvent(&onHandle);
    event->accept();
}

void StopSlider::wheelEvent(QWheelEvent *event)
{
    // In a panel that scrolls, the wheel belongs to the panel until the slider was chosen.
    if (hasFocus())
        QSlider::wheelEvent(event);
    else
        event->ignore();
}

void StopSlider::changeEvent(QEvent *event)
{
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange)
        updateGeometry();
    QSlider::changeEvent(event);
}

} // namespace headroom
