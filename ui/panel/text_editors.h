// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/panel/field_editor.h"

#include <QStringList>

class QAction;
class QMenu;

namespace headroom {

class PlanLine;

/// Free text, with the field's choices as suggestions where it has some.
class TextEditor : public FieldEditor
{
    Q_OBJECT
public:
    TextEditor(const Field &field, QWidget *parent);

    void setValue(const FieldValue &value) override;
    void commit() override;

private:
    PlanLine *m_line;
};

/// Names with commas between them, and a menu that ticks the usual ones. A list whose field also takes one word for all
/// ("all-linear") writes that word.
class TextListEditor : public FieldEditor
{
    Q_OBJECT
public:
    TextListEditor(const Field &field, QWidget *parent);

    void setValue(const FieldValue &value) override;
    void commit() override;
    bool eventFilter(QObject *watched, QEvent *event) override;

private:
    void choose(const QStringList &names);
    void fillMenu();
    QStringList names() const;

    PlanLine *m_line;
    QMenu *m_menu;
    QAction *m_open = nullptr; ///< null: no names are known
    QStringList m_known;
};

} // namespace headroom
