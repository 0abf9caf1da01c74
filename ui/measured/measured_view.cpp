// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/measured/measured_view.h"

#include "core/report/measured.h"
#include "ui/breakdown/table_text.h"
#include "ui/display_settings.h"
#include "ui/measured/comparison_model.h"

#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QMenu>
#include <QProgressBar>
#include <QPushButton>
#include <QScopedValueRollback>
#include <QScrollBar>
#include <QSplitter>
#include <QStackedWidget>
#include <QTreeView>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace headroom {

MeasuredView::MeasuredView(DisplaySettings *display, MeasuredRuns *runs, QWidget *parent)
    : QWidget(parent)
    , m_display(display)
    , m_runs(runs)
    , m_model(new ComparisonModel(display, this))
    , m_list(new QTreeWidget(this))
    , m_snapshots(new QTreeWidget(this))
    , m_table(new QTreeView(this))
    , m_summary(new QLabel(this))
    , m_about(new QLabel(this))
    , m_progress(new QLabel(this))
    , m_takePlan(new QPushButton(tr("Take the run's plan"), this))
    , m_remove(new QPushButton(tr("Remove"), this))
    , m_cancel(new QPushButton(tr("Cancel"), this))
    , m_measure(new QPushButton(tr("Measure..."), this))
    , m_progressRow(new QWidget(this))
    , m_pages(new QStackedWidget(this))
{
    setObjectName(QStringLiteral("measured"));
    m_list->setObjectName(QStringLiteral("runs"));
    m_list->setAccessibleName(tr("Measured runs"));
    m_list->setHeaderLabels({tr("Run"), tr("On"), tr("When")});
    m_snapshots->setObjectName(QStringLiteral("snapshots"));
    m_snapshots->setAccessibleName(tr("Memory snapshots"));
    m_snapshots->setAccessibleDescription(tr("The checked one is drawn over the timeline"));
    m_snapshots->setHeaderLabels({tr("Snapshot"), tr("Recorded in"), tr("When")});
    for (QTreeWidget *list : {m_list, m_snapshots}) {
        list->setRootIsDecorated(false);
        list->setUniformRowHeights(true);
        list->setAllColumnsShowFocus(true);
        list->setTextElideMode(Qt::ElideMiddle);
    }
    m_table->setObjectName(QStringLiteral("comparison"));
    m_table->setAccessibleName(tr("Predicted and measured"));
    m_table->setAccessibleDescription(tr("Each figure as it is predicted and as it was measured, with the error"));
    m_table->setModel(m_model);
    m_table->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_table->setAlternatingRowColors(true);
    m_table->setUniformRowHeights(true);
    m_table->setFrameShape(QFrame::NoFrame);
    m_table->setAllColumnsShowFocus(true);
    m_table->setContextMenuPolicy(Qt::CustomContextMenu);
    m_table->installEventFilter(this);
    const int character = fontMetrics().averageCharWidth();
    m_table->header()->setStretchLastSection(false);
    const int characters[] = {30, 17, 17, 17, 13};
    for (int column = 0; column < ComparisonModel::ColumnCount; ++column)
        m_table->header()->resizeSection(column, characters[column] * character);
    for (QLabel *label : {m_summary, m_about, m_progress}) {
        label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
        label->setTextFormat(Qt::PlainText);
    }
    m_about->setWordWrap(true);
    m_progress->setMinimumWidth(1);
    QFont bold = m_summary->font();
    bold.setBold(true);
    m_summary->setFont(bold);
    m_summary->setWordWrap(true);

    auto *importButton = new QPushButton(tr("Import..."), this);
    m_measure->setToolTip(tr("Run this plan with PyTorch on a GPU, or without one as a dry run"));
    importButton->setToolTip(tr("Add a result that the probe wrote elsewhere"));
    m_remove->setToolTip(tr("Remove the chosen run from this plan"));
    m_takePlan->setToolTip(tr("Make the plan the one that ran; this can be undone"));
    m_cancel->setAccessibleName(tr("Cancel measuring"));
    m_measure->setAccessibleName(tr("Measure the plan"));
    importButton->setAccessibleName(tr("Import a result"));
    m_remove->setAccessibleName(tr("Remove the chosen run"));
    m_takePlan->setAccessibleName(tr("Take the run's plan"));
    auto *buttons = new QHBoxLayout;
    for (QPushButton *button : {m_measure, importButton, m_remove})
        buttons->addWidget(button);
    auto *bar = new QProgressBar(m_progressRow);
    bar->setRange(0, 0);
    bar->setTextVisible(false);
    bar->setAccessibleName(tr("A run goes on"));
    bar->setMaximumWidth(character * 12);
    auto *progress = new QHBoxLayout(m_progressRow);
    progress->setContentsMargins(0, 0, 0, 0);
    progress->addWidget(bar);
    progress->addWidget(m_progress, 1);
    progress->addWidget(m_cancel);
    m_progressRow->hide();

    auto *left = new QWidget(this);
    auto *leftColumn = new QVBoxLayout(left);
    leftColumn->setContentsMargins(6, 6, 3, 6);
    leftColumn->addWidget(m_list, 1);
    leftColumn->addWidget(m_snapshots);
    leftColumn->addWidget(m_progressRow);
    leftColumn->addLayout(buttons);

    auto *right = new QWidget(this);
    auto *rightColumn = new QVBoxLayout(right);
    rightColumn->setContentsMargins(3, 6, 8, 0);
    rightColumn->addWidget(m_summary);
    auto *aboutRow = new QHBoxLayout;
    aboutRow->addWidget(m_about, 1);
    aboutRow->addWidget(m_takePlan, 0, Qt::AlignTop);
    rightColumn->addLayout(aboutRow);
    rightColumn->addWidget(m_table, 1);
    auto *empty =
        new QLabel(tr("Nothing has been measured yet.\n\nRun the plan's steps with PyTorch on a GPU of this machine or of another one "
                      "over SSH, or without a GPU as a dry run; or import a result of the probe. What was measured then stands here "
                      "beside what is predicted, with the error."),
                   this);
    empty->setWordWrap(true);
    empty->setAlignment(Qt::AlignCenter);
    empty->setMargin(24);
    empty->setForegroundRole(QPalette::PlaceholderText);
    m_pages->addWidget(empty);
    m_pages->addWidget(right);

    auto *columns = new QSplitter(Qt::Horizontal, this);
    columns->addWidget(left);
    columns->addWidget(m_pages);
    columns->setChildrenCollapsible(false);
    // A wide window shows where and when a run took place, too.
    columns->setStretchFactor(0, 1);
    columns->setStretchFactor(1, 2);
    columns->setSizes({character * 40, character * 104});
    auto *all = new QVBoxLayout(this);
    all->setContentsMargins(0, 0, 0, 0);
    all->addWidget(columns);

    connect(m_measure, &QPushButton::clicked, this, &MeasuredView::measureRequested);
    connect(importButton, &QPushButton::clicked, this, &MeasuredView::importRequested);
    connect(m_remove, &QPushButton::clicked, this, &MeasuredView::removeRequested);
    connect(m_cancel, &QPushButton::clicked, this, &MeasuredView::cancelRequested);
    connect(m_takePlan, &QPushButton::clicked, this, &MeasuredView::takePlanRequested);
    connect(m_list, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem *item) {
        if (!m_filling && item)
            m_runs->setCurrent(m_list->indexOfTopLevelItem(item));
    });
    connect(m_snapshots, &QTreeWidget::itemChanged, this, [this](QTreeWidgetItem *item) {
        if (m_filling)
            return;
        const int index = m_snapshots->indexOfTopLevelItem(item);
        // Not within the signal of a row that filling the list takes away.
        const int shown = item->checkState(0) == Qt::Checked ? index : -1;
        QMetaObject::invokeMethod(
            this, [this, shown] { m_runs->setShownSnapshot(shown); }, Qt::QueuedConnection);
    });
    connect(m_table, &QWidget::customContextMenuRequested, this, &MeasuredView::showMenu);
    connect(m_model, &QAbstractItemModel::modelReset, m_table, &QTreeView::expandAll);
    connect(m_runs, &MeasuredRuns::changed, this, &MeasuredView::fillList);
    connect(m_runs, &MeasuredRuns::changed, this, &MeasuredView::fillSnapshots);
    connect(m_runs, &MeasuredRuns::snapshotsChanged, this, &MeasuredView::fillSnapshots);
    connect(m_runs, &MeasuredRuns::currentChanged, this, &MeasuredView::showCurrent);
    connect(m_display, &DisplaySettings::changed, this, &MeasuredView::fillSnapshots); // their hints name bytes
    fillList();
    fillSnapshots();
}

void MeasuredView::fillList()
{
    const QScopedValueRollback filling(m_filling, true);
    m_list->clear();
    for (const StoredRun &run : m_runs->runs()) {
        const QString where = QString::fromStdString(probeTitle(run.result));
        auto *item = new QTreeWidgetItem(m_list, {run.name, where, QLocale().toString(run.when, QLocale::ShortFormat)});
        const ProbeVersions &versions = run.result.versions;
        QStringList tip{run.name, where, QLocale().toString(run.when, QLocale::LongFormat)};
        for (const auto &[label, text] :
             {std::pair("torch", versions.torch), std::pair("transformers", versions.transformers), std::pair("PEFT", versions.peft),
              std::pair("bitsandbytes", versions.bitsandbytes), std::pair("CUDA", versions.cuda), std::pair("driver", versions.driver)})
            if (!text.empty())
                tip << QStringLiteral("%1 %2").arg(QLatin1String(label), QString::fromStdString(text));
        for (int column = 0; column < m_list->columnCount(); ++column)
            item->setToolTip(column, tip.join(QLatin1Char('\n')));
    }
    for (int column = 0; column < m_list->columnCount(); ++column)
        m_list->resizeColumnToContents(column);
    const int widest = m_list->viewport()->width() / 2;
    m_list->setColumnWidth(0, std::min(m_list->columnWidth(0), std::max(widest, fontMetrics().averageCharWidth() * 18)));
    showCurrent();
}

void MeasuredView::fillSnapshots()
{
    const QScopedValueRollback filling(m_filling, true);
    m_snapshots->clear();
    for (std::size_t i = 0; i < m_runs->snapshots().size(); ++i) {
        const StoredSnapshot &snapshot = m_runs->snapshots()[i];
        const StoredRun *run = m_runs->runOf(*snapshot.timeline);
        auto *item = new QTreeWidgetItem(
            m_snapshots, {snapshot.name, run ? run->name : tr("no run here"), QLocale().toString(snapshot.when, QLocale::ShortFormat)});
        item->setCheckState(0, static_cast<int>(i) == m_runs->shownSnapshot() ? Qt::Checked : Qt::Unchecked);
        const MemoryTimeline &timeline = *snapshot.timeline;
        QString tip = tr("%1\nGPU %2, %3 events; %4 allocated and %5 reserved at most\n")
                          .arg(snapshot.name)
                          .arg(timeline.device)
                          .arg(QLocale().toString(static_cast<qlonglong>(timeline.events)), m_display->bytes(timeline.allocatedMost),
                               m_display->bytes(timeline.reservedMost));
        tip += run ? tr("Laid over the timeline phase by phase, as the run %1 says when they began").arg(run->name)
                   : tr("Laid over the timeline as a whole: no run here says when its phases began");
        for (int column = 0; column < m_snapshots->columnCount(); ++column)
            item->setToolTip(column, tip);
    }
    for (int column = 0; column < m_snapshots->columnCount(); ++column)
        m_snapshots->resizeColumnToContents(column);
    m_snapshots->setColumnWidth(
        0, std::min(m_snapshots->columnWidth(0), std::max(m_snapshots->viewport()->width() / 2, fontMetrics().averageCharWidth() * 22)));
    // As high as its rows, of which a few are in sight.
    const int rows = std::clamp(m_snapshots->topLevelItemCount(), 2, 5);
    m_snapshots->setFixedHeight(m_snapshots->header()->sizeHint().height() + m_snapshots->horizontalScrollBar()->sizeHint().height() +
                                rows * (fontMetrics().height() + 4));
    m_snapshots->setVisible(!m_runs->snapshots().empty());
}

void MeasuredView::showCurrent()
{
    const QScopedValueRollback filling(m_filling, true);
    m_list->setCurrentItem(m_runs->current() < 0 ? nullptr : m_list->topLevelItem(m_runs->current()));
    m_remove->setEnabled(m_runs->current() >= 0);
    m_pages->setCurrentIndex(m_runs->current() < 0 ? 0 : 1);
}

void MeasuredView::setComparison(const Comparison &comparison)
{
    m_model->setComparison(comparison);
    const std::string summary = comparisonSummary(comparison);
    m_summary->setText(QString::fromStdString(summary.empty() ? comparison.ending : summary));
    QStringList about;
    if (!summary.empty() && !comparison.ending.empty())
        about << QString::fromStdString(comparison.ending);
    if (!comparison.differences.empty())
        about << tr("The plan that ran differs from this one: %1.").arg(QString::fromStdString(differencesText(comparison.differences)));
    for (const std::string &note : comparison.notes)
        about << QString::fromStdString(note);
    m_about->setText(about.join(QLatin1Char('\n')));
    m_about->setVisible(!about.isEmpty());
    m_takePlan->setVisible(!comparison.differences.empty());
}

void MeasuredView::setReason(const QString &reason)
{
    m_model->setComparison({});
    m_summary->setText(reason);
    m_about->hide();
    m_takePlan->hide();
}

void MeasuredView::setProgress(const QString &text)
{
    m_progressRow->setVisible(!text.isEmpty());
    m_progress->setText(text);
    m_progress->setToolTip(text);
    m_measure->setEnabled(text.isEmpty());
}

QString MeasuredView::csv() const { return tableAsCsv(*m_model, ComparisonModel::BytesRole); }

void MeasuredView::copy()
{
    QModelIndexList rows = m_table->selectionModel()->selectedRows();
    if (rows.isEmpty())
        return;
    std::sort(rows.begin(), rows.end(),
              [this](const QModelIndex &a, const QModelIndex &b) { return m_table->visualRect(a).top() < m_table->visualRect(b).top(); });
    QApplication::clipboard()->setText(rowsAsText(rows));
}

bool MeasuredView::eventFilter(QObject *watched, QEvent *event)
{
    if (watched == m_table && event->type() == QEvent::KeyPress && static_cast<QKeyEvent *>(event)->matches(QKeySequence::Copy)) {
        copy();
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

void MeasuredView::showMenu(const QPoint &at)
{
    QMenu menu;
    menu.addAction(tr("&Copy rows"), QKeySequence::Copy, this, &MeasuredView::copy)->setEnabled(m_table->selectionModel()->hasSelection());
    menu.addSeparator();
    menu.addAction(tr("E&xport as CSV..."), this, &MeasuredView::exportRequested);
    menu.exec(m_table->viewport()->mapToGlobal(at));
}

} // namespace headroom
