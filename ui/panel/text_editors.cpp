// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panel/text_editors.h"

#include "ui/icons.h"
#include "ui/panel/plan_line.h"

#include <QAction>
#include <QCompleter>
#include <QEvent>
#include <QMenu>

namespace headroom {
namespace {

const QString allLinear = QStringLiteral("all-linear");

/// Names of the modules of the decoders that Headroom knows, offered in the menu. Others can be typed.
QStringList knownModules(const Field &field)
{
    if (field.path == "method.targets")
        return {QStringLiteral("q_proj"),    QStringLiteral("k_proj"),  QStringLiteral("v_proj"),   QStringLiteral("o_proj"),
                QStringLiteral("gate_proj"), QStringLiteral("up_proj"), QStringLiteral("down_proj")};
    if (field.path == "method.modules_to_save")
        return {QStringLiteral("embed_tokens"), QStringLiteral("lm_head")};
    return {};
}

QStringList toList(const std::vector<std::string> &names)
{
    QStringList list;
    for (const std::string &name : names)
        list << QString::fromStdString(name);
    return list;
}

} // namespace

TextEditor::TextEditor(const Field &field, QWidget *parent)
    : FieldEditor(field)
    , m_line(new PlanLine(parent))
{
    QStringList suggestions;
    for (const FieldChoice &choice : field.choices)
        suggestions << fromView(choice.value);
    if (!suggestions.isEmpty())
        m_line->setCompleter(new QCompleter(suggestions, m_line));
    if (field.nullable)
        m_line->setPlaceholderText(QString::fromStdString(displayValue(field, {})));
    setBox(m_line);
    connect(m_line, &PlanLine::committed, this, [this](const QString &typed) {
        const QString text = typed.trimmed();
        emit edited(this->field().nullable && text.isEmpty() ? FieldValue{} : FieldValue{text.toStdString()});
    });
}

void TextEditor::commit() { m_line->commit(); }

void TextEditor::setValue(const FieldValue &value)
{
    const auto *text = std::get_if<std::string>(&value);
    m_line->showCommitted(text ? QString::fromStdString(*text) : QString());
}

TextListEditor::TextListEditor(const Field &field, QWidget *parent)
    : FieldEditor(field)
    , m_line(new PlanLine(parent))
    , m_menu(new QMenu(m_line))
    , m_known(knownModules(field))
{
    setBox(m_line);
    m_line->setPlaceholderText(tr("none"));
    connect(m_line, &PlanLine::committed, this, [this] { choose(names()); });
    if (m_known.isEmpty())
        return;
    m_open = m_line->addAction(themedIcon(QStringLiteral("list"), m_line->palette()), QLineEdit::TrailingPosition);
    m_open->setText(tr("Choose from known names"));
    m_open->setToolTip(m_open->text());
    m_open->setShortcut(Qt::ALT | Qt::Key_Down);
    m_open->setShortcutContext(Qt::WidgetShortcut);
    m_line->installEventFilter(this);
    connect(m_open, &QAction::triggered, this, [this] {
        fillMenu();
        m_menu->popup(m_line->mapToGlobal(QPoint(0, m_line->height())));
    });
}

bool TextListEditor::eventFilter(QObject *watched, QEvent *event)
{
    if (event->type() == QEvent::PaletteChange)
        m_open->setIcon(themedIcon(QStringLiteral("list"), m_line->palette()));
    return FieldEditor::eventFilter(watched, event);
}

QStringList TextListEditor::names() const
{
    QStringList list;
    for (const QString &name : m_line->text().split(QLatin1Char(','), Qt::SkipEmptyParts))
        if (const QString trimmed = name.trimmed(); !trimmed.isEmpty() && !list.contains(trimmed))
            list << trimmed;
    return list;
}

void TextListEditor::fillMenu()
{
    m_menu->clear();
    const QStringList chosen = names();
    if (field().path == "method.targets") {
        QAction *all = m_menu->addAction(tr("All linear layers"));
        all->setCheckable(true);
        all->setChecked(chosen == QStringList(allLinear));
        connect(all, &QAction::triggered, this, [this] { choose({allLinear}); });
        m_menu->addSeparator();
    }
    for (const QString &name : m_known) {
        QAction *action = m_menu->addAction(name);
        action->setCheckable(true);
        action->setChecked(chosen.contains(name));
        connect(action, &QAction::triggered, this, [this, name](bool on) {
            QStringList list = names();
            list.removeAll(allLinear);
            list.removeAll(name);
            if (on)
                list << name;
            choose(list);
        });
    }
}

void TextListEditor::commit() { m_line->commit(); }

void TextListEditor::choose(const QStringList &list)
{
    // An empty list of targets would train nothing: PEFT refuses it, so it stands for the default.
    const bool targets = field().path == "method.targets";
    if (targets && (list.isEmpty() || list.contains(allLinear))) {
        emit edited(allLinear.toStdString());
        return;
    }
    std::vector<std::string> value;
    for (const QString &name : list)
        value.push_back(name.toStdString());
    emit edited(value);
}

void TextListEditor::setValue(const FieldValue &value)
{
    if (const auto *word = std::get_if<std::string>(&value))
        m_line->showCommitted(QString::fromStdString(*word));
    else if (const auto *list = std::get_if<std::vector<std::string>>(&value))
        m_line->showCommitted(toList(*list).join(QLatin1String(", ")));
    else
        m_line->showCommitted({});
}

} // namespace headroom
