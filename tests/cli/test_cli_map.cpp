// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// headroom-cli map: the table, the document and what is said of bad input.
#include "tests/cli/cli_process.h"

#include <QJsonArray>
#include <QJsonObject>
#include <QTest>

class CliMapTest : public QObject
{
    Q_OBJECT

private slots:
    void tableForPeople();
    void documentAgreesWithEstimates();
    void defaults();
    void badInput_data();
    void badInput();

private:
    const QString m_example = QStringLiteral(HEADROOM_SOURCE_DIR "/presets/examples/qwen3-8b-lora-24gb.headroom.json");
};

void CliMapTest::tableForPeople()
{
    const CliRun run = runCli({"map", m_example, "--micro-batch", "1,2", "--sequence-length", "512,4096"});
    QCOMPARE(run.status, 0);
    const QList<QByteArray> lines = run.output.split('\n');
    QCOMPARE(lines.at(0), QByteArray("RTX 4090 24 GB: 23.99 GiB"));
    QVERIFY(lines.at(1).startsWith("Device memory in GiB"));
    QCOMPARE(lines.at(3).simplified(), QByteArray("Micro-batch 512 4,096"));
    QVERIFY2(lines.at(4).contains("17.6") && lines.at(4).endsWith("(26.4)"), lines.at(4).constData());
    const CliRun decimal = runCli({"map", m_example, "--micro-batch", "1", "--sequence-length", "512", "--unit", "GB"});
    QVERIFY2(decimal.output.contains("Device memory in GB") && decimal.output.contains("18.9"), decimal.output.constData());
}

void CliMapTest::documentAgreesWithEstimates()
{
    const CliRun run = runCli({"map", m_example, "--micro-batch", "1..3,7", "--sequence-length", "1000,300", "--json"});
    QCOMPARE(run.status, 0);
    const QJsonObject map = run.object();
    QCOMPARE(map["gpu"].toString(), QString("nvidia-rtx-4090-24gb"));
    QCOMPARE(map["micro_batch"].toArray(), (QJsonArray{1, 2, 3, 7}));
    QCOMPARE(map["sequence_length"].toArray(), (QJsonArray{300, 1000}));
    const CliRun estimate =
        runCli({"estimate", m_example, "--set", "batch.micro_batch=7", "--set", "batch.sequence_length=1000", "--json"});
    const QJsonObject gpu = estimate.object()["gpus"].toArray().at(0).toObject();
    const qint64 device = gpu["capacity"].toInteger() - gpu["headroom"].toInteger();
    QCOMPARE(map["device"].toArray().at(3).toArray().at(1).toInteger(), device);
    QCOMPARE(map["fits"].toArray().at(3).toArray().at(1).toBool(), gpu["fits"].toBool());
    QVERIFY(map["fits"].toArray().at(0).toArray().at(0).toBool());
}

void CliMapTest::defaults()
{
    const QJsonObject map = runCli({"map", m_example, "--gpu", "nvidia-h100-sxm5-80gb", "--json"}).object();
    QCOMPARE(map["gpu"].toString(), QString("nvidia-h100-sxm5-80gb"));
    QCOMPARE(map["micro_batch"].toArray().size(), 16);
    QCOMPARE(map["sequence_length"].toArray(), (QJsonArray{512, 1024, 2048, 4096, 8192, 16384, 32768}));
}

void CliMapTest::badInput_data()
{
    QTest::addColumn<QStringList>("options");
    QTest::addColumn<QByteArray>("message");
    const auto row = [](const char *name, const QStringList &options, const char *message) {
        QTest::newRow(name) << options << QByteArray(message);
    };
    row("backwards", {"--micro-batch", "8..1"}, "--micro-batch: \"8..1\" has no values");
    row("zero", {"--micro-batch", "0..4"}, "--micro-batch: \"0..4\" has no values");
    row("letters", {"--sequence-length", "4k"}, "--sequence-length: \"4k\" is no whole number");
    row("empty", {"--sequence-length", ""}, "--sequence-length: \"\" is no whole number");
    row("a comma", {"--sequence-length", "512,"}, "--sequence-length: \"\" is no whole number");
    row("three dots", {"--micro-batch", "1...4"}, "--micro-batch: \"1...4\" is no whole number");
    row("beyond 64 bits", {"--micro-batch", "99999999999999999999"}, "--micro-batch: \"99999999999999999999\" is no whole number");
    row("too many", {"--micro-batch", "1..999999999999"}, "--micro-batch: too many values");
    row("too many cells", {"--micro-batch", "1..1000", "--sequence-length", "1..1000"}, "a map of 1000 x 1000 cells is too large");
    row("out of range", {"--micro-batch", "70000"}, "--micro-batch: must be at most 65536");
    row("two GPUs", {"--gpu", "nvidia-h100-sxm5-80gb", "--gpu", "nvidia-rtx-4090-24gb"}, "--gpu: a map is for one GPU");
    row("no such GPU", {"--gpu", "abacus"}, "--gpu abacus: no GPU of the catalogue");
    row("no GPU", {"--set", "gpus=[]"}, "--gpu: the plan names no GPU");
    row("no such file", {"/nonexistent/plan.json"}, "PLAN");
    row("refused", {"--set", "loss=chunked", "--sequence-length", "1001", "--micro-batch", "1"}, "a chunked loss divides the tokens by 8");
}

void CliMapTest::badInput()
{
    QFETCH(QStringList, options);
    QFETCH(QByteArray, message);
    const CliRun run = runCli(QStringList{"map", m_example} + options);
    QCOMPARE(run.status, 2);
    QVERIFY2(run.error.contains(message), run.error.constData());
    QCOMPARE(run.error.count('\n'), 1);
    QVERIFY(run.output.isEmpty());
}

QTEST_GUILESS_MAIN(CliMapTest)
#include "test_cli_map.moc"
