// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// estimate --jsonl and replay-allocator --jsonl: whatever a line holds, it is answered, in order, with place and mending hint.
#include "broken_lines.h"
#include "cli_process.h"

#include <QFile>
#include <QJsonArray>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

class CliJsonLinesTest : public QObject
{
    Q_OBJECT

private slots:
    void brokenLineIsAnswered_data();
    void brokenLineIsAnswered();
    void thousandPlansOfWhichATenthIsBroken();
    void absurdPlanIsAnswered_data();
    void absurdPlanIsAnswered();
    void blankLinesAreSkippedAndCounted();
    void lastLineNeedsNoLineFeed();
    void emptyInputIsNoError();
    void answersComeWhileInputIsOpen();
    void settingsApplyToEveryLine();
    void checkLooksAtEveryLine();
    void configPathIsBesideTheFile();
    void missingFileIsBadInput();
    void endlessLineEndsTheRun_data();
    void endlessLineEndsTheRun();
    void devicesAreRefused_data();
    void devicesAreRefused();
    void hugeFileIsRefused();
    void faultOfAConfigFileIsPlaced();
    void allocatorSequenceIsReplayed();
    void brokenSequenceIsAnswered_data();
    void brokenSequenceIsAnswered();
};

namespace {

/// Checks that a line is an error that a person can act on.
void verifyError(const QJsonObject &answer, int line, const QString &where)
{
    QCOMPARE(answer.keys(), QStringList{"error"});
    const QJsonObject error = answer["error"].toObject();
    QCOMPARE(QStringList(error.keys()), (QStringList{"hint", "line", "what", "where"}));
    QCOMPARE(error["line"].toInt(), line);
    QVERIFY2(!error["what"].toString().isEmpty(), "the error does not say what is wrong");
    QVERIFY2(!error["hint"].toString().isEmpty(), "the error does not say how to mend it");
    if (!where.isNull())
        QVERIFY2(error["where"].toString().startsWith(where), qPrintable(error["where"].toString() + " instead of " + where));
}

} // namespace

void CliJsonLinesTest::brokenLineIsAnswered_data()
{
    QTest::addColumn<QByteArray>("line");
    QTest::addColumn<QString>("where");
    for (const BrokenLine &broken : brokenLines())
        QTest::newRow(broken.kind) << broken.line << QString(broken.where);
}

void CliJsonLinesTest::brokenLineIsAnswered()
{
    QFETCH(QByteArray, line);
    QFETCH(QString, where);
    // A good plan behind it shows that the run goes on.
    const CliRun run = runCli({"estimate", "--jsonl", "-"}, line + "\n" + smallPlan("good") + "\n");
    QCOMPARE(run.status, 0);
    const QList<QJsonObject> answers = run.lines();
    QCOMPARE(answers.size(), 2);
    verifyError(answers[0], 1, where);
    QVERIFY2(run.output.size() < 16'384, "an error must not repeat all of a long line");
    QCOMPARE(answers[1]["name"].toString(), QString("good"));
}

void CliJsonLinesTest::thousandPlansOfWhichATenthIsBroken()
{
    const std::vector<BrokenLine> broken = brokenLines();
    QByteArray input;
    std::size_t next = 0;
    for (int i = 0; i < 1000; ++i) {
        if (i % 10 == 3)
            input += broken[next++ % broken.size()].line + "\n";
        else
            input += smallPlan("plan " + QByteArray::number(i)) + "\n";
    }
    QTemporaryDir folder;
    QFile file(folder.filePath("plans.jsonl"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    QCOMPARE(file.write(input), input.size());
    file.close();

    const CliRun run = runCli({"estimate", "--jsonl", file.fileName(), "--json"});
    QCOMPARE(run.status, 0);
    QVERIFY2(run.error.isEmpty(), run.error.constData());
    const QList<QJsonObject> answers = run.lines();
    QCOMPARE(answers.size(), 1000);
    next = 0;
    for (int i = 0; i < 1000; ++i) {
        if (i % 10 == 3) {
            verifyError(answers[i], i + 1, QString(broken[next++ % broken.size()].where));
        } else {
            QCOMPARE(answers[i]["headroom_estimate"].toInt(), 1);
            QCOMPARE(answers[i]["name"].toString(), QString("plan %1").arg(i));
        }
        if (QTest::currentTestFailed())
            return;
    }
}

void CliJsonLinesTest::absurdPlanIsAnswered_data()
{
    // Each may be estimated or refused; what must not happen is a crash, a hang or an overflowed figure.
    QTest::addColumn<QByteArray>("extra");
    QTest::newRow("largest batch") << QByteArray(R"("batch": {"micro_batch": 65536, "sequence_length": 1048576})");
    QTest::newRow("largest accumulation") << QByteArray(R"("batch": {"gradient_accumulation": 65536, "sequence_length": 32})");
    QTest::newRow("eager attention, long") << QByteArray(
        R"("attention": "eager", "batch": {"micro_batch": 1024, "sequence_length": 1048576})");
    QTest::newRow("rank above the widths") << QByteArray(R"("method": {"kind": "lora", "rank": 4096})");
    QTest::newRow("10 MB of name") << "\"notes\": \"" + QByteArray(10 << 20, 'n') + "\"";
}

void CliJsonLinesTest::absurdPlanIsAnswered()
{
    QFETCH(QByteArray, extra);
    const CliRun run = runCli({"estimate", "--jsonl", "-"}, smallPlan("absurd", ", " + extra) + "\n");
    QCOMPARE(run.status, 0);
    const QList<QJsonObject> answers = run.lines();
    QCOMPARE(answers.size(), 1);
    if (answers[0].contains("error"))
        verifyError(answers[0], 1, {});
    else
        QVERIFY(answers[0]["peak"].toObject()["allocated"].toDouble() > 0);
}

void CliJsonLinesTest::blankLinesAreSkippedAndCounted()
{
    const CliRun run = runCli({"estimate", "--jsonl", "-"}, "\n  \n" + smallPlan("a") + "\r\n\t\r\n\nplan\n\n");
    QCOMPARE(run.status, 0);
    const QList<QJsonObject> answers = run.lines();
    QCOMPARE(answers.size(), 2);
    QCOMPARE(answers[0]["name"].toString(), QString("a"));
    verifyError(answers[1], 6, {});
}

void CliJsonLinesTest::lastLineNeedsNoLineFeed()
{
    const CliRun run = runCli({"estimate", "--jsonl", "-"}, smallPlan("a") + "\n" + smallPlan("b"));
    QCOMPARE(run.lines().size(), 2);
    QCOMPARE(run.lines()[1]["name"].toString(), QString("b"));
}

void CliJsonLinesTest::emptyInputIsNoError()
{
    const CliRun run = runCli({"estimate", "--jsonl", "-"});
    QCOMPARE(run.status, 0);
    QVERIFY(run.output.isEmpty());
}

void CliJsonLinesTest::answersComeWhileInputIsOpen()
{
    QProcess process;
    process.start(QStringLiteral(HEADROOM_CLI), {"estimate", "--jsonl", "-"});
    for (const QByteArray &name : {QByteArray("first"), QByteArray("second")}) {
        process.write(smallPlan(name) + "\n");
        QByteArray answer;
        while (!answer.endsWith('\n') && process.waitForReadyRead(60'000))
            answer += process.readAllStandardOutput();
        QVERIFY2(answer.contains("\"" + name + "\""), answer.constData());
    }
    process.closeWriteChannel();
    QVERIFY(process.waitForFinished(60'000));
    QCOMPARE(process.exitCode(), 0);
}

void CliJsonLinesTest::settingsApplyToEveryLine()
{
    const QByteArray input = smallPlan("a") + "\n" + smallPlan("b") + "\n";
    const CliRun run = runCli({"estimate", "--jsonl", "-", "--gpu", "nvidia-rtx-4090-24gb", "--set", "name=same"}, input);
    QCOMPARE(run.status, 0);
    QCOMPARE(run.lines().size(), 2);
    for (const QJsonObject &answer : run.lines()) {
        QCOMPARE(answer["name"].toString(), QString("same"));
        QCOMPARE(answer["gpus"].toArray()[0].toObject()["id"].toString(), QString("nvidia-rtx-4090-24gb"));
    }
    const CliRun slip = runCli({"estimate", "--jsonl", "-", "--set", "batch.micro_batch=none"}, input);
    QCOMPARE(slip.status, 2);
    QVERIFY2(slip.error.contains("batch.micro_batch"), slip.error.constData());
    QVERIFY(slip.output.isEmpty());
}

void CliJsonLinesTest::checkLooksAtEveryLine()
{
    const QByteArray large = R"({"headroom_plan": 1, "model": {"preset": "Qwen/Qwen3-8B"}, "gpus": ["nvidia-rtx-4090-24gb"]})";
    const QByteArray input = large + "\n" + smallPlan("small", R"(, "gpus": ["nvidia-rtx-4090-24gb"])") + "\n";
    QCOMPARE(runCli({"estimate", "--jsonl", "-"}, input).status, 0);
    QCOMPARE(runCli({"estimate", "--jsonl", "-", "--check"}, input).status, 1);
    QCOMPARE(runCli({"estimate", "--jsonl", "-", "--check"}, smallPlan("small") + "\n").status, 0);
}

void CliJsonLinesTest::configPathIsBesideTheFile()
{
    QTemporaryDir folder;
    QFile config(folder.filePath("config.json"));
    QVERIFY(config.open(QIODevice::WriteOnly));
    config.write(
        R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 64})");
    config.close();
    QFile plans(folder.filePath("plans.jsonl"));
    QVERIFY(plans.open(QIODevice::WriteOnly));
    plans.write(R"({"headroom_plan": 1, "name": "beside", "model": {"config_path": "config.json"}, "batch": {"sequence_length": 16}})");
    plans.close();
    const CliRun run = runCli({"estimate", "--jsonl", plans.fileName()});
    QCOMPARE(run.lines().size(), 1);
    QVERIFY2(!run.lines()[0].contains("error"), run.output.constData());
}

void CliJsonLinesTest::missingFileIsBadInput()
{
    const CliRun run = runCli({"estimate", "--jsonl", "no/such/plans.jsonl"});
    QCOMPARE(run.status, 2);
    QVERIFY2(run.error.contains("no/such/plans.jsonl"), run.error.constData());
    QVERIFY(run.output.isEmpty());
    const CliRun folder = runCli({"estimate", "--jsonl", "/"});
    QCOMPARE(folder.status, 2);
    QVERIFY(!folder.error.isEmpty());
}

void CliJsonLinesTest::endlessLineEndsTheRun_data()
{
    QTest::addColumn<QString>("command");
    QTest::newRow("plans") << "estimate";
    QTest::newRow("sequences") << "replay-allocator";
}

void CliJsonLinesTest::endlessLineEndsTheRun()
{
    QFETCH(QString, command);
    QProcess process;
    process.setStandardInputFile("/dev/zero");
    process.start(QStringLiteral(HEADROOM_CLI), {command, "--jsonl", "-"});
    QVERIFY(process.waitForFinished(60'000));
    QCOMPARE(process.exitCode(), 2);
    CliRun run;
    run.output = process.readAllStandardOutput();
    QCOMPARE(run.lines().size(), 1);
    verifyError(run.lines()[0], 1, {});
    QVERIFY(process.readAllStandardError().startsWith("headroom-cli: standard input:1: the line does not end within 256 MiB"));
}

void CliJsonLinesTest::devicesAreRefused_data() { endlessLineEndsTheRun_data(); }

void CliJsonLinesTest::devicesAreRefused()
{
    QFETCH(QString, command);
    const CliRun run = runCli({command, "--jsonl", "/dev/zero"});
    QCOMPARE(run.status, 2);
    QCOMPARE(run.error, QByteArray("headroom-cli: /dev/zero: is a device (name a file or a pipe, or give - for standard input)\n"));
    QVERIFY(run.output.isEmpty());
}

void CliJsonLinesTest::hugeFileIsRefused()
{
    QTemporaryDir folder;
    QFile file(folder.filePath("plans.jsonl"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    if (!file.resize((qint64(16) << 30) + 1)) // all hole: nothing is written
        QSKIP("needs a file system with sparse files");
    const CliRun run = runCli({"estimate", "--jsonl", file.fileName()});
    QCOMPARE(run.status, 2);
    QVERIFY2(run.error.contains("has more than the 16 GiB that are read"), run.error.constData());
}

void CliJsonLinesTest::faultOfAConfigFileIsPlaced()
{
    QTemporaryDir folder;
    QFile config(folder.filePath("config.json"));
    QVERIFY(config.open(QIODevice::WriteOnly));
    config.write("{\n\"model_type\": \"llama\",\n\"hidden_size\": 0}");
    config.close();
    const QByteArray line = R"({"headroom_plan": 1, "model": {"config_path": ")" + config.fileName().toUtf8() + "\"}}";
    const CliRun run = runCli({"estimate", "--jsonl", "-"}, "\n" + line + "\n");
    QCOMPARE(run.lines().size(), 1);
    verifyError(run.lines()[0], 2, "model.config_path");
    QVERIFY(run.lines()[0]["error"].toObject()["what"].toString().endsWith("config.json:3: hidden_size: must be at least 1"));
}

void CliJsonLinesTest::allocatorSequenceIsReplayed()
{
    const CliRun run =
        runCli({"replay-allocator", "--jsonl", "-", "--json"}, R"({"config": {}, "events": [[1, 0, 513, 0], [1, 1, 512, 0], [-1, 0]]})"
                                                               "\n");
    QCOMPARE(run.status, 0);
    QCOMPARE(run.lines().size(), 1);
    const QJsonObject answer = run.lines()[0];
    QCOMPARE(answer["after"].toArray(), (QJsonArray{QJsonArray{1024, 2097152}, QJsonArray{1536, 2097152}, QJsonArray{512, 2097152}}));
    QCOMPARE(answer["peak_allocated"].toInt(), 1536);
    QCOMPARE(answer["peak_reserved"].toInt(), 2097152);
    QVERIFY(answer["out_of_memory"].isNull());
}

void CliJsonLinesTest::brokenSequenceIsAnswered_data()
{
    QTest::addColumn<QByteArray>("line");
    QTest::newRow("no JSON") << QByteArray("events");
    QTest::newRow("a list") << QByteArray("[[1, 0, 512, 0]]");
    QTest::newRow("no events") << QByteArray(R"({"config": {}})");
    QTest::newRow("events as text") << QByteArray(R"({"config": {}, "events": "none"})");
    QTest::newRow("unknown id freed") << QByteArray(R"({"config": {}, "events": [[-1, 7]]})");
    QTest::newRow("id allocated twice") << QByteArray(R"({"config": {}, "events": [[1, 0, 512, 0], [1, 0, 512, 0]]})");
    QTest::newRow("id freed twice") << QByteArray(R"({"config": {}, "events": [[1, 0, 512, 0], [-1, 0], [-1, 0]]})");
    QTest::newRow("negative size") << QByteArray(R"({"config": {}, "events": [[1, 0, -512, 0]]})");
    QTest::newRow("size 1e30") << QByteArray(R"({"config": {}, "events": [[1, 0, 1e30, 0]]})");
    QTest::newRow("size as text") << QByteArray(R"({"config": {}, "events": [[1, 0, "512", 0]]})");
    QTest::newRow("unknown event") << QByteArray(R"({"config": {}, "events": [[2, 0, 512, 0]]})");
    QTest::newRow("event cut short") << QByteArray(R"({"config": {}, "events": [[1]]})");
    QTest::newRow("unknown option") << QByteArray(R"({"config": {"colour": "blue"}, "events": []})");
    QTest::newRow("nested deep") << R"({"config": )" + QByteArray(100'000, '[');
    QTest::newRow("invalid UTF-8") << QByteArray("{\"config\": {\"\xff\": 1}, \"events\": []}");
}

void CliJsonLinesTest::brokenSequenceIsAnswered()
{
    QFETCH(QByteArray, line);
    const CliRun run = runCli({"replay-allocator", "--jsonl", "-"}, line + "\n");
    QCOMPARE(run.status, 0);
    QCOMPARE(run.lines().size(), 1);
    verifyError(run.lines()[0], 1, {});
}

QTEST_GUILESS_MAIN(CliJsonLinesTest)
#include "test_cli_json_lines.moc"
