// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/measure/comparison.h"
#include "core/measure/memory_timeline.h"
#include "ui/charts/memory_chart.h"
#include "ui/charts/timeline_chart.h"
#include "ui/document/plan_files.h"
#include "ui/measured/measure_dialog.h"
#include "ui/measured/measured_marks.h"
#include "ui/measured/measured_runs.h"
#include "ui/measured/measured_view.h"
#include "ui/measured/probe_process.h"
#include "ui/window/file_controller.h"
#include "ui/window/file_dialogs.h"
#include "ui/window/message_bar.h"
#include "ui/window/window_actions.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <QStatusBar>
#include <QTabWidget>

#include <algorithm>
#include <utility>

namespace headroom {
namespace {

constexpr int statusMs = 6000;

QString nameOfRun(MeasureSettings::How how)
{
    const QString when = QDateTime::currentDateTime().toString(QStringLiteral("yyyy-MM-dd-HHmmss"));
    return when + (how == MeasureSettings::How::Dry ? QLatin1String("-dry-run") : QLatin1String("-gpu"));
}

} // namespace

void MainWindow::connectMeasuring()
{
    const Actions &a = *m_actions;
    connect(a.measureHere, &QAction::triggered, this, [this] { measure(MeasureSettings::How::Here); });
    connect(a.measureThere, &QAction::triggered, this, [this] { measure(MeasureSettings::How::There); });
    connect(a.measureDry, &QAction::triggered, this, [this] { measure(MeasureSettings::How::Dry); });
    connect(a.cancelMeasuring, &QAction::triggered, m_probe, &ProbeProcess::cancel);
    connect(a.importResult, &QAction::triggered, this, &MainWindow::chooseAndImport);
    connect(a.removeRun, &QAction::triggered, this, &MainWindow::removeRun);
    connect(a.openSnapshot, &QAction::triggered, this, &MainWindow::chooseAndOpenSnapshot);
    connect(a.removeSnapshot, &QAction::triggered, this, &MainWindow::removeSnapshot);
    connect(a.snapshotShown, &QAction::triggered, this, [this](bool shown) {
        const std::vector<StoredSnapshot> &snapshots = m_runs->snapshots();
        if (shown) {
            // The newest, where that one is gone or of another plan.
            int index = static_cast<int>(snapshots.size()) - 1;
            for (std::size_t i = 0; i < snapshots.size(); ++i)
                if (snapshots[i].file == m_hiddenSnapshot)
                    index = static_cast<int>(i);
            m_runs->setShownSnapshot(index);
        } else if (m_runs->shownSnapshot() >= 0) {
            m_hiddenSnapshot = snapshots[static_cast<std::size_t>(m_runs->shownSnapshot())].file;
            m_runs->setShownSnapshot(-1);
        }
    });
    connect(a.exportComparison, &QAction::triggered, this, &MainWindow::exportComparison);
    connect(m_measured, &MeasuredView::measureRequested, this, [this] { measure(m_settings.measure().how); });
    connect(m_measured, &MeasuredView::importRequested, this, &MainWindow::chooseAndImport);
    connect(m_measured, &MeasuredView::removeRequested, this, &MainWindow::removeRun);
    connect(m_measured, &MeasuredView::cancelRequested, m_probe, &ProbeProcess::cancel);
    connect(m_measured, &MeasuredView::takePlanRequested, this, &MainWindow::takePlanOfRun);
    connect(m_measured, &MeasuredView::exportRequested, this, &MainWindow::exportComparison);

    connect(m_probe, &ProbeProcess::progress, this, [this](const QString &text) {
        m_measured->setProgress(text);
        for (QAction *action : {m_actions->measureHere, m_actions->measureThere, m_actions->measureDry})
            action->setEnabled(false);
        m_actions->cancelMeasuring->setEnabled(true);
    });
    connect(m_probe, &ProbeProcess::idle, this, [this] {
        m_measured->setProgress({});
        for (QAction *action : {m_actions->measureHere, m_actions->measureThere, m_actions->measureDry})
            action->setEnabled(true);
        m_actions->cancelMeasuring->setEnabled(false);
        convertNext();
    });
    connect(m_probe, &ProbeProcess::finished, this, [this](const QStringList &files) {
        const bool isOpen = m_measuredFile == m_document.file();
        m_measuredName = nameOfRun(m_settings.measure().how);
        std::optional<Issue> failed;
        QStringList kept;
        // Rank 0 last, so that it is the one that is shown.
        for (auto file = files.rbegin(); file != files.rend(); ++file) {
            const QString rank = QFileInfo(*file).fileName().section(QLatin1Char('.'), 1, 1);
            const QString name = rank.startsWith(QLatin1String("rank")) ? m_measuredName + QLatin1Char('-') + rank : m_measuredName;
            if (const auto issue = m_runs->addTo(m_measuredFile, *file, name)) {
                // What the other ranks measured is kept nevertheless; all of it is said at once, for the bar holds few messages.
                failed = failed ? failed : issue;
                kept << keepElsewhere(*file, name);
            }
        }
        if (failed) {
            reportNotKept(*failed, kept);
            return;
        }
        if (!isOpen) {
            m_messages->show(MessageBar::Kind::Information,
                             tr("The run of %1 has ended; it is kept with that plan.").arg(QDir::toNativeSeparators(m_measuredFile)));
            return;
        }
        m_tabs->setCurrentWidget(m_measured);
        statusBar()->showMessage(tr("Measured"), statusMs);
    });
    connect(m_probe, &ProbeProcess::converted, this, [this](const QString &file, const QString &snapshot) {
        const QString name = snapshot.isEmpty() ? m_measuredName : QFileInfo(snapshot).completeBaseName();
        if (const auto issue = m_runs->addSnapshot(m_measuredFile, file, name)) {
            if (snapshot.isEmpty())
                reportNotKept(*issue, {keepElsewhere(file, name)});
            else
                m_files->report(*issue); // its pickle is still there
            return;
        }
        if (m_measuredFile != m_document.file())
            return;
        // What was recorded by a run stands beside its figures, which are looked at first.
        if (!snapshot.isEmpty())
            m_tabs->setCurrentWidget(m_timeline);
        statusBar()->showMessage(tr("The snapshot lies over the timeline"), statusMs);
    });
    connect(m_probe, &ProbeProcess::failed, this, [this](const QString &text, bool ofConversion) {
        m_messages->show(MessageBar::Kind::Error,
                         (ofConversion ? tr("The snapshot could not be read. %1") : tr("Measuring failed. %1")).arg(text));
    });
    connect(m_probe, &ProbeProcess::cancelled, this, [this](bool ofConversion) {
        statusBar()->showMessage(ofConversion ? tr("Converting was cancelled") : tr("Measuring was cancelled"), statusMs);
    });

    connect(&m_document, &PlanDocument::fileChanged, this, [this] {
        for (const Issue &issue : m_runs->setPlanFile(m_document.file()))
            m_messages->show(MessageBar::Kind::Warning, issueText(issue));
    });
    connect(m_files, &FileController::saved, this, [this](const QString &before, const QString &file) {
        if (m_probe->isRunning() && m_measuredFile == before)
            m_measuredFile = file;
        for (WaitingSnapshot &waiting : m_waitingSnapshots)
            if (waiting.planFile == before)
                waiting.planFile = file;
        if (const auto issue = m_runs->follow(before, file))
            m_files->report(*issue);
    });
    // Those of the plan that was given up are gone by now, after a question. What is there still was left by an unsaved plan while
    // another one was open, and nobody was asked.
    connect(m_files, &FileController::begun, this, [this] {
        if (m_runs->hasUnsaved())
            m_messages->show(MessageBar::Kind::Information, tr("What was measured with a plan that was never saved is shown again."));
    });
    connect(m_files, &FileController::discarded, this, [this] {
        if (m_document.file().isEmpty())
            m_runs->clearUnsaved();
    });
    m_files->setUnsavedRuns([this] { return m_runs->hasUnsaved(); });
    connect(&m_workingCopy, &WorkingCopy::adopted, this, [this](const QString &file) { m_runs->adopt(MeasuredRuns::unsavedFolder(file)); });
    connect(m_files, &FileController::snapshotOpened, this, &MainWindow::openSnapshot);
    connect(m_runs, &MeasuredRuns::snapshotsChanged, this, &MainWindow::showSnapshot);
    connect(m_runs, &MeasuredRuns::changed, this, &MainWindow::showSnapshot); // a run may say where the phases begin
    showSnapshot();
    connect(m_files, &FileController::resultOpened, this, &MainWindow::importResult);
    connect(m_runs, &MeasuredRuns::currentChanged, this, [this] {
        m_afterComparison = nullptr; // it was asked of another run
        requestComparison();
    });
    connect(&m_comparer, &EstimateRunner::finished, this, &MainWindow::showComparison);
    connect(&m_comparer, &EstimateRunner::failed, this, [this](const Issue &issue) {
        m_afterComparison = nullptr;
        m_measured->setReason(tr("This plan cannot be estimated. %1").arg(issueText(issue)));
        m_chart->setMeasured(std::nullopt);
        m_timeline->setMeasured(std::nullopt);
    });
    requestComparison();
}

void MainWindow::measure(MeasureSettings::How how)
{
    if (m_probe->isRunning())
        return;
    commitEdits();
    MeasureSettings settings = m_settings.measure();
    settings.how = how;
    MeasureDialog dialog(settings, this);
    if (dialog.exec() != QDialog::Accepted)
        return;
    m_settings.setMeasure(dialog.settings());
    m_tabs->setCurrentWidget(m_measured);
    m_measuredFile = m_document.file();
    if (const auto issue = m_probe->start(m_document.plan(), m_document.title(), dialog.settings()))
        m_files->report(*issue);
}

QString MainWindow::keepElsewhere(const QString &file, const QString &name) const
{
    return MeasuredRuns::keepElsewhere({QDir(m_dataFolder).filePath(QStringLiteral("kept-runs")), QDir::tempPath()}, file, name);
}

void MainWindow::reportNotKept(const Issue &issue, QStringList kept)
{
    kept.removeAll(QString());
    for (QString &file : kept)
        file = QDir::toNativeSeparators(file);
    QString text = issueText(issue);
    if (!kept.isEmpty())
        text += QLatin1Char(' ') + tr("What was measured is kept, and comes in when it is opened: %1.").arg(kept.join(QLatin1String(", ")));
    m_messages->show(MessageBar::Kind::Error, text);
}

bool MainWindow::importResult(const QString &file)
{
    if (const auto issue = m_runs->add(file)) {
        m_files->report(*issue);
        return false;
    }
    m_tabs->setCurrentWidget(m_measured);
    m_settings.setLastFolder(QFileInfo(file).absolutePath());
    statusBar()->showMessage(tr("Imported %1").arg(QDir::toNativeSeparators(file)), statusMs);
    return true;
}

void MainWindow::chooseAndImport()
{
    const QStringList files = QFileDialog::getOpenFileNames(this, tr("Import results of the probe"), m_settings.lastFolder(),
                                                            tr("Results of the probe (*.headroom-probe.json);;All files (*)"));
    for (const QString &file : files)
        importResult(file);
}

bool MainWindow::openSnapshot(const QString &file)
{
    if (measuredFileOf(file.toStdString()) == MeasuredFile::Snapshot) {
        m_settings.setLastFolder(QFileInfo(file).absolutePath());
        const WaitingSnapshot snapshot{file, m_document.file()};
        if (!m_probe->isRunning())
            return convertSnapshot(snapshot);
        m_waitingSnapshots.push_back(snapshot);
        statusBar()->showMessage(tr("%1 is read when what runs has ended").arg(QDir::toNativeSeparators(file)), statusMs);
        return true;
    }
    if (const auto issue = m_runs->addSnapshot(m_document.file(), file)) {
        m_files->report(*issue);
        return false;
    }
    m_tabs->setCurrentWidget(m_timeline);
    m_settings.setLastFolder(QFileInfo(file).absolutePath());
    statusBar()->showMessage(tr("%1 lies over the timeline").arg(QDir::toNativeSeparators(file)), statusMs);
    return true;
}

bool MainWindow::convertSnapshot(const WaitingSnapshot &snapshot)
{
    m_measuredFile = snapshot.planFile;
    const MeasureSettings settings = m_settings.measure();
    // A Python of another machine is none of this one's; what is standard in Python is enough.
    const QString python = settings.how == MeasureSettings::How::There ? QString() : settings.python;
    const auto issue = m_probe->convert(snapshot.file, python);
    if (issue)
        m_files->report(*issue);
    return !issue;
}

void MainWindow::convertNext()
{
    while (!m_probe->isRunning() && !m_waitingSnapshots.empty()) {
        const WaitingSnapshot next = m_waitingSnapshots.front();
        m_waitingSnapshots.pop_front();
        convertSnapshot(next);
    }
}

void MainWindow::chooseAndOpenSnapshot()
{
    const QString file = QFileDialog::getOpenFileName(this, tr("Open a memory snapshot of PyTorch"), m_settings.lastFolder(),
                                                      tr("Memory snapshots (*.pickle *.pkl *.headroom-timeline.json);;All files (*)"));
    if (!file.isEmpty())
        openSnapshot(file);
}

void MainWindow::removeSnapshot()
{
    const int shown = m_runs->shownSnapshot();
    if (shown < 0)
        return;
    const StoredSnapshot &snapshot = m_runs->snapshots()[static_cast<std::size_t>(shown)];
    QMessageBox box(QMessageBox::Question, tr("Remove a snapshot"), tr("Remove %1?").arg(snapshot.name),
                    QMessageBox::Yes | QMessageBox::Cancel, this);
    box.setInformativeText(tr("The file %1 is deleted.").arg(QDir::toNativeSeparators(snapshot.file)));
    if (box.exec() != QMessageBox::Yes)
        return;
    if (const auto issue = m_runs->removeSnapshot(shown))
        m_files->report(*issue);
}

void MainWindow::showSnapshot()
{
    const int shown = m_runs->shownSnapshot();
    m_actions->snapshotShown->setEnabled(!m_runs->snapshots().empty());
    m_actions->snapshotShown->setChecked(shown >= 0);
    m_actions->removeSnapshot->setEnabled(shown >= 0);
    if (shown < 0) {
        m_timeline->setSnapshot(std::nullopt);
        return;
    }
    const StoredSnapshot &snapshot = m_runs->snapshots()[static_cast<std::size_t>(shown)];
    const StoredRun *run = m_runs->runOf(*snapshot.timeline);
    m_timeline->setSnapshot(TimelineSnapshot{snapshot.name, snapshot.timeline, run ? run->result.marks : std::vector<ProbeMark>{}});
}

void MainWindow::removeRun()
{
    const StoredRun *run = m_runs->currentRun();
    if (!run)
        return;
    QMessageBox box(QMessageBox::Question, tr("Remove a run"), tr("Remove %1?").arg(run->name), QMessageBox::Yes | QMessageBox::Cancel,
                    this);
    box.setInformativeText(tr("The file %1 is deleted.").arg(QDir::toNativeSeparators(run->file)));
    if (box.exec() != QMessageBox::Yes)
        return;
    if (const auto issue = m_runs->remove(m_runs->current()))
        m_files->report(*issue);
}

void MainWindow::takePlanOfRun()
{
    const StoredRun *run = m_runs->currentRun();
    if (!run)
        return;
    // What the run knows nothing of stays: the name, and the GPUs that the plan is judged on.
    TrainingPlan plan = run->result.plan;
    plan.name = m_document.plan().name;
    plan.gpus = m_document.plan().gpus;
    plan.folder = m_document.plan().folder;
    // A preset and its config.json are one model: then the name is the better one.
    const auto differences = planDifferences(run->result.plan, m_document.plan());
    if (std::none_of(differences.begin(), differences.end(), [](const PlanDifference &difference) { return difference.path == "model"; }))
        plan.model = m_document.plan().model;
    m_document.setPlan(plan, tr("Plan of the run %1").arg(run->name));
}

void MainWindow::exportComparison()
{
    if (!m_runs->currentRun())
        return;
    commitEdits();
    whenCompared([this] {
        writeShown(tr("Export the comparison"), {{tr("Tables"), QStringLiteral(".csv")}},
                   [this](const QString &file) { return writeFile(file, m_measured->csv().toUtf8()); });
    });
}

void MainWindow::requestComparison()
{
    const StoredRun *run = m_runs->currentRun();
    m_actions->removeRun->setEnabled(run != nullptr);
    m_actions->exportComparison->setEnabled(run != nullptr);
    if (run) {
        m_comparer.request(planToCompare(m_document.plan(), run->result).plan);
        return;
    }
    m_afterComparison = nullptr;
    m_measured->setReason({});
    m_chart->setMeasured(std::nullopt);
    m_timeline->setMeasured(std::nullopt);
}

void MainWindow::whenCompared(std::function<void()> action)
{
    if (m_comparer.isBusy())
        m_afterComparison = std::move(action);
    else
        action();
}

void MainWindow::showComparison(const std::shared_ptr<const Estimate> &estimate)
{
    const StoredRun *run = m_runs->currentRun();
    if (!run || m_comparer.isBusy())
        return;
    const Comparison comparison = compare(*estimate, m_document.plan(), run->result);
    m_measured->setComparison(comparison);
    const MeasuredMarks marks = measuredMarks(run->name, comparison, run->result);
    m_chart->setMeasured(marks);
    m_timeline->setMeasured(marks);
    if (m_afterComparison)
        std::exchange(m_afterComparison, nullptr)();
}

std::vector<MeasuredRun> MainWindow::measuredRuns() const
{
    std::vector<MeasuredRun> runs;
    for (const StoredRun &run : m_runs->runs()) {
        const auto predicted = m_estimate(planToCompare(m_document.plan(), run.result).plan, {});
        if (predicted)
            runs.push_back({QStringLiteral("%1 (%2)").arg(run.name, QString::fromStdString(probeTitle(run.result))).toStdString(),
                            compare(**predicted, m_document.plan(), run.result)});
    }
    return runs;
}

} // namespace headroom
