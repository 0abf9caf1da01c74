// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <qcustomplot.h>

#include <functional>

namespace headroom {

/// QCustomPlot with what our charts miss in it: a say in the layout before it is made (on the screen and in print alike),
/// and word of what happens to the widget.
class Plot : public QCustomPlot
{
    Q_OBJECT
public:
    explicit Plot(QWidget *parent = nullptr);

    /// Called with the size to draw in before each layout.
    std::function<void(QSize)> beforeLayout;
    /// Text of the tool tip at a point; empty: none.
    std::function<QString(QPoint)> toolTipAt;

signals:
    void painted();
    void mouseLeft();

protected:
    void updateLayout() override;
    void paintEvent(QPaintEvent *event) override;
    void leaveEvent(QEvent *event) override;
    bool event(QEvent *event) override;
};

} // namespace headroom
