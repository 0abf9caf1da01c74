// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/plot.h"

#include <QHelpEvent>
#include <QToolTip>

namespace headroom {

Plot::Plot(QWidget *parent)
    : QCustomPlot(parent)
{
    setMouseTracking(true);
    setNoAntialiasingOnDrag(false);
    // Immediate repaints would paint more than once a frame while a slider is dragged.
    setPlottingHint(QCP::phImmediateRefresh, false);
    setPlottingHint(QCP::phCacheLabels, true);
}

void Plot::updateLayout()
{
    if (beforeLayout)
        beforeLayout(viewport().size());
    QCustomPlot::updateLayout();
}

void Plot::paintEvent(QPaintEvent *event)
{
    QCustomPlot::paintEvent(event);
    emit painted();
}

void Plot::leaveEvent(QEvent *event)
{
    QCustomPlot::leaveEvent(event);
    emit mouseLeft();
}

bool Plot::event(QEvent *event)
{
    if (event->type() == QEvent::ToolTip && toolTipAt) {
        const auto *help = static_cast<QHelpEvent *>(event);
        const QString text = toolTipAt(help->pos());
        if (text.isEmpty())
            QToolTip::hideText();
        else
            QToolTip::showText(help->globalPos(), text, this);
        return true;
    }
    return QCustomPlot::event(event);
}

} // namespace headroom
