// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/measured/probe_process.h"

#include "core/plan/plan_json.h"
#include "core/units/text.h"
#include "ui/document/plan_files.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>

#include <utility>

namespace headroom {
namespace {

/// headroom-probe itself takes up to 15 seconds to end what it started.
constexpr int patienceMs = 20'000;
constexpr qsizetype longestLine = 64 << 10;
constexpr int keptLines = 4;
const QString resultName = QStringLiteral("result.headroom-probe.json");
const QString snapshotName = QStringLiteral("snapshot.pickle");
const QString timelineName = QStringLiteral("snapshot.headroom-timeline.json");

} // namespace

ProbeProcess::ProbeProcess(const QString &program, QObject *parent)
    : QObject(parent)
    , m_program(program.isEmpty() ? QDir(QCoreApplication::applicationDirPath()).filePath(QStringLiteral("headroom-probe")) : program)
{
    m_patience.setSingleShot(true);
    m_patience.setInterval(patienceMs);
    connect(&m_patience, &QTimer::timeout, this, [this] {
        if (m_process)
            m_process->kill();
    });
}

ProbeProcess::~ProbeProcess()
{
    if (!m_process)
        return;
    m_process->disconnect(this);
    // It cleans up after itself, here and on the other machine; without it nothing waits any longer. Asked once it asks Python to
    // end, asked again it kills whatever Python does not hear.
    for (int asked = 0; asked < 2; ++asked) {
        m_process->terminate();
        if (m_process->waitForFinished(3000))
            return;
    }
    m_process->kill();
    m_process->waitForFinished(1000);
}

std::optional<Issue> ProbeProcess::start(const TrainingPlan &plan, const QString &title, const MeasureSettings &settings)
{
    auto folder = std::make_unique<QTemporaryDir>();
    const QString planFile = folder->filePath(QStringLiteral("plan.headroom.json"));
    if (!folder->isValid())
        return Issue{{}, 0, {}, folder->errorString().toStdString(), tr("set TMPDIR to a folder that can be written").toStdString()};
    if (auto issue = writeFile(planFile, QByteArray::fromStdString(writePlan(movedTo(plan, folder->path()), PlanStyle::Complete))))
        return issue;
    m_folder = std::move(folder);
    m_planFile = planFile;
    m_title = title;
    QStringList arguments{QStringLiteral("run"),      planFile,
                          QStringLiteral("--output"), m_folder->filePath(resultName),
                          QStringLiteral("--steps"),  QString::number(settings.steps)};
    if (!settings.python.isEmpty())
        arguments << QStringLiteral("--python") << settings.python;
    if (settings.how == MeasureSettings::How::There)
        arguments << QStringLiteral("--ssh") << settings.host;
    if (settings.how == MeasureSettings::How::Dry)
        arguments << QStringLiteral("--dry-run");
    else if (settings.snapshot)
        arguments << QStringLiteral("--snapshot") << m_folder->filePath(snapshotName);
    // A Python of another machine is none of this one's.
    m_python = settings.how == MeasureSettings::How::There ? QString() : settings.python;
    m_isConversion = false;
    launch(arguments);
    return std::nullopt;
}

std::optional<Issue> ProbeProcess::convert(const QString &snapshot, const QString &python)
{
    return launchConversion(snapshot, python, snapshot);
}

std::optional<Issue> ProbeProcess::launchConversion(const QString &snapshot, const QString &python, const QString &told)
{
    auto folder = std::make_unique<QTemporaryDir>();
    if (!folder->isValid())
        return Issue{{}, 0, {}, folder->errorString().toStdString(), tr("set TMPDIR to a folder that can be written").toStdString()};
    m_folder = std::move(folder);
    QStringList arguments{QStringLiteral("snapshot"), QStringLiteral("--output"), m_folder->filePath(timelineName)};
    if (!python.isEmpty())
        arguments << QStringLiteral("--python") << python;
    m_snapshot = told;
    m_isConversion = true;
    launch(arguments << QStringLiteral("--") << QFileInfo(snapshot).absoluteFilePath());
    return std::nullopt;
}

void ProbeProcess::launch(const QStringList &arguments)
{
    m_isCancelled = false;
    m_unfinished.clear();
    m_complaints.clear();
    m_process = std::make_unique<QProcess>();
    m_process->setStandardInputFile(QProcess::nullDevice());
    m_process->setProcessChannelMode(QProcess::SeparateChannels);
    connect(m_process.get(), &QProcess::readyReadStandardError, this, &ProbeProcess::readLines);
    connect(m_process.get(), &QProcess::finished, this, &ProbeProcess::end);
    connect(m_process.get(), &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart) {
            m_complaints = {tr("%1 could not be started: %2").arg(QDir::toNativeSeparators(m_program), m_process->errorString())};
            end(-1, QProcess::CrashExit);
        }
    });
    emit progress(m_isConversion ? tr("Converting the snapshot...") : tr("Starting..."));
    m_process->start(m_program, arguments);
}

void ProbeProcess::cancel()
{
    if (!m_process)
        return;
    m_isCancelled = true;
    emit progress(tr("Cancelling..."));
    m_process->terminate();
    m_patience.start();
}

void ProbeProcess::readLines()
{
    m_unfinished += m_process->readAllStandardError();
    for (qsizetype end = m_unfinished.indexOf('\n'); end >= 0; end = m_unfinished.indexOf('\n')) {
        QString line = QString::fromStdString(excerpt(std::string_view(m_unfinished.constData(), static_cast<std::size_t>(end)), 500));
        if (!m_planFile.isEmpty())
            line.replace(m_planFile, m_title);
        m_unfinished.remove(0, end + 1);
        m_complaints << line;
        if (m_complaints.size() > keptLines)
            m_complaints.removeFirst();
        if (!m_isCancelled)
            emit progress(line);
    }
    if (m_unfinished.size() > longestLine)
        m_unfinished.clear();
}

void ProbeProcess::end(int status, QProcess::ExitStatus how)
{
    if (how == QProcess::NormalExit)
        readLines();
    m_patience.stop();
    m_process.release()->deleteLater();
    tell(status, how);
    if (!isRunning())
        emit idle();
}

void ProbeProcess::tell(int status, QProcess::ExitStatus how)
{
    // What is told may start the next run.
    std::unique_ptr<QTemporaryDir> folder = std::move(m_folder);
    const std::unique_ptr<QTemporaryDir> recorded = std::move(m_recorded);
    const bool isConversion = m_isConversion;
    const QString snapshot = std::exchange(m_snapshot, {});
    const QStringList complaints = m_complaints;
    if (m_isCancelled) {
        emit cancelled(isConversion);
        return;
    }
    const QDir made(folder->path());
    if (isConversion && QFileInfo::exists(made.filePath(timelineName)))
        emit converted(made.filePath(timelineName), snapshot);
    if (!isConversion) {
        // "result.headroom-probe.json" sorts after "result.rank1...": rank 0 is put first.
        QStringList results;
        for (const QFileInfo &file : made.entryInfoList({QStringLiteral("result*.headroom-probe.json")}, QDir::Files, QDir::Name))
            file.fileName() == resultName ? results.prepend(file.filePath()) : results.append(file.filePath());
        if (!results.isEmpty())
            emit finished(results);
    }
    if (how != QProcess::NormalExit || status != 0)
        emit failed(complaints.isEmpty() ? tr("headroom-probe ended with status %1").arg(status) : complaints.join(QLatin1Char('\n')),
                    isConversion);
    // Last: what goes wrong with the snapshot is another matter than what went wrong with the run.
    const QString pickle = made.filePath(snapshotName);
    if (isConversion || isRunning() || !QFileInfo::exists(pickle))
        return;
    m_recorded = std::move(folder);
    if (const auto issue = launchConversion(pickle, m_python, {})) {
        m_recorded.reset();
        emit failed(issueText(*issue), true);
    }
}

} // namespace headroom
