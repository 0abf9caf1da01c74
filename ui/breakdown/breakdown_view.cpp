// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/breakdown/breakdown_view.h"

#include "ui/breakdown/table_text.h"
#include "ui/palette.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QHeaderView>
#include <QKeyEvent>
#include <QMenu>
#include <QScopedValueRollback>
#include <QStyledItemDelegate>

#include <algorithm>

namespace headroom {
namespace {

constexpr double highlightOpacity = 0.22;

/// Tints the rows of the component that any view points at.
class HighlightDelegate : public QStyledItemDelegate
{
public:
    HighlightDelegate(const Highlight *highlight, QObject *parent)
        : QStyledItemDelegate(parent)
        , m_highlight(highlight)
    {}

protected:
    void initStyleOption(QStyleOptionViewItem *option, const QModelIndex &index) const override
    {
        QStyledItemDelegate::initStyleOption(option, index);
        const HighlightTarget &target = m_highlight->current();
        if (!target.component || index.data(BreakdownModel::ComponentRole).toInt() != static_cast<int>(*target.component))
            return;
        const bool whole = target.row.isEmpty();
        if (!whole && index.siblingAtColumn(BreakdownModel::Name).data().toString() != target.row)
            return;
        QColor tint = componentColour(*target.component);
        tint.setAlphaF(highlightOpacity);
        option->backgroundBrush = tint;
    }

private:
    const Highlight *m_highlight;
};

QString pathOf(const QModelIndex &index)
{
    QString path;
    for (QModelIndex at = index.siblingAtColumn(0); at.isValid(); at = at.parent())
        path.prepend(QLatin1Char('/') + at.data().toString());
    return path;
}

} // namespace

BreakdownView::BreakdownView(DisplaySettings *display, Highlight *highlight, QWidget *parent)
    : QTreeView(parent)
    , m_model(new BreakdownModel(display, this))
    , m_highlight(highlight)
{
    setObjectName(QStringLiteral("breakdown"));
    setAccessibleName(tr("Breakdown"));
    setAccessibleDescription(tr("What the memory at the peak consists of: component, group, tensors, each with its rule and source"));
    setModel(m_model);
    setItemDelegate(new HighlightDelegate(highlight, this));
    setSelectionMode(QAbstractItemView::ExtendedSelection);
    setAlternatingRowColors(true);
    setUniformRowHeights(true);
    setMouseTracking(true);
    setFrameShape(QFrame::NoFrame);
    setAllColumnsShowFocus(true);

    const int character = fontMetrics().averageCharWidth();
    header()->setStretchLastSection(true);
    header()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    const int characters[] = {32, 15, 11, 9, 18, 11, 70, 40};
    for (int column = 0; column < BreakdownModel::ColumnCount; ++column)
        header()->resizeSection(column, characters[column] * character);

    connect(this, &QTreeView::entered, this, [this](const QModelIndex &index) { m_highlight->setHovered(target(index)); });
    connect(m_highlight, &Highlight::changed, viewport(), qOverload<>(&QWidget::update));
    connect(m_highlight, &Highlight::selectionChanged, this, &BreakdownView::showSelected);
    connect(m_model, &QAbstractItemModel::modelAboutToBeReset, this, &BreakdownView::keepExpanded);
    connect(m_model, &QAbstractItemModel::modelReset, this, &BreakdownView::restoreExpanded);
}

void BreakdownView::setEstimate(std::shared_ptr<const Estimate> estimate)
{
    m_estimate = std::move(estimate);
    m_stale = true;
    if (isVisible())
        refresh();
}

void BreakdownView::setStep(Estimate::Step step)
{
    if (step == m_step)
        return;
    m_step = step;
    setEstimate(m_estimate);
}

void BreakdownView::refresh()
{
    if (!m_stale)
        return;
    m_stale = false;
    if (!m_estimate) {
        m_model->setRows({}, {});
        return;
    }
    const Peak &peak = m_step == Estimate::Step::First ? m_estimate->firstStep : m_estimate->peak;
    m_model->setRows(m_estimate->breakdown(m_step), peak.allocated);
}

void BreakdownView::showEvent(QShowEvent *event)
{
    refresh();
    showSelected();
    QTreeView::showEvent(event);
}

QString BreakdownView::csv()
{
    refresh();
    return tableAsCsv(*m_model, BreakdownModel::BytesRole);
}

void BreakdownView::copy()
{
    QModelIndexList rows = selectionModel()->selectedRows();
    if (rows.isEmpty())
        return;
    std::sort(rows.begin(), rows.end(),
              [this](const QModelIndex &a, const QModelIndex &b) { return visualRect(a).top() < visualRect(b).top(); });
    QApplication::clipboard()->setText(rowsAsText(rows));
}

HighlightTarget BreakdownView::target(const QModelIndex &index) const
{
    if (!index.isValid())
        return {};
    HighlightTarget target;
    target.component = static_cast<Component>(index.data(BreakdownModel::ComponentRole).toInt());
    if (index.parent().isValid())
        target.row = index.siblingAtColumn(BreakdownModel::Name).data().toString();
    return target;
}

void BreakdownView::showSelected()
{
    const HighlightTarget &wanted = m_highlight->selected();
    if (m_following || !wanted.component || !isVisible() || target(currentIndex()) == wanted)
        return;
    const QScopedValueRollback following(m_following, true);
    QModelIndex index = wanted.row.isEmpty() ? QModelIndex() : m_model->find(*wanted.component, wanted.row);
    if (!index.isValid()) {
        index = m_model->componentIndex(*wanted.component);
        expand(index);
    }
    for (QModelIndex parent = index.parent(); parent.isValid(); parent = parent.parent())
        expand(parent);
    setCurrentIndex(index);
    scrollTo(index);
}

void BreakdownView::currentChanged(const QModelIndex &current, const QModelIndex &previous)
{
    QTreeView::currentChanged(current, previous);
    if (m_following || !current.isValid())
        return;
    const QScopedValueRollback following(m_following, true);
    m_highlight->setSelected(target(current));
}

void BreakdownView::leaveEvent(QEvent *event)
{
    m_highlight->clearHovered();
    QTreeView::leaveEvent(event);
}

void BreakdownView::keyPressEvent(QKeyEvent *event)
{
    if (event->matches(QKeySequence::Copy))
        copy();
    else
        QTreeView::keyPressEvent(event);
}

void BreakdownView::contextMenuEvent(QContextMenuEvent *event)
{
    QMenu menu;
    QAction *copyRows = menu.addAction(tr("&Copy rows"), QKeySequence::Copy, this, &BreakdownView::copy);
    copyRows->setEnabled(selectionModel()->hasSelection());
    menu.addAction(tr("&Expand all"), this, &QTreeView::expandAll);
    menu.addAction(tr("C&ollapse all"), this, &QTreeView::collapseAll);
    menu.addSeparator();
    menu.addAction(tr("E&xport as CSV..."), this, &BreakdownView::exportRequested);
    menu.exec(event->globalPos());
}

void BreakdownView::keepExpanded()
{
    m_expanded.clear();
    const auto keep = [this](const auto &self, const QModelIndex &parent) -> void {
        for (int row = 0; row < m_model->rowCount(parent); ++row) {
            const QModelIndex index = m_model->index(row, 0, parent);
            if (!isExpanded(index))
                continue;
            m_expanded.insert(pathOf(index));
            self(self, index);
        }
    };
    keep(keep, {});
}

void BreakdownView::restoreExpanded()
{
    const auto restore = [this](const auto &self, const QModelIndex &parent) -> void {
        for (int row = 0; row < m_model->rowCount(parent); ++row) {
            const QModelIndex index = m_model->index(row, 0, parent);
            if (!m_expanded.contains(pathOf(index)))
                continue;
            expand(index);
            self(self, index);
        }
    };
    restore(restore, {});
}

} // namespace headroom
