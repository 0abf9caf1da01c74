// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>

#include <functional>

class QWidget;

namespace headroom {

/// Undo and redo belong to the plan: a text field has them only while it holds something that was typed and is not in the
/// plan yet. Qt's text fields would take the keys always, also where they have nothing to undo.
class UndoKeys : public QObject
{
    Q_OBJECT
public:
    /// Watches `editor`, and goes with it. `isPending`: whether what stands in it is not in the plan yet.
    UndoKeys(QWidget *editor, std::function<bool()> isPending);

    bool eventFilter(QObject *watched, QEvent *event) override;

private:
    std::function<bool()> m_isPending;
};

} // namespace headroom
