// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panel/component_dots.h"

#include "ui/palette.h"

#include <QPainter>
#include <QStringList>

namespace headroom {
namespace {

bool moves(std::uint8_t mask, Component component) { return (mask >> static_cast<unsigned>(component)) & 1U; }

} // namespace

QString movedComponents(std::uint8_t mask)
{
    QStringList names;
    for (Component component : allComponents)
        if (moves(mask, component))
            names << componentLabel(component).toLower();
    return names.join(QLatin1String(", "));
}

ComponentDots::ComponentDots(std::uint8_t moves, QWidget *parent)
    : QWidget(parent)
    , m_moves(moves)
{
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    const QString names = movedComponents(moves);
    setToolTip(names.isEmpty() ? QString() : tr("Moves: %1").arg(names));
}

QSize ComponentDots::sizeHint() const
{
    const int dot = fontMetrics().height() / 2;
    return {static_cast<int>(componentCount) * (dot + 2), dot + 2};
}

void ComponentDots::paintEvent(QPaintEvent *)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    const int dot = height() - 2;
    int x = 1;
    for (Component component : allComponents) {
        if (moves(m_moves, component)) {
            painter.setBrush(isEnabled() ? componentColour(component) : palette().color(QPalette::Disabled, QPalette::Mid));
            painter.drawEllipse(x, 1, dot, dot);
        }
        x += dot + 2;
    }
}

} // namespace headroom
