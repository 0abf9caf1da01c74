// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/panel/field_editor.h"

#include <QStringList>

class QAction;
class QLineEdit;
class QMenu;

namespace headroom {

/// Free text, with the field's choices as suggestions where it has some.
class TextEditor : public FieldEditor
{
    Q_OBJECT
public:
    TextEditor(const Field &field, QWidget *parent);

    void setValue(const FieldValue &value) override;

private:
    void commit();

    QLineEdit *m_line;
    QString m_shown; ///< what the plan holds: finished editing without a change is no change
};

/// Names with commas between them, and a menu that ticks the usual ones. A list whose field also takes one word for all
/// ("all-linear") writes that word.
class TextListEditor : public FieldEditor
{
    Q_OBJECT
public:
    TextListEditor(const Field &field, QWidget *parent);

    void setValue(const FieldValue &value) override;
    bool eventFilter(QObject *watched, QEvent *event) override;

private:
    void commit(const QStringList &names);
    void commitLine();
    void fillMenu();
    QStringList names() const;

    QLineEdit *m_line;
    QMenu *m_menu;
    QAction *m_open = nullptr; ///< null: no names are known
    QStringList m_known;
    QString m_shown;
};

} // namespace headroom
