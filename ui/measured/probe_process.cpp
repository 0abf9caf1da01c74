// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/measured/probe_process.h"

#include "core/plan/plan_json.h"
#include "core/units/text.h"
#include "ui/document/plan_files.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>

namespace headroom {
namespace {

/// headroom-probe itself takes up to 15 seconds to end what it started.
constexpr int patienceMs = 20'000;
constexpr qsizetype longestLine = 64 << 10;
constexpr int keptLines = 4;

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
    m_process->terminate();
    // It cleans up after itself, here and on the other machine; without it nothing waits any longer.
    if (!m_process->waitForFinished(3000))
        m_process->kill();
    m_process->waitForFinished(1000);
}

std::optional<Issue> ProbeProcess::start(const TrainingPlan &plan, const MeasureSettings &settings)
{
    auto folder = std::make_unique<QTemporaryDir>();
    const QString planFile = folder->filePath(QStringLiteral("plan.headroom.json"));
    if (!folder->isValid())
        return Issue{{}, 0, {}, folder->errorString().toStdString(), tr("set TMPDIR to a folder that can be written").toStdString()};
    if (auto issue = writeFile(planFile, QByteArray::fromStdString(writePlan(movedTo(plan, folder->path()), PlanStyle::Complete))))
        return issue;
    m_folder = std::move(folder);
    m_resultFile = m_folder->filePath(QStringLiteral("result.headroom-probe.json"));
    QStringList arguments{QStringLiteral("run"),          planFile, QStringLiteral("--output"), m_resultFile, QStringLiteral("--steps"),
                          QString::number(settings.steps)};
    if (!settings.python.isEmpty())
        arguments << QStringLiteral("--python") << settings.python;
    if (settings.how == MeasureSettings::How::There)
        arguments << QStringLiteral("--ssh") << settings.host;
    if (settings.how == MeasureSettings::How::Dry)
        arguments << QStringLiteral("--dry-run");
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
    emit progress(tr("Starting..."));
    m_process->start(m_program, arguments);
    return std::nullopt;
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
        const std::string line = excerpt(std::string_view(m_unfinished.constData(), static_cast<std::size_t>(end)), 500);
        m_unfinished.remove(0, end + 1);
        m_complaints << QString::fromStdString(line);
        if (m_complaints.size() > keptLines)
            m_complaints.removeFirst();
        if (!m_isCancelled)
            emit progress(QString::fromStdString(line));
    }
    if (m_unfinished.size() > longestLine)
        m_unfinished.clear();
}

void ProbeProcess::end(int status, QProcess::ExitStatus how)
{
    if (how == QProcess::NormalExit)
        readLines();
    m_patience.stop();
    // What is told may start the next run.
    const std::unique_ptr<QTemporaryDir> folder = std::move(m_folder);
    m_process.release()->deleteLater();
    if (m_isCancelled) {
        emit cancelled();
        return;
    }
    if (QFileInfo::exists(m_resultFile))
        emit finished(m_resultFile);
    if (how != QProcess::NormalExit || status != 0)
        emit failed(m_complaints.isEmpty() ? tr("headroom-probe ended with status %1").arg(status) : m_complaints.join(QLatin1Char('\n')));
}

} // namespace headroom
