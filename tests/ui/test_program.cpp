// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The program `headroom` as a process without a display: what it exports, what it refuses and with which exit status.
#include "core/plan/plan_json.h"
#include "window_fixture.h"

#include <QDir>
#include <QProcess>
#include <QTest>

#ifdef Q_OS_UNIX
#include <sys/stat.h>
#endif

using namespace headroom;
using test::Folder;

namespace {

struct Ended {
    int status = -1;
    QString output, errors;
};

Ended run(const QStringList &arguments)
{
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char *name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"})
        environment.remove(name);
    process.setProcessEnvironment(environment);
    process.start(HEADROOM_PROGRAM, arguments);
    if (!process.waitForFinished(60000) || process.exitStatus() != QProcess::NormalExit)
        return {-1, {}, process.errorString()};
    return {process.exitCode(), QString::fromUtf8(process.readAllStandardOutput()), QString::fromUtf8(process.readAllStandardError())};
}

QByteArray plan()
{
    TrainingPlan made;
    made.model.preset = "Qwen/Qwen2.5-0.5B";
    made.batch.sequenceLength = 256;
    made.gpus = {"nvidia-rtx-3060-12gb"};
    return QByteArray::fromStdString(writePlan(made));
}

QByteArray contentOf(const QString &file)
{
    QFile source(file);
    return source.open(QIODevice::ReadOnly) ? source.readAll() : QByteArray();
}

} // namespace

class TestProgram : public QObject
{
    Q_OBJECT
private slots:
    void saysItsVersionAndHelp();
    void exportsWithoutADisplay_data();
    void exportsWithoutADisplay();
    void exportsAConfig();
    void badInputEndsWithTwo_data();
    void badInputEndsWithTwo();
    void whatCannotBeWrittenEndsWithThree();
    void neverWritesOverThePlan();
    void devicesAndPipesAreLeftAlone();
    void aWindowNeedsADisplay();
};

void TestProgram::saysItsVersionAndHelp()
{
    const Ended version = run({"--version"});
    QCOMPARE(version.status, 0);
    QVERIFY2(version.output.contains(HEADROOM_VERSION), qPrintable(version.output));
    const Ended help = run({"--help"});
    QCOMPARE(help.status, 0);
    QVERIFY2(help.output.contains("--export") && help.output.contains("report.pdf"), qPrintable(help.output));
    QVERIFY2(help.output.contains("Exit status:") && help.output.contains("\n  3  "), qPrintable(help.output));
}

void TestProgram::exportsWithoutADisplay_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<QByteArray>("start");
    QTest::newRow("pdf") << "report.pdf" << QByteArray("%PDF-");
    QTest::newRow("png") << "chart.png" << QByteArray("\x89PNG");
    QTest::newRow("svg") << "chart.svg" << QByteArray("<?xml");
}

void TestProgram::exportsWithoutADisplay()
{
    QFETCH(QString, name);
    QFETCH(QByteArray, start);
    const Folder folder;
    const Ended ended = run({"--export", folder.path(name), folder.write("plan.headroom.json", plan())});
    QVERIFY2(ended.status == 0, qPrintable(ended.errors));
    const QByteArray content = contentOf(folder.path(name));
    QVERIFY2(content.startsWith(start), content.left(20).constData());
    QVERIFY(content.size() > 2000);
}

void TestProgram::exportsAConfig()
{
    const Folder folder;
    const QString config = folder.write("config.json", R"({"model_type": "llama", "hidden_size": 512, "num_hidden_layers": 2,
        "num_attention_heads": 8, "intermediate_size": 1024, "vocab_size": 1000})");
    const Ended ended = run({"--export", folder.path("chart.png"), config});
    QVERIFY2(ended.status == 0, qPrintable(ended.errors));
    QVERIFY(QFile::exists(folder.path("chart.png")));
}

void TestProgram::badInputEndsWithTwo_data()
{
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<QString>("place");
    QTest::newRow("no JSON") << QByteArray("hello") << "plan.headroom.json";
    QTest::newRow("out of range") << QByteArray(
                                         R"({"headroom_plan": 1, "model": {"preset": "Qwen/Qwen3-8B"}, "batch": {"micro_batch": 0}})")
                                  << "batch.micro_batch";
    QTest::newRow("unknown model") << QByteArray(R"({"headroom_plan": 1, "model": {"preset": "no/body"}})") << "model";
    QTest::newRow("not executed yet")
        << QByteArray(
               "{\"headroom_plan\": 1, \"model\": {\"preset\": \"Qwen/Qwen3-8B\"},\n\"parallel\": {\"engine\": \"fsdp2\", \"data\": 2}}")
        << "line 2: parallel.engine";
}

void TestProgram::badInputEndsWithTwo()
{
    QFETCH(QByteArray, content);
    QFETCH(QString, place);
    const Folder folder;
    const Ended ended = run({"--export", folder.path("report.pdf"), folder.write("plan.headroom.json", content)});
    QCOMPARE(ended.status, 2);
    QVERIFY2(ended.errors.contains("plan.headroom.json") && ended.errors.contains(place), qPrintable(ended.errors));
    QVERIFY(!QFile::exists(folder.path("report.pdf")));
    QCOMPARE(run({"--export", folder.path("report.pdf"), folder.path("not there.json")}).status, 2);
    QCOMPARE(run({"--export", folder.path("report.pdf")}).status, 2);
    QCOMPARE(run({"--no-such-option"}).status, 2);
    for (const QString &target : {QString(), folder.path("report.html")}) {
        const Ended unnamed = run({"--export", target, folder.write("good.headroom.json", plan())});
        QCOMPARE(unnamed.status, 2);
        QVERIFY2(unnamed.errors.contains("--export: ") && unnamed.errors.contains(".pdf"), qPrintable(unnamed.errors));
    }
    const Ended noPlan = run({"--export", folder.path("report.pdf"), QString()});
    QCOMPARE(noPlan.status, 2);
    QVERIFY2(noPlan.errors.contains("the file's name is empty"), qPrintable(noPlan.errors));
}

void TestProgram::whatCannotBeWrittenEndsWithThree()
{
    const Folder folder;
    const QString file = folder.write("plan.headroom.json", plan());
    const Ended ended = run({"--export", folder.path("no such folder/report.pdf"), file});
    QCOMPARE(ended.status, 3);
    QVERIFY2(ended.errors.contains("report.pdf"), qPrintable(ended.errors));
    if (!QFile::exists("/dev/full"))
        return;
    for (const char *option : {"--help", "--version"}) {
        QProcess process;
        process.setStandardOutputFile("/dev/full");
        process.start(HEADROOM_PROGRAM, {option});
        QVERIFY(process.waitForFinished(60000));
        QCOMPARE(process.exitCode(), 3);
        QVERIFY(process.readAllStandardError().contains("cannot write to standard output"));
    }
}

void TestProgram::neverWritesOverThePlan()
{
    const Folder folder;
    const QString file = folder.write("plan.pdf", plan());
    QVERIFY(QFile::link(file, folder.path("link.pdf")));
    for (const QString &target : {file, folder.path("link.pdf")}) {
        const Ended ended = run({"--export", target, file});
        QCOMPARE(ended.status, 2);
        QVERIFY2(ended.errors.contains("is the plan itself"), qPrintable(ended.errors));
        QCOMPARE(contentOf(file), plan());
    }
}

void TestProgram::devicesAndPipesAreLeftAlone()
{
#ifdef Q_OS_UNIX
    const Folder folder;
    const QString file = folder.write("plan.headroom.json", plan()), pipe = folder.path("pipe");
    QCOMPARE(::mkfifo(qPrintable(pipe), 0600), 0);
    QVERIFY(QFile::link(pipe, folder.path("report.pdf")));
    const Ended written = run({"--export", folder.path("report.pdf"), file});
    QCOMPARE(written.status, 3);
    QVERIFY2(written.errors.contains("report.pdf") && written.errors.contains("is a pipe or a device"), qPrintable(written.errors));
    QVERIFY(QFileInfo::exists(pipe) && !QFileInfo(pipe).isFile());
    const Ended read = run({"--export", folder.path("chart.png"), pipe});
    QCOMPARE(read.status, 2);
    QVERIFY2(read.errors.contains("is a pipe or a device"), qPrintable(read.errors));
#else
    QSKIP("needs a system with named pipes");
#endif
}

void TestProgram::aWindowNeedsADisplay()
{
#ifdef Q_OS_LINUX
    const Ended ended = run({});
    QCOMPARE(ended.status, 2);
    QVERIFY2(ended.errors.contains("--export"), qPrintable(ended.errors));
#else
    QSKIP("needs a system where a display can be missing");
#endif
}

QTEST_GUILESS_MAIN(TestProgram)
#include "test_program.moc"
