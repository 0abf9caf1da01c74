// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/message_bar.h"

#include "ui/icons.h"
#include "ui/palette.h"

#include <QEvent>
#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace headroom {

class MessageBar::Message : public QFrame
{
public:
    Message(MessageBar::Kind kind, const QString &text, QWidget *parent)
        : QFrame(parent)
        , m_kind(kind)
        , m_icon(new QLabel(this))
        , m_text(new QLabel(text, this))
        , m_close(new QToolButton(this))
    {
        setFrameShape(QFrame::StyledPanel);
        setAutoFillBackground(true);
        setBackgroundRole(QPalette::Base);
        m_text->setWordWrap(true);
        m_text->setTextFormat(Qt::PlainText);
        m_text->setTextInteractionFlags(Qt::TextSelectableByMouse);
        m_close->setAutoRaise(true);
        m_close->setToolTip(MessageBar::tr("Close this message"));
        m_close->setAccessibleName(MessageBar::tr("Close message"));
        m_close->setAccessibleDescription(text);
        auto *layout = new QHBoxLayout(this);
        layout->setContentsMargins(8, 3, 4, 3);
        layout->addWidget(m_icon);
        layout->addWidget(m_text, 1);
        layout->addWidget(m_close);
        setAccessibleName(text);
        drawIcons();
    }
    QToolButton *closeButton() const { return m_close; }
    QString text() const { return m_text->text(); }
    bool isOffer() const { return m_accept != nullptr; }
    QPushButton *addOffer(const QString &button, const QString &name)
    {
        m_accept = new QPushButton(button, this);
        m_accept->setAutoDefault(false);
        m_accept->setAccessibleName(name);
        m_accept->setAccessibleDescription(text());
        auto *row = static_cast<QHBoxLayout *>(layout());
        row->insertWidget(row->indexOf(m_close), m_accept);
        return m_accept;
    }

protected:
    void changeEvent(QEvent *event) override
    {
        if (event->type() == QEvent::PaletteChange)
            drawIcons();
        QFrame::changeEvent(event);
    }

private:
    void drawIcons()
    {
        const int size = fontMetrics().height();
        const QColor warning = readableOn(overLimitColour(), palette().color(QPalette::Base));
        const QIcon icon = m_kind == MessageBar::Kind::Information ? themedIcon(QStringLiteral("information"), palette())
                           : m_kind == MessageBar::Kind::Warning   ? colouredIcon(QStringLiteral("warning"), warning)
                                                                   : colouredIcon(QStringLiteral("cross"), warning);
        m_icon->setPixmap(icon.pixmap(size, size));
        m_close->setIcon(themedIcon(QStringLiteral("close"), palette()));
    }

    MessageBar::Kind m_kind;
    QLabel *m_icon;
    QLabel *m_text;
    QPushButton *m_accept = nullptr;
    QToolButton *m_close;
};

MessageBar::MessageBar(QWidget *parent)
    : QWidget(parent)
    , m_layout(new QVBoxLayout(this))
{
    setObjectName(QStringLiteral("messageBar"));
    m_layout->setContentsMargins(6, 4, 6, 0);
    m_layout->setSpacing(3);
    hide();
}

void MessageBar::show(Kind kind, const QString &text)
{
    if (messages().contains(text))
        return;
    while (m_messages.size() >= maximumMessages && oldest())
        remove(oldest());
    add(new Message(kind, text, this));
}

void MessageBar::offer(const QString &text, const QString &button, const QString &name, std::function<void()> accept)
{
    auto *message = new Message(Kind::Information, text, this);
    connect(message->addOffer(button, name), &QPushButton::clicked, this, [this, message, accept = std::move(accept)] {
        const auto accepted = accept; // goes with the message
        remove(message);
        accepted();
    });
    add(message);
}

void MessageBar::add(Message *message)
{
    m_messages << message;
    m_layout->addWidget(message);
    connect(message->closeButton(), &QToolButton::clicked, this, [this, message] { remove(message); });
    setVisible(true);
}

MessageBar::Message *MessageBar::oldest() const
{
    const auto found = std::find_if(m_messages.begin(), m_messages.end(), [](const Message *message) { return !message->isOffer(); });
    return found == m_messages.end() ? nullptr : *found;
}

void MessageBar::remove(Message *message)
{
    m_messages.removeAll(message);
    message->hide();
    message->deleteLater();
    setVisible(!m_messages.isEmpty());
}

void MessageBar::clear()
{
    while (Message *message = oldest())
        remove(message);
}

QStringList MessageBar::messages() const
{
    QStringList texts;
    for (const Message *message : m_messages)
        texts << message->text();
    return texts;
}

} // namespace headroom
