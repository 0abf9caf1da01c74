// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/panel/field_editor.h"

#include <QWidget>

#include <memory>

class QLabel;
class QToolButton;

namespace headroom {

class ComponentDots;

/// One field of the form: label, component dots, reset button, the editor, and below it what is wrong with the value.
class FieldRow : public QWidget
{
    Q_OBJECT
public:
    explicit FieldRow(const Field &field, QWidget *parent = nullptr);
    ~FieldRow() override;

    const Field &field() const { return m_field; }
    FieldEditor &editor() { return *m_editor; }
    QToolButton *resetButton() const { return m_reset; }
    QString issue() const;

    /// Shows the plan's value, whether it differs from `reference` and whether the field applies.
    void showPlan(const TrainingPlan &plan, const TrainingPlan &reference);
    /// Shows what is wrong at the field; empty: nothing.
    void setIssue(const QString &text);
    /// The label's text with this letter as its mnemonic (null: none).
    void setMnemonic(QChar letter);
    /// Puts the keyboard focus on the exact entry.
    void takeFocus();

signals:
    void edited(const headroom::FieldValue &value);
    void resetRequested();
    void dragStarted();
    void dragFinished();

protected:
    void changeEvent(QEvent *event) override;

private:
    void describe(const QString &reason, const QString &referenceText);
    void colourIssue();

    const Field &m_field;
    std::unique_ptr<FieldEditor> m_editor;
    QLabel *m_label;
    ComponentDots *m_dots;
    QToolButton *m_reset;
    QLabel *m_issue;
    QString m_reason;
    QString m_referenceText;
    bool m_changed = false;
};

} // namespace headroom
