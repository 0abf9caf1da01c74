// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QWidget>

#include <cstdint>

namespace headroom {

/// "Weights, optimizer": the components of a mask of Moves, for tips and screen readers; empty: none.
QString movedComponents(std::uint8_t moves);

/// Small dots in the colours of the components that a field moves. Five fixed places, so that the same component stands
/// in the same column of every row: colour is not the only thing that tells them apart.
class ComponentDots : public QWidget
{
    Q_OBJECT
public:
    /// `moves`: a mask of Moves.
    explicit ComponentDots(std::uint8_t moves, QWidget *parent = nullptr);

    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent *event) override;

private:
    std::uint8_t m_moves;
};

} // namespace headroom
