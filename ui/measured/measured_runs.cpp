// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/measured/measured_runs.h"

#include "core/measure/snapshot_overlay.h"
#include "core/units/strict_json.h"
#include "ui/document/plan_files.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>

#include <algorithm>

namespace headroom {
namespace {

const QString resultEnding = QStringLiteral(".headroom-probe.json");
const QString timelineEnding = QStringLiteral(".headroom-timeline.json");

QString endingOf(const QString &file)
{
    for (const QString &ending : {resultEnding, timelineEnding})
        if (file.endsWith(ending))
            return ending;
    return {};
}

/// A file's name without the ending that tells what it is; "a" for "a.json" and "a.pickle" too.
QString nameOf(const QString &file)
{
    QString name = QFileInfo(file).fileName();
    QString ending = endingOf(name);
    for (const QLatin1String other : {QLatin1String(".json"), QLatin1String(".pickle"), QLatin1String(".pkl")})
        if (ending.isEmpty() && name.endsWith(other))
            ending = other;
    name.chop(ending.size());
    return name;
}

/// What is kept of a plan, oldest first.
QFileInfoList keptIn(const QString &folder, const QStringList &endings = {resultEnding, timelineEnding})
{
    QStringList patterns;
    for (const QString &ending : endings)
        patterns << QLatin1Char('*') + ending;
    return QDir(folder).entryInfoList(patterns, QDir::Files, QDir::Time | QDir::Reversed);
}

Issue couldNot(const QString &file, const QString &what)
{
    return {file.toStdString(), 0, {}, what.toStdString(), MeasuredRuns::tr("keep the plan in a folder that can be written").toStdString()};
}

/// The folder is there, or why it is not.
std::optional<Issue> makeFolder(const QString &folder)
{
    if (const QFileInfo info(folder); info.exists() && !info.isDir())
        return Issue{folder.toStdString(),
                     0,
                     {},
                     MeasuredRuns::tr("a file has the name of the folder for measured runs").toStdString(),
                     MeasuredRuns::tr("rename that file, or save the plan under another name").toStdString()};
    if (!QDir().mkpath(folder))
        return couldNot(folder, MeasuredRuns::tr("the folder for measured runs cannot be made"));
    return std::nullopt;
}

/// Writes what is to be kept with the plan: where that is, the plan's place says, so the hint is another one than of other files.
std::optional<Issue> store(const QString &target, const QByteArray &content)
{
    std::optional<Issue> issue = writeFile(target, content);
    if (issue)
        issue->hint = MeasuredRuns::tr("free some space, or keep the plan in a folder that can be written").toStdString();
    return issue;
}

/// The name of a file that is not there yet.
QString freeName(const QString &folder, const QString &base, const QString &ending)
{
    QString target = QDir(folder).filePath(base + ending);
    for (int n = 2; QFile::exists(target); ++n)
        target = QDir(folder).filePath(QStringLiteral("%1-%2").arg(base).arg(n) + ending);
    return target;
}

QByteArray contentOf(const QString &path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

void setTime(const QString &path, const QDateTime &when)
{
    if (QFile file(path); file.open(QIODevice::ReadWrite))
        file.setFileTime(when, QFileDevice::FileModificationTime);
}

/// Into the folder, under a name of its own; the same run under the same name is there already.
std::optional<Issue> copyTo(const QString &folder, const QFileInfo &run)
{
    if (const QString same = QDir(folder).filePath(run.fileName()); QFile::exists(same) && contentOf(same) == contentOf(run.filePath()))
        return std::nullopt;
    const QString target = freeName(folder, nameOf(run.filePath()), endingOf(run.fileName()));
    if (!QFile::copy(run.filePath(), target))
        return couldNot(target, MeasuredRuns::tr("the measured run cannot be written"));
    setTime(target, run.lastModified());
    return std::nullopt;
}

} // namespace

MeasuredRuns::MeasuredRuns(const QString &unsavedFolder, QObject *parent)
    : QObject(parent)
    , m_unsavedFolder(unsavedFolder)
    , m_folder(unsavedFolder)
{}

QString MeasuredRuns::folderOf(const QString &planFile) const
{
    if (planFile.isEmpty())
        return m_unsavedFolder;
    QString folder = QFileInfo(planFile).absoluteFilePath();
    for (const QString &plan : {QStringLiteral(".headroom.json"), QStringLiteral(".json")})
        if (folder.endsWith(plan)) {
            folder.chop(plan.size());
            break;
        }
    return folder + QStringLiteral(".runs");
}

void MeasuredRuns::read(const QString &folder, std::vector<Issue> &issues)
{
    m_folder = folder;
    m_runs.clear();
    m_snapshots.clear();
    QFileInfoList files = keptIn(folder, {resultEnding});
    if (files.size() > maximumRuns)
        files = files.mid(files.size() - maximumRuns);
    for (const QFileInfo &file : std::as_const(files)) {
        Result<ProbeResult> result = readProbeFile(file.filePath().toStdString());
        if (result)
            m_runs.push_back({file.filePath(), nameOf(file.filePath()), file.lastModified(), std::move(*result)});
        else
            issues.push_back(result.issue());
    }
    m_current = static_cast<int>(m_runs.size()) - 1;
    files = keptIn(folder, {timelineEnding});
    if (files.size() > maximumSnapshots)
        files = files.mid(files.size() - maximumSnapshots);
    for (const QFileInfo &file : std::as_const(files)) {
        Result<MemoryTimeline> timeline = readMemoryTimelineFile(file.filePath().toStdString());
        if (timeline)
            m_snapshots.push_back({file.filePath(), nameOf(file.filePath()), file.lastModified(),
                                   std::make_shared<const MemoryTimeline>(std::move(timeline).value())});
        else
            issues.push_back(timeline.issue());
    }
    m_shownSnapshot = static_cast<int>(m_snapshots.size()) - 1;
    emit changed();
    emit currentChanged();
    emit snapshotsChanged();
}

std::vector<Issue> MeasuredRuns::setPlanFile(const QString &file)
{
    std::vector<Issue> issues;
    const QString folder = folderOf(file);
    if (folder != m_folder || (m_runs.empty() && m_snapshots.empty()))
        read(folder, issues);
    return issues;
}

std::optional<Issue> MeasuredRuns::follow(const QString &before, const QString &file)
{
    const QString from = folderOf(before), to = folderOf(file);
    if (from == to)
        return std::nullopt;
    const std::optional<Issue> issue = bring(from, to, before.isEmpty());
    std::vector<Issue> ignored;
    read(issue ? from : to, ignored);
    return issue;
}

std::optional<Issue> MeasuredRuns::bring(const QString &from, const QString &to, bool moves)
{
    const QFileInfoList files = keptIn(from);
    if (const auto issue = files.isEmpty() ? std::nullopt : makeFolder(to))
        return issue;
    for (const QFileInfo &each : files)
        if (const auto failed = copyTo(to, each))
            return failed;
    // All of them are there: only now none is left behind.
    for (const QFileInfo &each : files)
        if (moves)
            QFile::remove(each.filePath());
    return std::nullopt;
}

void MeasuredRuns::clearUnsaved()
{
    for (const QFileInfo &each : keptIn(m_unsavedFolder))
        QFile::remove(each.filePath());
    if (m_folder != m_unsavedFolder)
        return;
    std::vector<Issue> ignored;
    read(m_unsavedFolder, ignored);
}

bool MeasuredRuns::hasUnsaved() const { return m_folder == m_unsavedFolder && !(m_runs.empty() && m_snapshots.empty()); }

QString MeasuredRuns::unsavedFolder(const QString &workingCopy)
{
    const QFileInfo copy(workingCopy);
    QString name = copy.completeBaseName();
    name.replace(QLatin1String("working-plan"), QLatin1String("unsaved-runs"));
    return copy.absoluteDir().filePath(name);
}

void MeasuredRuns::adopt(const QString &leftFolder)
{
    if (leftFolder == m_unsavedFolder || m_folder != m_unsavedFolder)
        return;
    std::vector<Issue> ignored;
    bring(leftFolder, m_unsavedFolder, true);
    read(m_unsavedFolder, ignored);
}

std::optional<Issue> MeasuredRuns::add(const QString &file, const QString &name)
{
    const Result<std::string> text = readTextFile(file.toStdString());
    if (!text)
        return text.issue();
    Result<ProbeResult> result = readProbeResult(*text);
    if (!result) {
        result.issue().file = file.toStdString();
        return result.issue();
    }
    const QByteArray content = QByteArray::fromStdString(*text);
    for (std::size_t i = 0; i < m_runs.size(); ++i)
        if (contentOf(m_runs[i].file) == content) {
            setCurrent(static_cast<int>(i));
            return std::nullopt;
        }
    if (m_runs.size() >= maximumRuns)
        return Issue{
            file.toStdString(), 0, {}, tr("%1 runs are kept already").arg(maximumRuns).toStdString(), tr("remove some").toStdString()};
    if (const auto issue = makeFolder(m_folder))
        return issue;
    const QString base = name.isEmpty() ? nameOf(file) : name;
    const QString target = freeName(m_folder, base, resultEnding);
    if (std::optional<Issue> issue = store(target, content))
        return issue;
    const QDateTime when = QFileInfo(file).lastModified();
    setTime(target, when);
    m_runs.push_back({target, nameOf(target), when, std::move(*result)});
    m_current = static_cast<int>(m_runs.size()) - 1;
    emit changed();
    emit currentChanged();
    return std::nullopt;
}

std::optional<Issue> MeasuredRuns::addTo(const QString &planFile, const QString &file, const QString &name)
{
    const QString folder = folderOf(planFile);
    if (folder == m_folder)
        return add(file, name);
    const Result<ProbeResult> result = readProbeFile(file.toStdString());
    if (!result)
        return result.issue();
    if (const auto issue = makeFolder(folder))
        return issue;
    return store(freeName(folder, name.isEmpty() ? nameOf(file) : name, resultEnding), contentOf(file));
}

QString MeasuredRuns::keepElsewhere(const QStringList &folders, const QString &file, const QString &name)
{
    const std::string path = file.toStdString();
    const QString ending = endingOf(file);
    if (ending == timelineEnding ? !readMemoryTimelineFile(path) : !readProbeFile(path))
        return {};
    for (const QString &folder : folders) {
        const QString target = freeName(folder, name, ending.isEmpty() ? resultEnding : ending);
        if (QDir().mkpath(folder) && !writeFile(target, contentOf(file)))
            return target;
    }
    return {};
}

std::optional<Issue> MeasuredRuns::remove(int index)
{
    if (index < 0 || index >= static_cast<int>(m_runs.size()))
        return std::nullopt;
    QFile file(m_runs[static_cast<std::size_t>(index)].file);
    if (file.exists() && !file.remove())
        return couldNot(file.fileName(), tr("the measured run cannot be removed: %1").arg(file.errorString()));
    m_runs.erase(m_runs.begin() + index);
    m_current = std::min(m_current, static_cast<int>(m_runs.size()) - 1);
    emit changed();
    emit currentChanged();
    return std::nullopt;
}

std::optional<Issue> MeasuredRuns::addSnapshot(const QString &planFile, const QString &file, const QString &name)
{
    Result<MemoryTimeline> timeline = readMemoryTimelineFile(file.toStdString());
    if (!timeline)
        return timeline.issue();
    const QString folder = folderOf(planFile);
    const bool isOpen = folder == m_folder;
    const QByteArray content = contentOf(file);
    if (isOpen) {
        for (std::size_t i = 0; i < m_snapshots.size(); ++i)
            if (contentOf(m_snapshots[i].file) == content) {
                setShownSnapshot(static_cast<int>(i));
                return std::nullopt;
            }
        if (m_snapshots.size() >= maximumSnapshots)
            return Issue{file.toStdString(),
                         0,
                         {},
                         tr("%1 snapshots are kept already").arg(maximumSnapshots).toStdString(),
                         tr("remove some").toStdString()};
    }
    if (const auto issue = makeFolder(folder))
        return issue;
    const QString target = freeName(folder, name.isEmpty() ? nameOf(file) : name, timelineEnding);
    if (std::optional<Issue> issue = store(target, content))
        return issue;
    const QDateTime when = QFileInfo(file).lastModified();
    setTime(target, when);
    if (!isOpen)
        return std::nullopt;
    m_snapshots.push_back({target, nameOf(target), when, std::make_shared<const MemoryTimeline>(std::move(timeline).value())});
    m_shownSnapshot = static_cast<int>(m_snapshots.size()) - 1;
    emit snapshotsChanged();
    return std::nullopt;
}

std::optional<Issue> MeasuredRuns::removeSnapshot(int index)
{
    if (index < 0 || index >= static_cast<int>(m_snapshots.size()))
        return std::nullopt;
    QFile file(m_snapshots[static_cast<std::size_t>(index)].file);
    if (file.exists() && !file.remove())
        return couldNot(file.fileName(), tr("the snapshot cannot be removed: %1").arg(file.errorString()));
    m_snapshots.erase(m_snapshots.begin() + index);
    m_shownSnapshot = -1;
    emit snapshotsChanged();
    return std::nullopt;
}

void MeasuredRuns::setShownSnapshot(int index)
{
    if (index == m_shownSnapshot || index < -1 || index >= static_cast<int>(m_snapshots.size()))
        return;
    m_shownSnapshot = index;
    emit snapshotsChanged();
}

const StoredRun *MeasuredRuns::runOf(const MemoryTimeline &snapshot) const
{
    for (const StoredRun &run : m_runs)
        if ((run.result.ranks == 1 || run.result.rank == snapshot.device) && recordedStep(snapshot, run.result.marks))
            return &run;
    return nullptr;
}

void MeasuredRuns::setCurrent(int index)
{
    if (index == m_current || index < -1 || index >= static_cast<int>(m_runs.size()))
        return;
    m_current = index;
    emit currentChanged();
}

} // namespace headroom
