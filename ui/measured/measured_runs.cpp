// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/measured/measured_runs.h"

#include "core/units/strict_json.h"
#include "ui/document/plan_files.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>

#include <algorithm>

namespace headroom {
namespace {

const QString ending = QStringLiteral(".headroom-probe.json");

QString nameOf(const QString &file)
{
    QString name = QFileInfo(file).fileName();
    if (name.endsWith(ending))
        name.chop(ending.size());
    return name;
}

Issue couldNot(const QString &file, const QString &what)
{
    return {file.toStdString(), 0, {}, what.toStdString(), MeasuredRuns::tr("keep the plan in a folder that can be written").toStdString()};
}

/// The name of a file that is not there yet.
QString freeName(const QString &folder, const QString &base)
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
    const QString target = freeName(folder, nameOf(run.filePath()));
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
    QFileInfoList files = QDir(folder).entryInfoList({QLatin1Char('*') + ending}, QDir::Files, QDir::Time | QDir::Reversed);
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
    emit changed();
    emit currentChanged();
}

std::vector<Issue> MeasuredRuns::setPlanFile(const QString &file)
{
    std::vector<Issue> issues;
    const QString folder = folderOf(file);
    if (folder != m_folder || m_runs.empty())
        read(folder, issues);
    return issues;
}

std::optional<Issue> MeasuredRuns::follow(const QString &before, const QString &file)
{
    const QString from = folderOf(before), to = folderOf(file);
    if (from == to)
        return std::nullopt;
    const QFileInfoList files = QDir(from).entryInfoList({QLatin1Char('*') + ending}, QDir::Files);
    std::optional<Issue> issue;
    if (!files.isEmpty() && !QDir().mkpath(to))
        issue = couldNot(to, tr("the folder for measured runs cannot be made"));
    QStringList moved;
    for (const QFileInfo &each : files) {
        if (issue)
            break;
        if (const auto failed = copyTo(to, each)) {
            issue = failed;
            break;
        }
        moved << each.filePath();
    }
    if (before.isEmpty() && !issue)
        for (const QString &each : std::as_const(moved))
            QFile::remove(each);
    std::vector<Issue> ignored;
    read(issue ? from : to, ignored);
    return issue;
}

void MeasuredRuns::clearUnsaved()
{
    if (m_folder != m_unsavedFolder)
        return;
    for (const StoredRun &run : m_runs)
        QFile::remove(run.file);
    std::vector<Issue> ignored;
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
    if (!QDir().mkpath(m_folder))
        return couldNot(m_folder, tr("the folder for measured runs cannot be made"));
    const QString base = name.isEmpty() ? nameOf(file) : name;
    const QString target = freeName(m_folder, base);
    if (std::optional<Issue> issue = writeFile(target, content))
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
    if (!QDir().mkpath(folder))
        return couldNot(folder, tr("the folder for measured runs cannot be made"));
    return writeFile(freeName(folder, name.isEmpty() ? nameOf(file) : name), contentOf(file));
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

void MeasuredRuns::setCurrent(int index)
{
    if (index == m_current || index < -1 || index >= static_cast<int>(m_runs.size()))
        return;
    m_current = index;
    emit currentChanged();
}

} // namespace headroom
