// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// headroom-probe run, against stand-ins: results, what goes wrong, interrupts, several ranks.
#include "probe_program.h"

#include <QElapsedTimer>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <QStandardPaths>

#include <sys/stat.h>

class TestProbeRuns : public QObject, private ProbeProgram
{
    Q_OBJECT

private slots:
    void initTestCase() { setUp(); }
    void init() { clear(); }
    void cleanup() { QCOMPARE(leftBehind(), QStringList()); }

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
};

QTEST_GUILESS_MAIN(TestProbeRuns)
#include "test_probe_runs.moc"
