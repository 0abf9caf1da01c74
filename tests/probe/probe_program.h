// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDir>
#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <csignal>

inline const QString folder = QStringLiteral(HEADROOM_SOURCE_DIR "/tests/probe/");
inline const QString example = QStringLiteral(HEADROOM_SOURCE_DIR "/presets/examples/qwen3-8b-lora-24gb.headroom.json");
inline const QString timeline =
    QStringLiteral(HEADROOM_SOURCE_DIR "/tests/data/results/qwen3-8b-lora-rtx-4090-made-up.headroom-timeline.json");
inline const QString outOfMemory =
    QStringLiteral(HEADROOM_SOURCE_DIR "/tests/data/results/qwen3-8b-lora-out-of-memory-made-up.headroom-probe.json");
inline const QString recorded = QStringLiteral(HEADROOM_SOURCE_DIR "/tests/data/results/qwen3-8b-lora-dry-run.headroom-probe.json");

struct Run {
    int status = -1;
    QByteArray output, error;
};

inline QByteArray contentOf(const QString &name)
{
    QFile file(name);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// headroom-probe with stand-ins for the driver, NVML, Python and ssh, in a folder of its own.
class ProbeProgram
{
protected:
    QTemporaryDir m_folder;
    QProcessEnvironment m_environment;
    QString m_output;

    QString path(const QString &name) const { return m_folder.filePath(name); }

    void prepare(QProcess &process, const QMap<QString, QString> &variables) const
    {
        QProcessEnvironment environment = m_environment;
        for (auto at = variables.begin(); at != variables.end(); ++at)
            environment.insert(at.key(), at.value());
        process.setProcessEnvironment(environment);
    }

    Run run(const QStringList &arguments, const QMap<QString, QString> &variables = {}) const
    {
        QProcess process;
        prepare(process, variables);
        process.start(QStringLiteral(HEADROOM_PROBE), arguments);
        Run result;
        if (process.waitForFinished(120'000) && process.exitStatus() == QProcess::NormalExit)
            result.status = process.exitCode();
        result.output = process.readAllStandardOutput();
        result.error = process.readAllStandardError();
        return result;
    }

    /// Runs until it says it imports libraries, sends the interrupts, waits for the end.
    Run interrupted(const QStringList &arguments, const QMap<QString, QString> &variables, int interrupts)
    {
        QProcess process;
        prepare(process, variables);
        process.start(QStringLiteral(HEADROOM_PROBE), arguments);
        process.setReadChannel(QProcess::StandardError); // what is waited for
        Run result;
        while (!result.error.contains("importing libraries") && process.waitForReadyRead(30'000))
            result.error += process.readAllStandardError();
        // Time for the script to set its trap.
        QTest::qWait(200);
        for (int i = 0; i < interrupts; ++i) {
            ::kill(static_cast<pid_t>(process.processId()), i == 0 ? SIGINT : SIGTERM);
            QTest::qWait(200);
        }
        // It may have ended while we waited.
        if ((process.state() == QProcess::NotRunning || process.waitForFinished(60'000)) && process.exitStatus() == QProcess::NormalExit)
            result.status = process.exitCode();
        result.error += process.readAllStandardError();
        return result;
    }

    QStringList runArguments(const QStringList &more = {}) const
    {
        return QStringList{"run", example, "--output", m_output, "--python", folder + "stand_in_python.sh", "--probe", path("probe.pyz")} +
               more;
    }

    /// A plan of two ranks.
    QString severalRanks() const
    {
        QFile plan(path("ranks.headroom.json"));
        if (!plan.open(QIODevice::WriteOnly))
            return {};
        plan.write(contentOf(example).replace("\"checkpointing\"", "\"parallel\": {\"engine\": \"ddp\", \"data\": 2}, \"checkpointing\""));
        return plan.fileName();
    }

    /// Of the stand-ins for Python, those that run.
    int alive() const
    {
        int count = 0;
        for (const QByteArray &pid : contentOf(path("pids")).split('\n')) {
            // A zombie whose parent is gone does not run; /proc knows.
            const QByteArray status = contentOf("/proc/" + QString::fromUtf8(pid) + "/stat");
            count += !pid.isEmpty() && !status.isEmpty() && !status.mid(status.lastIndexOf(')')).startsWith(") Z") ? 1 : 0;
        }
        return count;
    }

    /// What is left in the folder for temporary files.
    QStringList leftBehind() const { return QDir(path("tmp")).entryList(QDir::AllEntries | QDir::NoDotAndDotDot); }

    /// Before all tests.
    void setUp()
    {
        QVERIFY(QDir(m_folder.path()).mkpath("tmp") && QDir(m_folder.path()).mkpath("bin"));
        QVERIFY(QFile::copy(folder + "stand_in_ssh.sh", path("bin/ssh")));
        QVERIFY(QFile::setPermissions(path("bin/ssh"), QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
        QFile probe(path("probe.pyz"));
        QVERIFY(probe.open(QIODevice::WriteOnly) && probe.write(QByteArray(5000, '\xee')) == 5000);
        m_environment = QProcessEnvironment::systemEnvironment();
        m_environment.insert("HEADROOM_TEST_CUDA_LIBRARY", STAND_IN_CUDA);
        m_environment.insert("HEADROOM_TEST_NVML_LIBRARY", STAND_IN_NVML);
        m_environment.insert("STAND_IN_RESULT", recorded);
        m_environment.insert("STAND_IN_SHORT", outOfMemory);
        m_environment.insert("STAND_IN_TIMELINE", timeline);
        m_environment.insert("STAND_IN_LOG", path("log"));
        m_environment.insert("TMPDIR", path("tmp"));
        m_environment.insert("PATH", path("bin") + ":" + m_environment.value("PATH"));
        m_output = path("a result.headroom-probe.json");
    }

    /// Before each test.
    void clear()
    {
        QFile::remove(m_output);
        for (const char *name : {"log", "arguments", "pids"})
            QFile::remove(path(name));
    }
};
