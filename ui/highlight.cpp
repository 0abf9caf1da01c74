// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/highlight.h"

namespace headroom {

Highlight::Highlight(QObject *parent)
    : QObject(parent)
{}

void Highlight::setHovered(const HighlightTarget &target)
{
    if (target == m_hovered)
        return;
    const HighlightTarget before = current();
    m_hovered = target;
    if (current() != before)
        emit changed();
}

void Highlight::setSelected(const HighlightTarget &target)
{
    if (target == m_selected)
        return;
    const HighlightTarget before = current();
    m_selected = target;
    emit selectionChanged();
    if (current() != before)
        emit changed();
}

} // namespace headroom
