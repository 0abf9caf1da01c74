// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QStringList>
#include <QWidget>

class QVBoxLayout;

namespace headroom {

/// Messages that belong to no field, said in place: each stays until it is closed or the next file replaces it.
class MessageBar : public QWidget
{
    Q_OBJECT
public:
    enum class Kind { Information, Warning, Error };
    explicit MessageBar(QWidget *parent = nullptr);

    static constexpr int maximumMessages = 3;

    /// A message that stands already is not repeated; the oldest makes room.
    void show(Kind kind, const QString &text);
    void clear();
    /// The texts, oldest first.
    QStringList messages() const;

private:
    void remove(QWidget *message);

    QVBoxLayout *m_layout;
    QList<QWidget *> m_messages;
};

} // namespace headroom
