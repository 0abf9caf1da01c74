// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/plain_label.h"

#include <QEvent>

namespace headroom {

PlainLabel::PlainLabel(bool wraps, QWidget *parent)
    : QLabel(parent)
{
    setTextFormat(Qt::PlainText);
    setTextInteractionFlags(Qt::TextSelectableByMouse);
    setWordWrap(wraps);
}

QSize PlainLabel::sizeHint() const
{
    const QFontMetrics metrics = fontMetrics();
    // Where it wraps, the layout gives it all the room there is, and asks for the height.
    const int width = wordWrap() ? metrics.height() * 20 : metrics.horizontalAdvance(text()) + 1;
    return {width, metrics.height()};
}

QSize PlainLabel::minimumSizeHint() const
{
    const QFontMetrics metrics = fontMetrics();
    return {wordWrap() ? metrics.height() * 4 : sizeHint().width(), metrics.height()};
}

int PlainLabel::heightForWidth(int width) const
{
    if (width != m_width || text() != m_measured) {
        m_height = fontMetrics().boundingRect(0, 0, width, QWIDGETSIZE_MAX, Qt::TextWordWrap, text()).height();
        m_height = std::max(m_height, fontMetrics().height());
        m_width = width;
        m_measured = text();
    }
    return m_height;
}

void PlainLabel::changeEvent(QEvent *event)
{
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange)
        m_width = -1;
    QLabel::changeEvent(event);
}

} // namespace headroom
