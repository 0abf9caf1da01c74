// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QStringList>
#include <QWidget>

#include <functional>

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
    /// A message with a button that does what is offered. It stays until it is taken or closed. `name`: of the button, for
    /// those who hear it without the text before it.
    void offer(const QString &text, const QString &button, const QString &name, std::function<void()> accept);
    /// Removes what was said; what is offered stays.
    void clear();
    /// The texts, oldest first.
    QStringList messages() const;

private:
    class Message;

    void add(Message *message);
    void remove(Message *message);
    /// The oldest that offers nothing; null: none.
    Message *oldest() const;

    QVBoxLayout *m_layout;
    QList<Message *> m_messages;
};

} // namespace headroom
