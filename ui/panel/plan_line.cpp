// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panel/plan_line.h"

#include "ui/undo_keys.h"

namespace headroom {

PlanLine::PlanLine(QWidget *parent)
    : QLineEdit(parent)
{
    new UndoKeys(this, [this] { return isPending(); });
    connect(this, &QLineEdit::editingFinished, this, &PlanLine::commit);
}

void PlanLine::showCommitted(const QString &text)
{
    const bool keep = hasFocus() && isPending();
    m_committed = text;
    if (keep)
        return;
    if (this->text() != text)
        setText(text);
    setCursorPosition(0);
}

void PlanLine::commit()
{
    if (!isPending())
        return;
    m_committed = text();
    emit committed(m_committed);
}

} // namespace headroom
