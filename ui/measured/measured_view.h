// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/measure/comparison.h"
#include "ui/measured/measured_runs.h"

#include <QWidget>

class QLabel;
class QProgressBar;
class QPushButton;
class QStackedWidget;
class QTreeView;
class QTreeWidget;

namespace headroom {

class ComparisonModel;
class DisplaySettings;

/// The Measured tab: the plan's runs on the left, the chosen one beside what is predicted on the right, and how far a run is that
/// goes on.
class MeasuredView : public QWidget
{
    Q_OBJECT
public:
    MeasuredView(DisplaySettings *display, MeasuredRuns *runs, QWidget *parent = nullptr);

    void setComparison(const Comparison &comparison);
    /// There is a run and no estimate to lay beside it.
    void setReason(const QString &reason);
    /// What the run that goes on says of itself; empty: none goes on.
    void setProgress(const QString &text);

    ComparisonModel *model() const { return m_model; }
    QTreeView *table() const { return m_table; }
    QTreeWidget *list() const { return m_list; }
    QTreeWidget *snapshotList() const { return m_snapshots; }
    QString csv() const;
    void copy();

signals:
    void measureRequested();
    void importRequested();
    void removeRequested();
    void cancelRequested();
    void takePlanRequested();
    void exportRequested();

protected:
    bool eventFilter(QObject *watched, QEvent *event) override;

private:
    void fillList();
    void showCurrent();
    void fillSnapshots();
    void showMenu(const QPoint &at);

    DisplaySettings *m_display;
    MeasuredRuns *m_runs;
    ComparisonModel *m_model;
    QTreeWidget *m_list, *m_snapshots;
    QTreeView *m_table;
    QLabel *m_summary, *m_about, *m_progress;
    QPushButton *m_takePlan, *m_remove, *m_cancel, *m_measure;
    QWidget *m_progressRow;
    QStackedWidget *m_pages;
    bool m_filling = false;
};

} // namespace headroom
