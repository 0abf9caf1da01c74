// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/file_controller.h"

#include "core/measure/memory_timeline.h"
#include "ui/document/plan_files.h"
#include "ui/window/file_dialogs.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMessageBox>

namespace headroom {
namespace {

const QString planEnding = QStringLiteral(".headroom.json");

/// A file name made of the plan's name: no separators, no leading dots.
QString suggestedName(const TrainingPlan &plan)
{
    QString name = QString::fromStdString(plan.name).simplified();
    for (QChar &c : name)
        if (!c.isLetterOrNumber() && c != QLatin1Char('-') && c != QLatin1Char('.'))
            c = QLatin1Char('-');
    while (name.startsWith(QLatin1Char('.')) || name.startsWith(QLatin1Char('-')))
        name.remove(0, 1);
    return (name.isEmpty() ? QStringLiteral("plan") : name.left(80)) + planEnding;
}

} // namespace

FileController::FileController(PlanDocument &document, Settings &settings, MessageBar &messages, QWidget *window)
    : QObject(window)
    , m_document(document)
    , m_settings(settings)
    , m_messages(messages)
    , m_window(window)
{}

void FileController::report(const Issue &issue) { m_messages.show(MessageBar::Kind::Error, issueText(issue)); }

void FileController::newPlan()
{
    if (!mayDiscard())
        return;
    m_messages.clear();
    m_document.reset();
    emit begun();
}

void FileController::chooseAndOpen()
{
    const QString file =
        QFileDialog::getOpenFileName(m_window, tr("Open a plan or a config.json"), m_settings.lastFolder(),
                                     tr("Plans, configurations, results and snapshots (*.json *.pickle *.pkl);;All files (*)"));
    if (!file.isEmpty())
        open(file);
}

void FileController::chooseAndOpenConfig()
{
    const QString file = QFileDialog::getOpenFileName(m_window, tr("Open a Hugging Face config.json"), m_settings.lastFolder(),
                                                      tr("Model configurations (*.json);;All files (*)"));
    if (!file.isEmpty())
        open(file);
}

bool FileController::open(const QString &file)
{
    switch (measuredFileOf(file.toStdString())) {
    case MeasuredFile::Result: emit resultOpened(file); return true;
    case MeasuredFile::Timeline:
    case MeasuredFile::Snapshot: emit snapshotOpened(file); return true;
    case MeasuredFile::Other: break;
    }
    // Read before anything is asked: nobody is to give up work for a file that cannot be opened.
    const auto opened = openPlanOrConfig(file);
    if (!opened) {
        report(opened.issue());
        if (!QFileInfo::exists(file))
            m_settings.removeRecentFile(file);
        return false;
    }
    const bool replaces = opened->kind == OpenedFile::Kind::Plan;
    if (replaces && !mayDiscard())
        return false;
    m_messages.clear();
    if (const auto issue = m_document.open(file)) {
        report(*issue);
        return false;
    }
    if (replaces)
        m_settings.addRecentFile(file);
    m_settings.setLastFolder(QFileInfo(file).absolutePath());
    emit done(tr("Opened %1").arg(QDir::toNativeSeparators(file)));
    return true;
}

bool FileController::save()
{
    emit commitRequested();
    return m_document.file().isEmpty() ? saveAs() : saveTo(m_document.file());
}

bool FileController::saveAs()
{
    emit commitRequested();
    const QString proposal =
        m_document.file().isEmpty() ? QDir(m_settings.lastFolder()).filePath(suggestedName(m_document.plan())) : m_document.file();
    const QString file =
        askForFileToWrite(m_window, tr("Save the plan"), proposal, {{tr("Headroom plans"), planEnding, QStringLiteral(".json")}});
    return !file.isEmpty() && saveTo(file);
}

bool FileController::saveTo(const QString &file)
{
    const QString before = m_document.file();
    if (const auto issue = m_document.saveAs(file)) {
        report(*issue);
        return false;
    }
    emit saved(before, file);
    m_settings.addRecentFile(file);
    m_settings.setLastFolder(QFileInfo(file).absolutePath());
    emit done(tr("Saved %1").arg(QDir::toNativeSeparators(file)));
    return true;
}

bool FileController::mayDiscard(bool closing)
{
    emit commitRequested();
    const bool hasRuns = m_document.file().isEmpty() && m_hasUnsavedRuns && m_hasUnsavedRuns();
    if (!m_document.isModified() && (closing || !hasRuns))
        return true;
    QMessageBox box(QMessageBox::Question, m_document.isModified() ? tr("Unsaved changes") : tr("Unsaved runs"),
                    m_document.isModified() ? tr("%1 has unsaved changes.").arg(m_document.title())
                                            : tr("%1 was measured and is in no file.").arg(m_document.title()),
                    QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, m_window);
    box.setInformativeText(
        hasRuns ? tr("Save it first? What was measured is kept beside the plan's file, and given up with a plan that has none.")
                : tr("Save them first?"));
    box.setDefaultButton(QMessageBox::Save);
    switch (box.exec()) {
    case QMessageBox::Save: return save();
    case QMessageBox::Discard: emit discarded(); return true;
    default: return false;
    }
}

void FileController::attachRecentMenu(QMenu *menu)
{
    connect(menu, &QMenu::aboutToShow, this, [this, menu] { fillRecentMenu(menu); });
    fillRecentMenu(menu);
}

void FileController::fillRecentMenu(QMenu *menu)
{
    menu->clear();
    const QStringList files = m_settings.recentFiles();
    int number = 0;
    for (const QString &file : files) {
        ++number;
        QString label = QDir::toNativeSeparators(file);
        label.replace(QLatin1Char('&'), QLatin1String("&&"));
        if (number < 10)
            label.prepend(QStringLiteral("&%1  ").arg(number));
        connect(menu->addAction(label), &QAction::triggered, this, [this, file] { open(file); });
    }
    if (files.isEmpty())
        menu->addAction(tr("No recent files"))->setEnabled(false);
    menu->addSeparator();
    QAction *clear = menu->addAction(tr("&Clear this list"));
    clear->setEnabled(!files.isEmpty());
    connect(clear, &QAction::triggered, this, [this] { m_settings.clearRecentFiles(); });
}

} // namespace headroom
