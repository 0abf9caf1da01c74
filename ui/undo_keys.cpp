// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/undo_keys.h"

#include <QKeyEvent>
#include <QWidget>

namespace headroom {

UndoKeys::UndoKeys(QWidget *editor, std::function<bool()> isPending)
    : QObject(editor)
    , m_isPending(std::move(isPending))
{
    editor->installEventFilter(this);
}

bool UndoKeys::eventFilter(QObject *watched, QEvent *event)
{
    if (event->type() == QEvent::ShortcutOverride || event->type() == QEvent::KeyPress) {
        const auto *key = static_cast<QKeyEvent *>(event);
        // The window's second key for redo is no standard key everywhere.
        const bool isUndoOrRedo = key->matches(QKeySequence::Undo) || key->matches(QKeySequence::Redo) ||
                                  (key->modifiers() == Qt::ControlModifier && key->key() == Qt::Key_Y);
        if (isUndoOrRedo && !m_isPending()) {
            event->ignore();
            return true;
        }
    }
    return QObject::eventFilter(watched, event);
}

} // namespace headroom
