// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QSlider>
#include <QStringList>

namespace headroom {

/// A horizontal slider that jumps to where it is clicked and, with few stops, writes each stop's name below it.
class StopSlider : public QSlider
{
    Q_OBJECT
public:
    explicit StopSlider(QWidget *parent = nullptr);

    /// Names of the positions from 0, some perhaps of several lines. Where not all of them have room, the one that the
    /// handle stands at is written, and the ends.
    void setStopNames(const QStringList &names);
    const QStringList &stopNames() const { return m_names; }
    /// Positions whose names are written in the width as it is.
    QList<int> namedPositions() const;

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    /// Centre of the handle at a position, in the widget's coordinates.
    QPoint handleCentre(int position) const;

protected:
    void initStyleOption(QStyleOptionSlider *option) const override;
    void paintEvent(QPaintEvent *event) override;
    void mousePressEvent(QMouseEvent *event) override;
    void wheelEvent(QWheelEvent *event) override;
    void changeEvent(QEvent *event) override;

private:
    QFont nameFont() const;
    int nameHeight() const;
    QRect nameRect(int position) const;

    QStringList m_names;
};

} // namespace headroom
