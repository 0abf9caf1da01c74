// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// headroom-probe as a shell sees it, against stand-ins: no GPU, no PyTorch and no other machine is needed.
#include "app/headroom-probe/remote_script.h"

#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QRegularExpression>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

#include <csignal>
#include <sys/stat.h>

using namespace headroom::probe;

namespace {

const QString folder = QStringLiteral(HEADROOM_SOURCE_DIR "/tests/probe/");
const QString example = QStringLiteral(HEADROOM_SOURCE_DIR "/presets/examples/qwen3-8b-lora-24gb.headroom.json");
const QString timeline = QStringLiteral(HEADROOM_SOURCE_DIR "/tests/data/results/qwen3-8b-lora-rtx-4090-made-up.headroom-timeline.json");
const QString outOfMemory =
    QStringLiteral(HEADROOM_SOURCE_DIR "/tests/data/results/qwen3-8b-lora-out-of-memory-made-up.headroom-probe.json");
const QString recorded = QStringLiteral(HEADROOM_SOURCE_DIR "/tests/data/results/qwen3-8b-lora-dry-run.headroom-probe.json");

struct Run {
    int status = -1;
    QByteArray output, error;
};

QByteArray contentOf(const QString &name)
{
    QFile file(name);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

} // namespace

class TestProbeProgram : public QObject
{
    Q_OBJECT

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

private slots:
    void initTestCase()
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

    void init()
    {
        QFile::remove(m_output);
        for (const char *name : {"log", "arguments", "pids"})
            QFile::remove(path(name));
    }

    void cleanup() { QCOMPARE(leftBehind(), QStringList()); }

    void badCommandLines_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::newRow("nothing") << QStringList();
        QTest::newRow("no such command") << QStringList{"walk"};
        QTest::newRow("no plan") << QStringList{"run", "--output", "x"};
        QTest::newRow("no output") << QStringList{"run", example};
        QTest::newRow("two steps") << QStringList{"run", example, "--output", "x", "--steps", "2"};
        QTest::newRow("no such option") << QStringList{"fits", example, "--now"};
        QTest::newRow("plan missing") << QStringList{"run", "/nowhere.headroom.json", "--output", "x"};
        QTest::newRow("host as option") << QStringList{"run", example, "--output", "x", "--ssh=-oProxyCommand=true"};
        QTest::newRow("no host") << QStringList{"run", example, "--output", "x", "--ssh", ""};
        QTest::newRow("user without host") << QStringList{"run", example, "--output", "x", "--ssh", "user@"};
        QTest::newRow("host with space") << QStringList{"run", example, "--output", "x", "--ssh", "a b"};
        QTest::newRow("GPU of no number") << QStringList{"fits", example, "--gpu", "first"};
        QTest::newRow("GPU beyond") << QStringList{"fits", example, "--gpu", "7"};
    }
    void badCommandLines()
    {
        QFETCH(QStringList, arguments);
        const Run result = run(arguments);
        QCOMPARE(result.status, 2);
        QVERIFY(result.error.startsWith("headroom-probe: "));
        QVERIFY(result.output.isEmpty());
    }

    void aSlipOfTheKeyboardIsUnderstood()
    {
        QVERIFY(run({"snapshoot"}).error.contains("there is no command \"snapshoot\" (did you mean snapshot?)"));
        QVERIFY(run({"walk"}).error.contains("there are run, snapshot, gpus or fits"));
        QVERIFY(run({}).error.contains("a command is missing (headroom-probe --help"));
        QVERIFY(run({"run", example, "--output", "x", "--ssh", ""}).error.contains("the host's name is empty (write a host as for ssh"));
    }

    void helpAndVersion()
    {
        QVERIFY(run({"--help"}).output.contains("Exit status"));
        QVERIFY(run({"--version"}).output.contains("result format 1"));
        for (const char *command : {"run", "snapshot", "gpus", "fits"})
            QCOMPARE(run({command, "--help"}).status, 0);
    }

    // --- gpus ---

    void gpusAreListed()
    {
        const Run people = run({"gpus"});
        QCOMPARE(people.status, 0);
        for (const char *text : {"Driver 580.65.06, CUDA 13.0", "NVIDIA GeForce RTX 4090", "23.99 GiB", "8.9"})
            QVERIFY2(people.output.contains(text), people.output);
        const QJsonObject document = QJsonDocument::fromJson(run({"gpus", "--json"}).output).object();
        QCOMPARE(document["gpus"].toArray().size(), 2);
        QCOMPARE(document["gpus"].toArray()[1].toObject()["capacity"].toDouble(), 24564.0 * (1 << 20));
        QCOMPARE(document["gpus"].toArray()[1].toObject()["compute_capability"].toString(), QString("8.9"));
    }

    void withoutDriverThereIsAMessage_data()
    {
        QTest::addColumn<QString>("variable");
        QTest::addColumn<QString>("value");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("no NVML") << "HEADROOM_TEST_NVML_LIBRARY"
                                 << "libnothing.so.1" << QByteArray("comes with NVIDIA's driver");
        QTest::newRow("no driver") << "HEADROOM_TEST_CUDA_LIBRARY"
                                   << "libnothing.so.1" << QByteArray("comes with NVIDIA's driver");
        QTest::newRow("no GPU") << "STAND_IN_GPUS"
                                << "0" << QByteArray("no GPU");
        QTest::newRow("versions differ") << "STAND_IN_NVML_INIT"
                                         << "18" << QByteArray("Driver/library version mismatch");
        QTest::newRow("driver updated") << "STAND_IN_INIT"
                                        << "803" << QByteArray("restart the machine");
        QTest::newRow("another library") << "HEADROOM_TEST_CUDA_LIBRARY" << STAND_IN_NVML << QByteArray("has no function");
    }
    void withoutDriverThereIsAMessage()
    {
        QFETCH(QString, variable);
        QFETCH(QString, value);
        QFETCH(QByteArray, says);
        for (const QStringList &arguments : {QStringList{"gpus"}, QStringList{"fits", example}}) {
            const Run result = run(arguments, {{variable, value}});
            QCOMPARE(result.status, 3);
            QVERIFY2(result.error.contains(says), result.error);
            QVERIFY(result.output.isEmpty());
        }
    }

    // --- fits ---

    void aPlanThatFitsIsTriedOutAndGivenBack()
    {
        const Run result = run({"fits", example, "--json"});
        QCOMPARE(result.status, 0);
        const QJsonObject document = QJsonDocument::fromJson(result.output).object();
        QVERIFY(document["fits"].toBool());
        QCOMPARE(document["context"].toDouble(), 300.0 * (1 << 20));
        // The segments of the estimate: 21.05 GiB reserved at the peak of a later step (README.md).
        const double peak = document["peak"].toDouble() / (1 << 30);
        QVERIFY2(peak > 20.9 && peak < 21.2, qPrintable(QString::number(peak)));
        const QByteArray log = contentOf(path("log"));
        QVERIFY2(log.startsWith("held 0 "), log);
        QVERIFY(log.contains("peak " + QByteArray::number(qint64(document["peak"].toDouble())) + " "));
        QVERIFY(run({"fits", example}).output.contains("Fits now"));
    }

    void aPlanThatDoesNotFitNowSaysWhere()
    {
        const Run result = run({"fits", example}, {{"STAND_IN_FREE_MIB", "18000"}});
        QCOMPARE(result.status, 1);
        QVERIFY2(QString::fromUtf8(result.output)
                     .contains(QRegularExpression("Does not fit now: (in|while|between).* of step 1, .* too little")),
                 result.output);
        QVERIFY(contentOf(path("log")).startsWith("held 0 "));
        const Run loading = run({"fits", example, "--json"}, {{"STAND_IN_FREE_MIB", "4000"}});
        QCOMPARE(loading.status, 1);
        const QJsonObject document = QJsonDocument::fromJson(loading.output).object();
        QCOMPARE(document["phase"].toString(), QString("load"));
        QVERIFY(document["step"].isNull());
        QVERIFY(document["missing"].toDouble() > 0);
    }

    void aDriverThatRefusesHalfWayIsBelieved()
    {
        const Run result = run({"fits", example}, {{"STAND_IN_REFUSE_MIB", "17000"}});
        QCOMPARE(result.status, 1);
        QVERIFY2(result.output.contains("The driver said: cuMemAlloc failed: out of memory"), result.output);
        QVERIFY(contentOf(path("log")).startsWith("held 0 "));
    }

    void expandableSegmentsAreTriedPageByPage()
    {
        QFile plan(path("expandable.headroom.json"));
        QVERIFY(plan.open(QIODevice::WriteOnly));
        plan.write(contentOf(example).replace("\"checkpointing\"", "\"runtime\": {\"expandable_segments\": true}, \"checkpointing\""));
        plan.close();
        const Run result = run({"fits", plan.fileName(), "--json"});
        QCOMPARE(result.status, 0);
        QVERIFY(contentOf(path("log")).startsWith("held 0 "));
        QVERIFY(QJsonDocument::fromJson(result.output).object()["peak"].toDouble() > 20.0 * (1 << 30));
    }

    // --- run ---

    void aRunGivesItsResult()
    {
        const Run result =
            run(runArguments({"--dry-run", "--steps", "5"}), {{"STAND_IN_ARGUMENTS", path("arguments")}, {"STAND_IN_PLAN", path("plan")}});
        QVERIFY2(result.status == 0, result.error);
        QCOMPARE(contentOf(m_output), contentOf(recorded));
        QVERIFY2(result.error.contains("step 1 of 3: forward\n"), result.error);
        QVERIFY2(result.output.contains("dry run, torch 2.13.0"), result.output);
        QVERIFY2(contentOf(path("arguments")).endsWith("--steps 5 --dry-run\n"), contentOf(path("arguments")));
        // The plan is complete, and knows its model without Headroom's presets.
        const QJsonObject plan = QJsonDocument::fromJson(contentOf(path("plan"))).object();
        QCOMPARE(plan["model"].toObject()["config"].toObject()["num_hidden_layers"].toInt(), 36);
        QVERIFY(plan["runtime"].toObject().contains("torch"));
    }

    void pathsAreArguments()
    {
        const QString python = path("a 'python; $(touch pwned) \"x\".sh");
        QVERIFY(QFile::copy(folder + "stand_in_python.sh", python));
        QFile::setPermissions(python, QFile::ReadOwner | QFile::ExeOwner);
        const QString output = path("out $(touch pwned); 'b.headroom-probe.json");
        for (const QStringList &more : {QStringList(), QStringList{"--ssh", "user@gpu-machine"}}) {
            QFile::remove(output);
            const Run result =
                run(QStringList{"run", example, "--output", output, "--python", python, "--probe", path("probe.pyz")} + more);
            QVERIFY2(result.status == 0, result.error);
            QCOMPARE(contentOf(output), contentOf(recorded));
        }
        QVERIFY(!QFile::exists("pwned") && !QFile::exists(path("pwned")));
    }

    void whatGoesWrongIsSaid_data()
    {
        QTest::addColumn<QString>("how");
        QTest::addColumn<int>("status");
        QTest::addColumn<QByteArray>("says");
        QTest::addColumn<bool>("result");
        QTest::newRow("garbage on standard error") << "garbage" << 0 << QByteArray("importing libraries") << true;
        QTest::newRow("killed") << "killed" << 3 << QByteArray("") << false;
        QTest::newRow("no result") << "nothing" << 3 << QByteArray("wrote no result (is it a Python") << false;
        QTest::newRow("broken result") << "broken" << 3 << QByteArray("is no result") << false;
        QTest::newRow("lines as of a terminal") << "terminal" << 0 << QByteArray("\na line as terminals end it\n") << true;
        QTest::newRow("the plan, by the name that the user knows")
            << "refuses" << 2 << QByteArray("headroom_probe: " + example.toUtf8() + ": attention: ") << false;
        QTest::newRow("library missing") << "missing" << 3 << QByteArray("torch >= 2.4") << false;
        QTest::newRow("broke off") << "failed" << 1 << QByteArray("importing libraries") << true;
    }
    void whatGoesWrongIsSaid()
    {
        QFETCH(QString, how);
        QFETCH(int, status);
        QFETCH(QByteArray, says);
        QFETCH(bool, result);
        for (const QStringList &more : {QStringList(), QStringList{"--ssh", "host"}}) {
            QFile::remove(m_output);
            const Run ran = run(runArguments(more), {{"STAND_IN_PYTHON", how}});
            QVERIFY2(ran.status == status, ran.error);
            QVERIFY2(ran.error.contains(says), ran.error);
            QCOMPARE(QFile::exists(m_output), result);
            for (const char c : ran.error)
                QVERIFY(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
        }
    }

    void anOldResultIsNotTakenForANewOne()
    {
        QVERIFY(QFile::copy(recorded, m_output));
        QFile::setPermissions(m_output, QFile::ReadOwner | QFile::WriteOwner);
        QCOMPARE(run(runArguments(), {{"STAND_IN_PYTHON", "nothing"}}).status, 3);
        QCOMPARE(contentOf(m_output), contentOf(recorded)); // and it is still there
    }

    /// Before anything is measured: an hour later it would be too late.
    void whereNothingCanBeWrittenIsSaidFirst()
    {
        const QString pipe = path("pipe");
        QCOMPARE(mkfifo(pipe.toLocal8Bit().constData(), 0600), 0);
        for (const QString &place : {path("tmp"), path("no folder/result.headroom-probe.json"), pipe}) {
            const Run snapshot = run(runArguments({"--snapshot", place}));
            QCOMPARE(snapshot.status, 3);
            QVERIFY2(snapshot.error.contains(place.toLocal8Bit()) && !snapshot.error.contains("importing libraries"), snapshot.error);
            const QStringList once{"run",     example,          "--output", place, "--python", folder + "stand_in_python.sh",
                                   "--probe", path("probe.pyz")};
            const Run result = run(once);
            QCOMPARE(result.status, 3);
            QVERIFY2(!result.error.contains("importing libraries"), result.error);
        }
        struct stat status {
        };
        QCOMPARE(stat(pipe.toLocal8Bit().constData(), &status), 0);
        QVERIFY(S_ISFIFO(status.st_mode)); // and not replaced
    }

    void aLinkIsWrittenThrough()
    {
        const QString link = path("link.headroom-probe.json"), target = path("target.headroom-probe.json");
        QVERIFY(QFile::link(target, link));
        QFile made(target);
        QVERIFY(made.open(QIODevice::WriteOnly));
        made.close();
        QCOMPARE(run({"run", example, "--output", link, "--python", folder + "stand_in_python.sh", "--probe", path("probe.pyz")}).status,
                 0);
        QVERIFY(QFileInfo(link).isSymLink());
        QCOMPARE(contentOf(target), contentOf(recorded));
    }

    /// What a run is made from is not written over, nor the result by the snapshot.
    void aRunIsNotWrittenOverWhatItReads_data()
    {
        QTest::addColumn<QString>("output");
        QTest::addColumn<QString>("snapshot");
        QTest::addColumn<QByteArray>("says");
        const QByteArray plan("is the plan itself"), config("is the plan's config.json"), result("is the result's file too");
        const QString other = "apart/other.headroom-probe.json";
        QTest::newRow("plan") << "apart/plan.rank1.json"
                              << "" << plan;
        QTest::newRow("plan by another path") << "apart/../apart/./plan.rank1.json"
                                              << "" << plan;
        QTest::newRow("plan through a link") << "apart/link.json"
                                             << "" << plan;
        QTest::newRow("plan by the name of a rank") << "apart/plan.json"
                                                    << "" << plan;
        QTest::newRow("config.json") << "apart/config.json"
                                     << "" << config;
        QTest::newRow("snapshot, plan") << other << "apart/link.json" << plan;
        QTest::newRow("snapshot, plan by the name of a rank") << other << "apart/plan.json" << plan;
        QTest::newRow("snapshot, config.json") << other << "apart/config.json" << config;
        QTest::newRow("snapshot, result") << other << "apart/../" + other << result;
        QTest::newRow("snapshot, result of a rank") << "apart/a.pickle"
                                                    << "apart/a.rank1.pickle" << result;
    }
    void aRunIsNotWrittenOverWhatItReads()
    {
        QFETCH(QString, output);
        QFETCH(QString, snapshot);
        QFETCH(QByteArray, says);
        QVERIFY(QDir(m_folder.path()).mkpath("apart"));
        const QString plan = path("apart/plan.rank1.json"), config = path("apart/config.json");
        // The model of the recorded run, as a file beside the plan.
        const QJsonObject complete = QJsonDocument::fromJson(contentOf(recorded)).object()["plan"].toObject();
        const QByteArray model = QJsonDocument(complete["model"].toObject()["config"].toObject()).toJson();
        QJsonObject text = QJsonDocument::fromJson(contentOf(severalRanks())).object();
        text["model"] = QJsonObject{{"config_path", "config.json"}};
        const QByteArray planText = QJsonDocument(text).toJson();
        for (const auto &[name, content] : {std::pair(plan, planText), std::pair(config, model)}) {
            QFile file(name);
            QVERIFY(file.open(QIODevice::WriteOnly) && file.write(content) == content.size());
        }
        QFile::link(plan, path("apart/link.json")); // or there it is already
        for (const QStringList &more : {QStringList(), QStringList{"--ssh", "host"}}) {
            QStringList arguments{
                "run", plan, "--output", path(output), "--python", folder + "stand_in_python.sh", "--probe", path("probe.pyz")};
            if (!snapshot.isEmpty())
                arguments << "--snapshot" << path(snapshot);
            const Run ran = run(arguments + more);
            QVERIFY2(ran.status == 2, ran.error);
            QVERIFY2(ran.error.contains(says), ran.error);
            QVERIFY2(!ran.error.contains("importing libraries"), ran.error);
            QCOMPARE(contentOf(plan), planText);
            QCOMPARE(contentOf(config), model);
        }
    }

    void pythonThatIsNotThere()
    {
        const QStringList arguments{"run", example, "--output", m_output, "--python", path("no python"), "--probe", path("probe.pyz")};
        const Run here = run(arguments);
        QCOMPARE(here.status, 3);
        QVERIFY2(here.error.contains("No such file") && here.error.contains("--python"), here.error);
        const Run there = run(arguments + QStringList{"--ssh", "host"});
        QCOMPARE(there.status, 3);
        QVERIFY2(there.error.contains("there is no Python called"), there.error);
    }

    void probeFileThatIsNotThere()
    {
        const Run result = run({"run", example, "--output", m_output, "--probe", path("nothing.pyz")});
        QCOMPARE(result.status, 3);
        QVERIFY(result.error.contains("share/headroom"));
    }

    void interruptingEndsPythonToo_data()
    {
        QTest::addColumn<QString>("how");
        QTest::addColumn<QStringList>("more");
        QTest::addColumn<int>("interrupts");
        QTest::newRow("here") << "hang" << QStringList() << 1;
        QTest::newRow("here, deaf") << "deaf" << QStringList() << 2;
        QTest::newRow("there") << "hang" << QStringList{"--ssh", "host"} << 1;
        // Asked once, made to end ten seconds later.
        QTest::newRow("there, deaf") << "deaf" << QStringList{"--ssh", "host"} << 1;
    }
    void interruptingEndsPythonToo()
    {
        QFETCH(QString, how);
        QFETCH(QStringList, more);
        QFETCH(int, interrupts);
        QElapsedTimer timer;
        timer.start();
        const Run result = interrupted(runArguments(more), {{"STAND_IN_PYTHON", how}, {"STAND_IN_PIDS", path("pids")}}, interrupts);
        QVERIFY2(result.status == 130, result.error);
        QVERIFY(timer.elapsed() < 55'000); // and not the minute that the script sleeps
        QVERIFY(!QFile::exists(m_output));
        // A moment for the other side to clean up.
        QTRY_COMPARE(leftBehind(), QStringList());
        QTRY_COMPARE(alive(), 0);
    }

    void aSnapshotThatIsTooLargeLeavesTheResult()
    {
        QFile::remove(m_output);
        const Run result = run(runArguments({"--snapshot", path("vast.pickle")}), {{"STAND_IN_PYTHON", "vast"}});
        QVERIFY2(result.status == 0, result.error);
        QVERIFY2(result.error.contains("the snapshot was too large to be kept"), result.error);
        QCOMPARE(contentOf(m_output), contentOf(recorded));
        QVERIFY(!QFile::exists(path("vast.pickle")));
    }

    /// Also where TMPDIR names no folder.
    void aResultThatHasNoPlaceIsKeptElsewhere()
    {
        const QString place = path("place");
        QVERIFY(QDir().mkpath(place));
        const Run result = run({"run", example, "--output", place + "/x.headroom-probe.json", "--python", folder + "stand_in_python.sh",
                                "--probe", path("probe.pyz")},
                               {{"STAND_IN_PYTHON", "displaced"}, {"STAND_IN_PLACE", place}, {"TMPDIR", path("no such folder")}});
        QVERIFY2(result.status == 3, result.error);
        const QRegularExpressionMatch kept =
            QRegularExpression("the result is kept as (/tmp/result-.{6}\\.headroom-probe\\.json)\n").match(QString::fromUtf8(result.error));
        QVERIFY2(kept.hasMatch(), result.error);
        const QByteArray content = contentOf(kept.captured(1));
        QVERIFY(QFile::remove(kept.captured(1)));
        QCOMPARE(content, contentOf(recorded));
    }

    // --- several ranks ---

    void everyRankIsStartedAndHasItsResult()
    {
        const QString plan = severalRanks(), snapshot = path("memory.pickle");
        for (const QStringList &more : {QStringList(), QStringList{"--ssh", "host"}}) {
            QFile::remove(path("arguments"));
            for (const char *file : {"a result.rank1.headroom-probe.json", "memory.rank1.pickle"})
                QFile::remove(path(file));
            const Run result = run(QStringList{"run", plan, "--output", m_output, "--python", folder + "stand_in_python.sh", "--probe",
                                               path("probe.pyz"), "--snapshot", snapshot} +
                                       more,
                                   {{"STAND_IN_ARGUMENTS", path("arguments")}});
            QVERIFY2(result.status == 0, result.error);
            const QList<QByteArray> started = contentOf(path("arguments")).split('\n');
            QVERIFY2(started[0].contains(" check ") || started[0].contains(".pyz check "), started[0]);
            QVERIFY2(started[1].startsWith("-m torch.distributed.run --standalone --nproc-per-node 2 "), started[1]);
            QCOMPARE(started.size(), 5); // two ranks, and the end
            for (int rank = 0; rank < 2; ++rank) {
                const QString file = rank == 0 ? m_output : path("a result.rank1.headroom-probe.json");
                const QJsonObject written = QJsonDocument::fromJson(contentOf(file)).object();
                QCOMPARE(written["rank"].toInt(-1), rank);
                QCOMPARE(written["ranks"].toInt(), 2);
            }
            QCOMPARE(contentOf(snapshot), QByteArray("snapshot of rank 0\n"));
            QCOMPARE(contentOf(path("memory.rank1.pickle")), QByteArray("snapshot of rank 1\n"));
            QVERIFY2(result.output.contains("rank 1 of 2"), result.output);
            QCOMPARE(result.error.count("importing libraries"), 1); // one rank speaks
        }
    }

    void fewerGpusThanRanksAreSaid()
    {
        for (const QStringList &more : {QStringList(), QStringList{"--ssh", "host"}}) {
            const Run result = run(QStringList{"run", severalRanks(), "--output", m_output, "--python", folder + "stand_in_python.sh",
                                               "--probe", path("probe.pyz")} +
                                       more,
                                   {{"STAND_IN_PYTHON", "few"}});
            QVERIFY2(result.status == 3, result.error);
            QVERIFY2(result.error.contains("needs 2 GPUs") && !result.error.contains("importing libraries"), result.error);
        }
    }

    void aRankOutOfMemoryEndsTheOthers()
    {
        for (const QStringList &more : {QStringList(), QStringList{"--ssh", "host"}}) {
            QFile::remove(path("a result.rank1.headroom-probe.json"));
            const Run result = run(QStringList{"run", severalRanks(), "--output", m_output, "--python", folder + "stand_in_python.sh",
                                               "--probe", path("probe.pyz")} +
                                       more,
                                   {{"STAND_IN_PYTHON", "short"}, {"STAND_IN_PIDS", path("pids")}});
            QVERIFY2(result.status == 0, result.error); // out of memory is a result
            QVERIFY2(result.error.contains("1 of 2 ranks wrote a result: where memory ran out"), result.error);
            QVERIFY2(!result.error.contains("elastic") && !result.error.contains("Traceback") && !result.error.contains("FAILED"),
                     result.error); // of the launcher's own
            QVERIFY(!QFile::exists(m_output) && QFile::exists(path("a result.rank1.headroom-probe.json")));
            QTRY_COMPARE(alive(), 0);
        }
    }

    void missingSnapshotsOfRanksAreSaid()
    {
        for (const QStringList &more : {QStringList(), QStringList{"--ssh", "host"}}) {
            for (const char *file : {"memory.pickle", "memory.rank1.pickle"})
                QFile::remove(path(file));
            const Run result = run(QStringList{"run", severalRanks(), "--output", m_output, "--python", folder + "stand_in_python.sh",
                                               "--probe", path("probe.pyz"), "--snapshot", path("memory.pickle")} +
                                       more,
                                   {{"STAND_IN_PYTHON", "unrecorded"}});
            QVERIFY2(result.status == 0, result.error);
            QVERIFY2(result.error.contains("1 of 2 ranks left a snapshot: the others ended before one was taken"), result.error);
            QVERIFY(QFile::exists(path("memory.pickle")) && !QFile::exists(path("memory.rank1.pickle")));
        }
    }

    void aTracebackOfARankIsShown()
    {
        const Run result = run(QStringList{"run", severalRanks(), "--output", m_output, "--python", folder + "stand_in_python.sh",
                                           "--probe", path("probe.pyz")},
                               {{"STAND_IN_PYTHON", "failed"}});
        QCOMPARE(result.status, 1);
        QVERIFY2(result.error.contains("Traceback (most recent call last):\n  File \"model.py\", line 7\nKeyError: 7\n") &&
                     !result.error.contains("elastic"),
                 result.error);
    }

    void interruptingEndsEveryRank_data()
    {
        QTest::addColumn<QStringList>("more");
        QTest::newRow("here") << QStringList();
        QTest::newRow("there") << QStringList{"--ssh", "host"};
    }
    void interruptingEndsEveryRank()
    {
        QFETCH(QStringList, more);
        const Run result = interrupted(QStringList{"run", severalRanks(), "--output", m_output, "--python", folder + "stand_in_python.sh",
                                                   "--probe", path("probe.pyz")} +
                                           more,
                                       {{"STAND_IN_PYTHON", "hang"}, {"STAND_IN_PIDS", path("pids")}}, 1);
        QVERIFY2(result.status == 130, result.error);
        QCOMPARE(contentOf(path("pids")).count('\n'), 2);
        QTRY_COMPARE(alive(), 0);
        QTRY_COMPARE(leftBehind(), QStringList());
    }

    // --- snapshots ---

    void aSnapshotIsConvertedByPython()
    {
        const QString output = path("memory.headroom-timeline.json");
        const QString snapshot = path("some snapshot.pickle");
        QFile file(snapshot);
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write("\x80\x04N.") == 4);
        file.close();
        const QStringList arguments{"snapshot", snapshot,         "--output", output, "--python", folder + "stand_in_python.sh",
                                    "--probe",  path("probe.pyz")};
        const Run result = run(arguments, {{"STAND_IN_ARGUMENTS", path("arguments")}});
        QVERIFY2(result.status == 0, result.error);
        QCOMPARE(contentOf(output), contentOf(timeline));
        QVERIFY2(result.output.contains("GPU 0, ") && result.output.contains(" reserved at most"), result.output);
        QVERIFY2(contentOf(path("arguments")).endsWith(" -- " + snapshot.toUtf8() + "\n"), contentOf(path("arguments")));
        QFile::remove(output);
        for (const auto &[how, status, says] :
             {std::tuple("refuses", 2, QByteArray("holds an instruction")), std::tuple("nothing", 3, QByteArray("wrote no result")),
              std::tuple("broken", 3, QByteArray("is no timeline"))}) {
            const Run bad = run(arguments, {{"STAND_IN_PYTHON", how}});
            QVERIFY2(bad.status == status, bad.error);
            QVERIFY2(bad.error.contains(says), bad.error);
            QVERIFY(!QFile::exists(output));
        }
        QCOMPARE(run({"snapshot", snapshot, "--output", snapshot, "--probe", path("probe.pyz")}).status, 2);
        QCOMPARE(contentOf(snapshot).size(), 4);
    }

    /// By a real Python, where there is one; it needs no PyTorch.
    void aHostilePickleRunsNothing()
    {
        const QString python = QStandardPaths::findExecutable("python3");
        if (python.isEmpty())
            QSKIP("there is no python3");
        const QString snapshot = path("hostile.pickle"), touched = path("touched");
        QFile file(snapshot);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("cos\nsystem\n(S'touch " + touched.toUtf8() + "'\ntR.");
        file.close();
        const Run result = run({"snapshot", snapshot, "--output", path("x.headroom-timeline.json"), "--python", python, "--probe",
                                QStringLiteral(HEADROOM_PROBE_ARCHIVE)});
        QVERIFY2(result.status == 2, result.error);
        QVERIFY2(result.error.contains(snapshot.toUtf8()), result.error);
        QVERIFY(!QFile::exists(touched) && !QFile::exists(path("x.headroom-timeline.json")));
    }

    /// Whoever kills headroom-probe itself leaves no Python behind.
    void pythonEndsWithProgram()
    {
        const QString python = QStandardPaths::findExecutable("python3");
        if (python.isEmpty())
            QSKIP("there is no python3");
        QFile probe(path("waits.py"));
        QVERIFY(probe.open(QIODevice::WriteOnly));
        probe.write("import os, sys, time\nsys.path.insert(0, '" HEADROOM_SOURCE_DIR "/resources/probe')\n"
                    "from headroom_probe.parent import end_with_parent\nend_with_parent()\n"
                    "open(os.environ['STAND_IN_PIDS'], 'w').write(str(os.getpid()) + '\\n')\n"
                    "print('importing libraries', file=sys.stderr, flush=True)\ntime.sleep(60)\n");
        probe.close();
        QProcess process;
        prepare(process, {{"STAND_IN_PIDS", path("pids")}, {"PYTHONDONTWRITEBYTECODE", "1"}});
        process.start(QStringLiteral(HEADROOM_PROBE),
                      {"run", example, "--output", m_output, "--python", python, "--probe", probe.fileName()});
        process.setReadChannel(QProcess::StandardError);
        QByteArray said;
        while (!said.contains("importing libraries") && process.waitForReadyRead(30'000))
            said += process.readAllStandardError();
        QCOMPARE(alive(), 1);
        process.kill();
        QVERIFY(process.waitForFinished());
        QTRY_COMPARE(alive(), 0);
        QDir(path("tmp")).removeRecursively(); // nobody was left to remove it
        QVERIFY(QDir().mkpath(path("tmp")));
    }

    void aHostThatIsNotThere()
    {
        const Run result = run(runArguments({"--ssh", "unreachable"}));
        QCOMPARE(result.status, 3);
        QVERIFY2(result.error.contains("No route to host") && result.error.contains("could not reach unreachable"), result.error);
        QVERIFY(!QFile::exists(m_output));
    }

    /// docs/validation/make_table.py, with results that are there already.
    void theValidationTableIsMade()
    {
        const QString python = QStandardPaths::findExecutable("python3");
        if (python.isEmpty())
            QSKIP("there is no python3 to run docs/validation/make_table.py with");
        QProcess process;
        prepare(process, {});
        process.start(python, {"-B", QStringLiteral(HEADROOM_SOURCE_DIR "/docs/validation/make_table.py"), "--programs",
                               QFileInfo(QStringLiteral(HEADROOM_PROBE)).path(), "--python", folder + "stand_in_python.sh", "--probe",
                               path("probe.pyz"), "--dry-run", "--only", "qwen-0.6b-lora", "--only", "llama-1b-full", "--keep",
                               path("kept"), "--output", path("table.md")});
        QVERIFY(process.waitForFinished(120'000));
        QVERIFY2(process.exitCode() == 0, process.readAllStandardError());
        const QByteArray table = contentOf(path("table.md"));
        QVERIFY2(table.contains("| plan | allocated, predicted | allocated, measured | allocated, error |"), table);
        QVERIFY(QString::fromUtf8(table).contains(QRegularExpression("\\| qwen-0.6b-lora \\| [0-9.]+ \\| 19.98 \\| -[0-9.]+% \\|")));
        QVERIFY(table.contains("Furthest off: allocated"));
    }

    // --- the remote side's text ---

    void wordsOfAShell()
    {
        QCOMPARE(shellWord("a b"), std::string("'a b'"));
        QCOMPARE(shellWord("it's"), std::string("'it'\"'\"'s'"));
        for (const char *text : {"", "$(touch x)", "`id`", "a;b&c|d", "'", "''\"", "-x", "~", "*", "a\tb"}) {
            QProcess shell;
            shell.start("sh", {"-c", QString::fromStdString("printf %s " + shellWord(text))});
            QVERIFY(shell.waitForFinished());
            QCOMPARE(shell.readAllStandardOutput(), QByteArray(text));
        }
    }

    void hostsAndPathsAreChecked()
    {
        QVERIFY(!checkHost("user@gpu-1.example.org"));
        QVERIFY(checkHost("@host")->what.find("no user before") != std::string::npos);
        QVERIFY(checkHost("user@")->what.find("no machine after") != std::string::npos);
        QVERIFY(checkHost("-V") && checkHost("") && checkHost("a\nb") && checkHost("a b"));
        QVERIFY(!checkRemotePath("--python", "/opt/my venv/bin/python"));
        QVERIFY(checkRemotePath("--python", "-c") && checkRemotePath("--python", "a\\b") && checkRemotePath("--python", "a\nb"));
    }

    void filesComeBackWhole()
    {
        const auto files =
            remoteFiles("Welcome\n\nHEADROOM-FILE result.headroom-probe.json 3\n{}\n\nHEADROOM-FILE snapshot.pickle 2\n\n\n");
        QCOMPARE(files.size(), std::size_t{2});
        QCOMPARE(files[0].name, std::string("result.headroom-probe.json"));
        QCOMPARE(files[0].text, std::string("{}\n"));
        QCOMPARE(files[1].text, std::string("\n\n"));
        for (const char *cut : {"", "\nHEADROOM-FILE a 5\nabc", "\nHEADROOM-FILE a -1\nabc", "\nHEADROOM-FILE a 99999999999999999999\nabc",
                                "\nHEADROOM-FILE a", "\nHEADROOM-FILE a x\nabc"})
            QVERIFY2(remoteFiles(cut).empty(), cut);
    }
};

QTEST_GUILESS_MAIN(TestProbeProgram)
#include "test_probe_program.moc"
