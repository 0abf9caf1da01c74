// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"
#include "ui/breakdown/breakdown_model.h"
#include "ui/highlight.h"

#include <QSet>
#include <QTreeView>

#include <memory>

namespace headroom {

/// The Breakdown tab. Tells the other views what is hovered and selected, and follows them. The breakdown is made only
/// while the tab can be seen.
class BreakdownView : public QTreeView
{
    Q_OBJECT
public:
    BreakdownView(DisplaySettings *display, Highlight *highlight, QWidget *parent = nullptr);

    void setEstimate(std::shared_ptr<const Estimate> estimate);
    void setStep(Estimate::Step step);
    BreakdownModel *breakdown() const { return m_model; }
    /// The whole table; what is not made yet is made now.
    QString csv();
    /// Copies the selected rows.
    void copy();
    /// Expands, selects and scrolls to what the highlight has selected.
    void showSelected();

signals:
    void exportRequested();

protected:
    void showEvent(QShowEvent *event) override;
    void leaveEvent(QEvent *event) override;
    void keyPressEvent(QKeyEvent *event) override;
    void contextMenuEvent(QContextMenuEvent *event) override;
    void currentChanged(const QModelIndex &current, const QModelIndex &previous) override;

private:
    void refresh();
    void keepExpanded();
    void restoreExpanded();
    HighlightTarget target(const QModelIndex &index) const;

    BreakdownModel *m_model;
    Highlight *m_highlight;
    std::shared_ptr<const Estimate> m_estimate;
    Estimate::Step m_step = Estimate::Step::Steady;
    bool m_stale = false;
    bool m_following = false; ///< the selection comes from another view: not told back
    QSet<QString> m_expanded; ///< paths of labels, kept over a reset of the model
};

} // namespace headroom
