// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// headroom-probe as a shell sees it, against stand-ins: no GPU, no PyTorch and no other machine is needed.
#include "probe_program.h"

#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <QStandardPaths>

class TestProbeProgram : public QObject, private ProbeProgram
{
    Q_OBJECT

private slots:
    void initTestCase() { setUp(); }
    void init() { clear(); }
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
};

QTEST_GUILESS_MAIN(TestProbeProgram)
#include "test_probe_program.moc"
