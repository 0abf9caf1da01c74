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
        small.setPointSizeF(small.pointSizeF() * 0.85);
    return small;
}

int StopSlider::nameHeight() const { return m_names.isEmpty() ? 0 : QFontMetrics(nameFont()).height(); }

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

void StopSlider::paintEvent(QPaintEvent *event)
{
    QSlider::paintEvent(event);
    if (m_names.isEmpty())
        return;
    QPainter painter(this);
    painter.setFont(nameFont());
    painter.setPen(palette().color(isEnabled() ? QPalette::Active : QPalette::Disabled, QPalette::WindowText));
    // All names or none: half a scale misleads, and the box beside the slider names the current stop in any case.
    std::vector<int> lefts;
    int end = -1;
    for (int position = 0; position <= maximum() && position < m_names.size(); ++position) {
        const int width = painter.fontMetrics().horizontalAdvance(m_names.at(position));
        const int left = std::clamp(handleCentre(position).x() - width / 2, 0, std::max(0, this->width() - width));
        if (left <= end)
            return;
        lefts.push_back(left);
        end = left + width + painter.fontMetrics().averageCharWidth() / 2;
    }
    for (std::size_t i = 0; i < lefts.size(); ++i)
        painter.drawText(lefts[i], height() - painter.fontMetrics().descent(), m_names.at(static_cast<qsizetype>(i)));
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
