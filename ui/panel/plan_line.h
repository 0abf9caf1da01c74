// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLineEdit>

namespace headroom {

/// A line of text for a field. What is typed counts when it is finished (Enter, or focus leaves).
class PlanLine : public QLineEdit
{
    Q_OBJECT
public:
    explicit PlanLine(QWidget *parent = nullptr);

    /// Shows what the plan holds; emits nothing. What is being typed stays.
    void showCommitted(const QString &text);
    /// Finishes what is being typed.
    void commit();
    /// Whether something was typed that is not in the plan yet.
    bool isPending() const { return text() != m_committed; }

signals:
    /// Another text than the plan's was finished.
    void committed(const QString &text);

private:
    QString m_committed;
};

} // namespace headroom
