// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/plan/training_plan.h"

#include <QLineEdit>

class QCompleter;

namespace headroom {

class ModelList;
class WordFilter;

/// The model of the plan as a line that is searched by typing: every word must be in the id or the family. A list drops
/// down; Enter or a click takes a preset, Escape leaves the plan's model.
class ModelChooser : public QLineEdit
{
    Q_OBJECT
public:
    explicit ModelChooser(QWidget *parent = nullptr);

    /// Shows the plan's model; emits nothing.
    void setModel(const ModelChoice &model);
    /// What the list shows for the text typed so far; for tests and for the popup.
    WordFilter *matches() const { return m_matches; }
    QCompleter *popupList() const { return m_completer; }

signals:
    void presetChosen(const QString &id);
    void openConfigRequested();

protected:
    void keyPressEvent(QKeyEvent *event) override;
    void focusInEvent(QFocusEvent *event) override;
    void focusOutEvent(QFocusEvent *event) override;
    void mouseReleaseEvent(QMouseEvent *event) override;
    void changeEvent(QEvent *event) override;

private:
    void showMatches(const QString &search);
    void choose(const QString &id);
    void giveUp();

    QString m_shown;
    ModelList *m_models;
    WordFilter *m_matches;
    QCompleter *m_completer;
    QAction *m_search;
    QAction *m_openConfig;
};

} // namespace headroom
