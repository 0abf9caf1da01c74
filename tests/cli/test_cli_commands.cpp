// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// headroom-cli as a shell sees it: what it prints, on which stream, and its exit status.
#include "cli_process.h"

#include <QFile>
#include <QJsonDocument>
#include <QProcess>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>

class CliCommandsTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase();
    void helpNamesCommandsAndExitStatuses();
    void everyCommandHasHelp_data();
    void everyCommandHasHelp();
    void helpNamesGpusThatExist();
    void versionIsPrinted();
    void badCommandLineIsBadInput_data();
    void badCommandLineIsBadInput();
    void commandLineErrorsSayWhat_data();
    void commandLineErrorsSayWhat();
    void estimateForPeople();
    void readmeShowsWhatIsPrinted();
    void estimateAsJson();
    void severalPlansGiveAnArray();
    void planFromStandardInput();
    void unitsAreSwitched();
    void setChangesThePlan();
    void gpuIsAddedOnce();
    void checkSetsTheStatus();
    void badPlanFileIsBadInput_data();
    void badPlanFileIsBadInput();
    void oneBadPlanOfSeveralIsNamed();
    void refusalsHaveTheirLine_data();
    void refusalsHaveTheirLine();
    void configFilesAreNamedWithThePlan_data();
    void configFilesAreNamedWithThePlan();
    void presetsAreListed();
    void gpusAreListed();
    void reportAsMarkdown();
    void reportAsCsv();
    void reportAsJson();
    void compareForPeople();
    void compareAsJson();
    void compareSeveralResults();
    void compareExports();
    void compareCheckSetsTheStatus();
    void compareRefusesBadResults_data();
    void compareRefusesBadResults();
    void tracesAreWrittenWhereTheyMay();
    void fullDiskIsSaid();
    void closedPipeEndsQuietly();

private:
    QString write(const QString &name, const QByteArray &text) const;
    static QString shipped(const QString &path) { return QStringLiteral(HEADROOM_SOURCE_DIR "/") + path; }

    const QString m_example = shipped("presets/examples/qwen3-8b-lora-24gb.headroom.json");
    const QString m_dryRun = shipped("tests/data/results/qwen3-8b-lora-dry-run.headroom-probe.json");
    const QString m_gpuRun = shipped("tests/data/results/qwen3-8b-lora-rtx-4090-made-up.headroom-probe.json");
    const QString m_outOfMemory = shipped("tests/data/results/qwen3-8b-lora-out-of-memory-made-up.headroom-probe.json");
    QTemporaryDir m_folder;
    QString m_plan;
};

void CliCommandsTest::initTestCase() { m_plan = write("small.headroom.json", smallPlan("small", R"(, "gpus": ["nvidia-rtx-4090-24gb"])")); }

QString CliCommandsTest::write(const QString &name, const QByteArray &text) const
{
    QFile file(m_folder.filePath(name));
    if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size())
        qFatal("a test file could not be written");
    return file.fileName();
}

void CliCommandsTest::helpNamesCommandsAndExitStatuses()
{
    for (const char *option : {"--help", "-h"}) {
        const CliRun run = runCli({option});
        QCOMPARE(run.status, 0);
        for (const char *text : {"estimate", "report", "presets", "gpus", "replay-allocator", "Exit status", "Examples"})
            QVERIFY2(run.output.contains(text), text);
        QVERIFY(run.error.isEmpty());
    }
}

void CliCommandsTest::everyCommandHasHelp_data()
{
    QTest::addColumn<QString>("command");
    QTest::addColumn<QByteArray>("mentions");
    QTest::newRow("estimate") << "estimate" << QByteArray("--jsonl");
    QTest::newRow("report") << "report" << QByteArray("--as");
    QTest::newRow("map") << "map" << QByteArray("--micro-batch");
    QTest::newRow("presets") << "presets" << QByteArray("--json");
    QTest::newRow("gpus") << "gpus" << QByteArray("--json");
    QTest::newRow("replay-allocator") << "replay-allocator" << QByteArray("--jsonl");
}

void CliCommandsTest::everyCommandHasHelp()
{
    QFETCH(QString, command);
    QFETCH(QByteArray, mentions);
    const CliRun run = runCli({command, "--help"});
    QCOMPARE(run.status, 0);
    QVERIFY(run.output.contains(mentions));
}

void CliCommandsTest::helpNamesGpusThatExist()
{
    const QByteArray catalogue = runCli({"gpus", "--json"}).output;
    const QString help = runCli({"--help"}).output + runCli({"estimate", "--help"}).output;
    static const QRegularExpression id("nvidia-[a-z0-9-]+");
    int found = 0;
    for (auto match = id.globalMatch(help); match.hasNext(); ++found) {
        const QByteArray name = match.next().captured().toUtf8();
        QVERIFY2(catalogue.contains('"' + name + '"'), name.constData());
    }
    QVERIFY(found > 0);
}

void CliCommandsTest::versionIsPrinted()
{
    const CliRun run = runCli({"--version"});
    QCOMPARE(run.status, 0);
    QCOMPARE(run.output, QByteArray("headroom-cli " HEADROOM_VERSION " (plan format 1)\n"));
}

void CliCommandsTest::badCommandLineIsBadInput_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::newRow("nothing") << QStringList{};
    QTest::newRow("unknown command") << QStringList{"guess"};
    QTest::newRow("unknown option") << QStringList{"gpus", "--colour"};
    QTest::newRow("estimate of nothing") << QStringList{"estimate"};
    QTest::newRow("report of nothing") << QStringList{"report"};
    QTest::newRow("plans and lines") << QStringList{"estimate", m_plan, "--jsonl", "-"};
    QTest::newRow("unknown format") << QStringList{"report", m_plan, "--as", "html"};
    QTest::newRow("unknown unit") << QStringList{"estimate", m_plan, "--unit", "bits"};
    QTest::newRow("set without a value") << QStringList{"estimate", m_plan, "--set", "batch.micro_batch"};
    QTest::newRow("set without a path") << QStringList{"estimate", m_plan, "--set", "=4"};
    QTest::newRow("set of an unknown field") << QStringList{"estimate", m_plan, "--set", "batch.micro_bach=4"};
    QTest::newRow("set out of range") << QStringList{"estimate", m_plan, "--set", "batch.micro_batch=0"};
    QTest::newRow("unknown GPU") << QStringList{"estimate", m_plan, "--gpu", "nvidia-rtx-9999"};
}

void CliCommandsTest::badCommandLineIsBadInput()
{
    QFETCH(QStringList, arguments);
    const CliRun run = runCli(arguments);
    QCOMPARE(run.status, 2);
    QVERIFY2(!run.error.isEmpty(), "nothing is said on standard error");
    QVERIFY(run.output.isEmpty());
}

void CliCommandsTest::commandLineErrorsSayWhat_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QByteArray>("message");
    const QByteArray noName = ": the file's name is empty (name a file)\n";
    QTest::newRow("nothing") << QStringList{} << QByteArray("a command is missing (headroom-cli --help says what is understood)\n");
    QTest::newRow("unknown command") << QStringList{"estmate"} << QByteArray("there is no command \"estmate\" (did you mean estimate?)\n");
    QTest::newRow("no such command")
        << QStringList{"zzz"}
        << QByteArray("there is no command \"zzz\" (there are estimate, report, compare, map, presets, gpus or replay-allocator)\n");
    QTest::newRow("option before a command")
        << QStringList{"--colour"}
        << QByteArray("there is no option \"--colour\" before a command (headroom-cli --help says what is understood)\n");
    QTest::newRow("unknown option")
        << QStringList{"gpus", "--colour"}
        << QByteArray("The following argument was not expected: --colour (headroom-cli gpus --help says what is understood)\n");
    QTest::newRow("unknown unit") << QStringList{"gpus", "--unit", "x"} << QByteArray("--unit: there is no unit \"x\" (write GiB or GB)\n");
    QTest::newRow("unknown format") << QStringList{"report", m_plan, "--as", "html"}
                                    << QByteArray("--as: there is no format \"html\" (write markdown, csv or json)\n");
    QTest::newRow("empty plan") << QStringList{"estimate", ""} << "PLAN" + noName;
    QTest::newRow("empty report") << QStringList{"report", ""} << "PLAN" + noName;
    QTest::newRow("empty lines") << QStringList{"estimate", "--jsonl", ""} << "--jsonl" + noName;
    QTest::newRow("empty sequences") << QStringList{"replay-allocator", "--jsonl", ""} << "--jsonl" + noName;
    QTest::newRow("standard input twice")
        << QStringList{"estimate", "-", "-"}
        << QByteArray("PLAN: - is given twice, but there is only one standard input (give plans as files, or all of them on "
                      "standard input, one a line, with --jsonl -)\n");
    QTest::newRow("part of a config") << QStringList{"estimate", m_plan, "--set", "model.config.hidden_size=5"}
                                      << QByteArray(
                                             "model.config.hidden_size: a config.json is given whole (change the file and name it as "
                                             "model.config_path, or write model.config={...})\n");
    QTest::newRow("part of a list") << QStringList{"estimate", m_plan, "--set", "gpus[0]=nvidia-rtx-4090-24gb"}
                                    << QByteArray("gpus[0]: a list is given whole (write gpus=[\"first\", \"second\"])\n");
    QTest::newRow("below a value") << QStringList{"estimate", m_plan, "--set", "batch.micro_batch.x=5"}
                                   << QByteArray("batch.micro_batch.x: batch.micro_batch is a value, nothing stands below it (set "
                                                 "batch.micro_batch itself)\n");
    QTest::newRow("control characters") << QStringList{"estimate", m_plan, "--set", "a\n\x1b[31m=5"} << QByteArray("a??[31m: unknown key");
}

void CliCommandsTest::commandLineErrorsSayWhat()
{
    QFETCH(QStringList, arguments);
    QFETCH(QByteArray, message);
    const CliRun run = runCli(arguments);
    QCOMPARE(run.status, 2);
    QVERIFY2(run.error.startsWith("headroom-cli: command line: " + message), run.error.constData());
    QCOMPARE(run.error.count('\n'), 1);
}

void CliCommandsTest::readmeShowsWhatIsPrinted()
{
    QFile file(QStringLiteral(HEADROOM_SOURCE_DIR "/README.md"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QByteArray readme = file.readAll();
    const QByteArray command = "$ headroom-cli estimate presets/examples/qwen3-8b-lora-24gb.headroom.json\n";
    const qsizetype from = readme.indexOf(command) + command.size();
    QVERIFY(from >= command.size());
    const QByteArray shown = readme.mid(from, readme.indexOf("```", from) - from);
    const CliRun run =
        runCli({QStringLiteral("estimate"), QStringLiteral(HEADROOM_SOURCE_DIR "/presets/examples/qwen3-8b-lora-24gb.headroom.json")});
    QCOMPARE(run.status, 0);
    QCOMPARE(QString::fromUtf8(shown), QString::fromUtf8(run.output));
}

void CliCommandsTest::estimateForPeople()
{
    const CliRun run = runCli({"estimate", m_plan});
    QCOMPARE(run.status, 0);
    QVERIFY(run.output.startsWith("small\n"));
    for (const char *text : {"Fits on RTX 4090 24 GB: ", "weights", "gradients", "optimizer", "activations", "temporary", "allocated",
                             "reserved", "device", "load", "forward", "loss", "backward", "idle", "GiB"})
        QVERIFY2(run.output.contains(text), text);
    QVERIFY(run.error.isEmpty());
}

void CliCommandsTest::estimateAsJson()
{
    const CliRun run = runCli({"estimate", m_plan, "--json"});
    QCOMPARE(run.status, 0);
    const QJsonObject estimate = run.object();
    QCOMPARE(estimate["headroom_estimate"].toInt(), 1);
    QCOMPARE(estimate["name"].toString(), QString("small"));
    for (const char *step : {"peak", "first_step"}) {
        const QJsonObject peak = estimate[step].toObject();
        qint64 sum = 0;
        for (const QJsonValue part : peak["components"].toObject())
            sum += part.toInteger();
        QVERIFY(sum > 0);
        QCOMPARE(sum, peak["allocated"].toInteger());
        QVERIFY(peak["reserved"].toInteger() >= sum);
        QVERIFY(peak["device"].toInteger() >= peak["reserved"].toInteger());
    }
    QStringList phases;
    for (const QJsonValue phase : estimate["phases"].toArray())
        phases += phase.toObject()["name"].toString();
    QCOMPARE(phases, (QStringList{"load", "forward", "loss", "backward", "optimizer", "idle"}));
    const QJsonObject gpu = estimate["gpus"].toArray()[0].toObject();
    QCOMPARE(gpu["id"].toString(), QString("nvidia-rtx-4090-24gb"));
    QCOMPARE(gpu["fits"].toBool(), true);
    for (const char *key : {"parameters", "steady", "saved_activations", "host", "band", "notes"})
        QVERIFY2(estimate.contains(key), key);
}

void CliCommandsTest::severalPlansGiveAnArray()
{
    const QString other = write("other.headroom.json", smallPlan("other"));
    const CliRun run = runCli({"estimate", m_plan, other, "--json"});
    QCOMPARE(run.status, 0);
    QCOMPARE(run.array().size(), 2);
    QCOMPARE(run.array()[1].toObject()["name"].toString(), QString("other"));
    const CliRun text = runCli({"estimate", m_plan, other});
    QVERIFY(text.output.contains("\nother\n"));
}

void CliCommandsTest::planFromStandardInput()
{
    const CliRun run = runCli({"estimate", "-", "--json"}, smallPlan("piped"));
    QCOMPARE(run.status, 0);
    QCOMPARE(run.object()["name"].toString(), QString("piped"));
    const CliRun bad = runCli({"estimate", "-"}, "{");
    QCOMPARE(bad.status, 2);
    QVERIFY2(bad.error.contains("standard input"), bad.error.constData());
}

void CliCommandsTest::unitsAreSwitched()
{
    const CliRun run = runCli({"estimate", m_plan, "--unit", "gb"});
    QCOMPARE(run.status, 0);
    const QByteArray figures = run.output.left(run.output.indexOf("\nNotes\n")); // notes quote their sources
    QVERIFY(figures.contains(" GB") || figures.contains(" MB"));
    QVERIFY(!figures.contains("iB"));
}

void CliCommandsTest::setChangesThePlan()
{
    const auto saved = [this](const QStringList &settings) {
        QStringList arguments{"estimate", m_plan, "--json"};
        for (const QString &setting : settings)
            arguments << "--set" << setting;
        return runCli(arguments).object();
    };
    const QJsonObject before = saved({});
    const QJsonObject after = saved({"batch.micro_batch=4", "name=four", R"(gpus=[])"});
    QCOMPARE(after["name"].toString(), QString("four"));
    QVERIFY(after["saved_activations"].toInteger() > before["saved_activations"].toInteger());
    QVERIFY(after["gpus"].toArray().isEmpty());
}

void CliCommandsTest::gpuIsAddedOnce()
{
    const CliRun run = runCli({"estimate", "--gpu", "nvidia-rtx-4090-24gb", "--gpu", "nvidia-a100-sxm4-80gb", m_plan, "--json"});
    QVERIFY2(run.status == 0, run.error.constData());
    const QJsonArray gpus = run.object()["gpus"].toArray();
    QCOMPARE(gpus.size(), 2);
    QCOMPARE(gpus[1].toObject()["id"].toString(), QString("nvidia-a100-sxm4-80gb"));
}

void CliCommandsTest::checkSetsTheStatus()
{
    QCOMPARE(runCli({"estimate", m_plan, "--check"}).status, 0);
    const QString large =
        write("large.headroom.json", R"({"headroom_plan": 1, "model": {"preset": "Qwen/Qwen3-8B"}, "gpus": ["nvidia-rtx-4090-24gb"]})");
    const CliRun checked = runCli({"estimate", large, "--check"});
    QCOMPARE(checked.status, 1);
    QVERIFY2(checked.output.contains("Does not fit on RTX 4090 24 GB: short by "), checked.output.constData());
    QCOMPARE(runCli({"estimate", large}).status, 0);
    QCOMPARE(runCli({"estimate", large, m_plan, "--check", "--json"}).status, 1);
}

void CliCommandsTest::badPlanFileIsBadInput_data()
{
    QTest::addColumn<QString>("file");
    QTest::addColumn<QByteArray>("mentions");
    QTest::newRow("not there") << m_folder.filePath("no.headroom.json") << QByteArray("no.headroom.json");
    QTest::newRow("a folder") << m_folder.path() << m_folder.path().toUtf8();
    QTest::newRow("empty") << write("empty.headroom.json", "") << QByteArray("empty.headroom.json");
    QTest::newRow("not JSON") << write("no-json.headroom.json", "hello") << QByteArray("no-json.headroom.json");
    QTest::newRow("unknown key") << write("key.headroom.json", "{\n  \"headroom_plan\": 1,\n  \"colour\": 1\n}")
                                 << QByteArray("key.headroom.json:3: colour");
    QTest::newRow("wrong type") << write("type.headroom.json", R"({"headroom_plan": 1, "batch": {"micro_batch": "4"}})")
                                << QByteArray("batch.micro_batch");
    QTest::newRow("contradiction") << write("ranks.headroom.json", R"({"headroom_plan": 1, "parallel": {"data": 8}})")
                                   << QByteArray("ranks.headroom.json");
}

void CliCommandsTest::badPlanFileIsBadInput()
{
    QFETCH(QString, file);
    QFETCH(QByteArray, mentions);
    for (const QStringList &command : {QStringList{"estimate"}, QStringList{"estimate", "--json"}, QStringList{"report"}}) {
        const CliRun run = runCli(command + QStringList{file});
        QCOMPARE(run.status, 2);
        QVERIFY2(run.error.contains(mentions), run.error.constData());
        QVERIFY2(run.error.trimmed().endsWith(')'), "the message ends without a hint");
        QVERIFY(run.output.isEmpty());
    }
}

void CliCommandsTest::oneBadPlanOfSeveralIsNamed()
{
    const QString bad = write("bad.headroom.json", "{");
    const QString worse = write("worse.headroom.json", "}");
    const CliRun run = runCli({"estimate", m_plan, bad, worse});
    QCOMPARE(run.status, 2);
    QVERIFY(run.error.contains("bad.headroom.json"));
    QVERIFY(run.error.contains("worse.headroom.json"));
    QVERIFY(run.output.isEmpty());
}

void CliCommandsTest::refusalsHaveTheirLine_data()
{
    QTest::addColumn<QByteArray>("rest");
    QTest::addColumn<QStringList>("options");
    QTest::addColumn<QByteArray>("place");
    const QByteArray file = "refused.headroom.json";
    QTest::newRow("GPU of a list") << QByteArray("\"gpus\": [\n\"nvidia-rtx-4090-24gb\",\n\"nvidia-rtx-9999\"]") << QStringList{}
                                   << file + ":6: gpus[1]: ";
    QTest::newRow("not executed yet") << QByteArray("\"batch\": {},\n\"attention\": \"sdpa\",\n\"compile\": true") << QStringList{}
                                      << file + ":6: compile: ";
    QTest::newRow("choice not executed") << QByteArray("\n\"precision\": {\n\"recipe\": \"fp8\"}") << QStringList{}
                                         << file + ":6: precision.recipe: ";
    QTest::newRow("contradiction") << QByteArray("\n\"parallel\":\n{\"data\":\n8}") << QStringList{} << file + ":7: parallel.data: ";
    QTest::newRow("left out") << QByteArray("\"checkpointing\": \"selective\"") << QStringList{} << file + ": selective: ";
    QTest::newRow("set by the command line") << QByteArray("\"precision\": {\"recipe\": \"bf16\"}")
                                             << QStringList{"--set", "precision.recipe=fp8"}
                                             << QByteArray("command line: precision.recipe: ");
}

void CliCommandsTest::refusalsHaveTheirLine()
{
    QFETCH(QByteArray, rest);
    QFETCH(QStringList, options);
    QFETCH(QByteArray, place);
    const QString file =
        write("refused.headroom.json", "{\n\"headroom_plan\": 1,\n\"model\": {\"preset\": \"Qwen/Qwen3-0.6B\"},\n" + rest + "}");
    const CliRun run = runCli(QStringList{"estimate", file} + options);
    QCOMPARE(run.status, 2);
    QVERIFY2(run.error.contains(place), run.error.constData());
}

void CliCommandsTest::configFilesAreNamedWithThePlan_data()
{
    QTest::addColumn<QString>("config");
    QTest::addColumn<QByteArray>("message");
    write("empty.json", "");
    write("bad.json", "{\n\"model_type\": \"llama\",\n\"hidden_size\": 0\n}");
    write("utf-16.json", QByteArray("\xff\xfe{\0}\0", 6));
    write("bert.json", "{\n\"model_type\": \"bert\"}");
    QTest::newRow("not there") << "no.json" << QByteArray("no.json: no such file (");
    QTest::newRow("a folder") << "." << QByteArray("is a folder (");
    QTest::newRow("a device") << "/dev/null" << QByteArray("/dev/null: is a pipe or a device (");
    QTest::newRow("empty") << "empty.json" << QByteArray("empty.json:1: the text is empty (");
    QTest::newRow("bad value") << "bad.json" << QByteArray("bad.json:3: hidden_size: must be at least 1 (write a whole number from 1 to ");
    QTest::newRow("UTF-16") << "utf-16.json" << QByteArray("utf-16.json:1: the text is UTF-16, not UTF-8 (save it as UTF-8)");
    QTest::newRow("not executed") << "bert.json" << QByteArray("bert.json:2: model_type: bert: ");
}

void CliCommandsTest::configFilesAreNamedWithThePlan()
{
    QFETCH(QString, config);
    QFETCH(QByteArray, message);
    const QString file =
        write("names-a-config.headroom.json", "{\n\"headroom_plan\": 1,\n\"model\": {\n\"config_path\": \"" + config.toUtf8() + "\"}}");
    const CliRun run = runCli({"estimate", file});
    QCOMPARE(run.status, 2);
    QVERIFY2(run.error.contains("names-a-config.headroom.json:4: model.config_path: "), run.error.constData());
    QVERIFY2(run.error.contains(message), run.error.constData());
}

void CliCommandsTest::presetsAreListed()
{
    const QJsonArray presets = runCli({"presets", "--json"}).array();
    QVERIFY(presets.size() > 20);
    int supported = 0;
    for (const QJsonValue value : presets) {
        const QJsonObject preset = value.toObject();
        QVERIFY(!preset["id"].toString().isEmpty());
        QVERIFY(preset.contains("parameters"));
        QVERIFY(preset["supported"].isBool());
        supported += preset["supported"].toBool() ? 1 : 0;
        QCOMPARE(preset["reason"].toString().isEmpty(), preset["supported"].toBool());
    }
    QVERIFY(supported > 10);
    const CliRun text = runCli({"presets"});
    QCOMPARE(text.status, 0);
    QVERIFY(text.output.contains("Qwen/Qwen3-8B"));
}

void CliCommandsTest::gpusAreListed()
{
    const QJsonArray gpus = runCli({"gpus", "--json"}).array();
    QVERIFY(gpus.size() > 20);
    for (const QJsonValue value : gpus) {
        const QJsonObject gpu = value.toObject();
        QVERIFY(!gpu["id"].toString().isEmpty());
        QVERIFY(!gpu["name"].toString().isEmpty());
        QVERIFY(gpu["capacity"].toInteger() > 1'000'000'000);
        QVERIFY(gpu["compute_capability"].isNull() || gpu["compute_capability"].toString().contains('.'));
    }
    const CliRun text = runCli({"gpus"});
    QCOMPARE(text.status, 0);
    QVERIFY(text.output.contains("nvidia-rtx-4090-24gb"));
}

void CliCommandsTest::reportAsMarkdown()
{
    const QString piped = write("pipes.headroom.json", smallPlan("a|b *c*"));
    const CliRun run = runCli({"report", piped});
    QCOMPARE(run.status, 0);
    QVERIFY2(run.output.startsWith("# a\\|b \\*c\\*\n"), run.output.left(80).constData());
    for (const char *heading : {"## What is planned", "## Does it fit?", "## Where the memory goes", "## Through the step", "## Breakdown",
                                "## Notes and assumptions", "## How to reproduce"})
        QVERIFY2(run.output.contains(heading), heading);
    // Every row of a table has as many cells as its heading: pipes inside cells are escaped.
    int columns = 0;
    const QList<QByteArray> lines = run.output.split('\n');
    for (QByteArray line : lines) {
        if (!line.startsWith('|')) {
            columns = 0;
            continue;
        }
        line.replace("\\|", "");
        if (columns == 0)
            columns = static_cast<int>(line.count('|'));
        QCOMPARE(line.count('|'), columns);
    }
}

void CliCommandsTest::reportAsCsv()
{
    const QString quoted = write("quoted.headroom.json", smallPlan(R"(one, \"two\")"));
    const CliRun run = runCli({"report", m_plan, quoted, "--as", "csv"});
    QCOMPARE(run.status, 0);
    const QList<QByteArray> rows = run.output.split('\n');
    QCOMPARE(rows[0], QByteArray("plan,step,figure,bytes\r"));
    QVERIFY(run.output.contains("\r\nsmall,later,peak.allocated,"));
    QVERIFY(run.output.contains("\r\nsmall,,gpus.nvidia-rtx-4090-24gb.headroom,"));
    QVERIFY(run.output.contains("\r\n\"one, \"\"two\"\"\",first,peak.components.weights,"));
}

void CliCommandsTest::reportAsJson()
{
    const QJsonObject one = runCli({"report", m_plan, "--as", "json"}).object();
    QCOMPARE(one["plan"].toObject()["headroom_plan"].toInt(), 1);
    QCOMPARE(one["estimate"].toObject(), runCli({"estimate", m_plan, "--json"}).object());
    // The plan in it is a plan: it gives the same estimate.
    const CliRun again = runCli({"estimate", "-", "--json"}, QJsonDocument(one["plan"].toObject()).toJson());
    QCOMPARE(again.object(), one["estimate"].toObject());
    QCOMPARE(runCli({"report", m_plan, m_plan, "--as", "json"}).array().size(), 2);
}

void CliCommandsTest::compareForPeople()
{
    const CliRun run = runCli({"compare", m_example, m_dryRun});
    QCOMPARE(run.status, 0);
    QVERIFY(run.error.isEmpty());
    for (const char *text : {"Predicted", "Measured", "Error", "8,234,382,336", "Between steps", "First step", "Later steps",
                             "backward, allocated", "no cuBLAS workspaces"})
        QVERIFY2(run.output.contains(text), text);
    QVERIFY(!run.output.contains("reserved  "));
    const CliRun died = runCli({"compare", m_example, m_outOfMemory});
    QCOMPARE(died.status, 0);
    QVERIFY(died.output.contains("ran out of memory in step 1, in backward"));
    QVERIFY(died.output.contains("Micro-batch (2 sequences there, 1 sequence here)"));
}

void CliCommandsTest::compareAsJson()
{
    const CliRun run = runCli({"compare", m_example, m_gpuRun, "--json"});
    QCOMPARE(run.status, 0);
    const QJsonArray rows = run.object()["rows"].toArray();
    QVERIFY(rows.size() > 20);
    bool found = false;
    for (const QJsonValue row : rows) {
        const QJsonObject object = row.toObject();
        QCOMPARE(object.keys(), (QStringList{"error", "figure", "measured", "predicted"}));
        if (object["figure"] != "peak.allocated")
            continue;
        found = true;
        const double predicted = object["predicted"].toDouble(), measured = object["measured"].toDouble();
        QCOMPARE(object["error"].toDouble(), (predicted - measured) / measured);
    }
    QVERIFY(found);
}

void CliCommandsTest::compareSeveralResults()
{
    const CliRun run = runCli({"compare", m_example, m_dryRun, m_outOfMemory, "--json"});
    QCOMPARE(run.status, 0);
    QStringList results;
    for (const QJsonValue row : run.object()["rows"].toArray())
        results.append(row.toObject()["result"].toString());
    results.removeDuplicates();
    QCOMPARE(results, (QStringList{m_dryRun, m_outOfMemory}));
    const QJsonArray about = run.object()["results"].toArray();
    QVERIFY(about.at(0).toObject()["ending"].isNull());
    QCOMPARE(about.at(1).toObject()["differences"].toArray().at(0).toObject()["field"].toString(), QString("batch.micro_batch"));
}

void CliCommandsTest::compareExports()
{
    const CliRun csv = runCli({"compare", m_example, m_dryRun, "--as", "csv"});
    QCOMPARE(csv.status, 0);
    QVERIFY(csv.output.startsWith("result,figure,predicted,measured,error\r\n"));
    QVERIFY(csv.output.contains(",parameters.total,8234382336,8234382336,0\r\n"));
    const CliRun markdown = runCli({"compare", m_example, m_dryRun, "--as", "markdown"});
    QVERIFY(markdown.output.startsWith("# Qwen3-8B"));
    QVERIFY(markdown.output.contains("| Figure |  | Predicted | Measured | Error |"));
    const CliRun report = runCli({"report", m_example, "--measured", m_dryRun});
    QCOMPARE(report.status, 0);
    QVERIFY(report.output.contains("## Predicted and measured"));
    QVERIFY(report.output.indexOf("## Predicted and measured") < report.output.indexOf("## How to reproduce"));
    QVERIFY(!runCli({"report", m_example}).output.contains("## Predicted and measured"));
    QCOMPARE(runCli({"report", m_example, "--measured", m_dryRun, "--as", "csv"}).status, 2);
    QVERIFY(!runCli({"compare", m_example, m_dryRun, "--as", "json"}).object()["rows"].toArray().isEmpty());
}

void CliCommandsTest::compareCheckSetsTheStatus()
{
    QCOMPARE(runCli({"compare", m_example, m_dryRun, "--check", "1%"}).status, 0);
    QCOMPARE(runCli({"compare", m_example, m_gpuRun, "--check", "5%"}).status, 0);
    QCOMPARE(runCli({"compare", m_example, m_gpuRun, "--check", "0.05"}).status, 0);
    const CliRun beyond = runCli({"compare", m_example, m_gpuRun, "--check", "0.1%"});
    QCOMPARE(beyond.status, 1);
    QVERIFY2(beyond.error.contains("peak.allocated is off by -0.29 %, beyond 0.1 %"), beyond.error);
    // The prediction is that of the plan as --set changes it.
    QCOMPARE(runCli({"compare", m_example, m_dryRun, "--check", "1%", "--set", "batch.sequence_length=4096"}).status, 1);
    // What has no totals passes no check.
    QCOMPARE(runCli({"compare", m_example, m_outOfMemory, "--check", "5%"}).status, 1);
    for (const char *wrong : {"", "five", "-1%", "5%%", "nan", " 5%", "5", "1"})
        QCOMPARE(runCli({"compare", m_example, m_dryRun, "--check", wrong}).status, 2);
}

void CliCommandsTest::compareRefusesBadResults_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QByteArray>("says");
    QTest::newRow("empty") << QByteArray() << QByteArray("the text is empty");
    QTest::newRow("cut off") << QByteArray("{\"headroom_probe\": 1,") << QByteArray("not valid JSON");
    QTest::newRow("a plan") << QByteArray("{\"headroom_plan\": 1}") << QByteArray("this is a plan");
    QTest::newRow("newer") << QByteArray("{\"headroom_probe\": 9}") << QByteArray("newer than this program");
    QTest::newRow("deep") << QByteArray(100'000, '[') << QByteArray("nested deeper");
    QTest::newRow("not UTF-8") << QByteArray("{\"\xff\": 1}") << QByteArray("UTF-8");
    QTest::newRow("huge") << QByteArray(17 << 20, ' ') << QByteArray("MiB");
}

void CliCommandsTest::compareRefusesBadResults()
{
    QFETCH(QByteArray, text);
    QFETCH(QByteArray, says);
    const QString file = write("bad.headroom-probe.json", text);
    const CliRun run = runCli({"compare", m_example, file});
    QCOMPARE(run.status, 2);
    QVERIFY2(run.error.contains(says), run.error);
    QVERIFY(run.error.contains("bad.headroom-probe.json"));
    QVERIFY(run.output.isEmpty());
}

/// Two files of their own, and nothing that is read or that is no file.
void CliCommandsTest::tracesAreWrittenWhereTheyMay()
{
    const QString events = m_folder.filePath("events.tsv"), saved = m_folder.filePath("saved.tsv");
    const CliRun good = runCli({"trace", m_plan, "--events", events, "--saved", saved});
    QVERIFY2(good.status == 0, good.error);
    QFile written(events);
    QVERIFY(written.open(QIODevice::ReadOnly) && written.readLine().startsWith("index\t"));
    QVERIFY(QFile::exists(saved));

    const QByteArray config = R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
        "num_attention_heads": 4, "vocab_size": 256})";
    const QString configFile = write("config.json", config);
    const QString plan = write("of-a-config.headroom.json", R"({"headroom_plan": 1, "model": {"config_path": "config.json"}})");
    const QString link = m_folder.filePath("link.tsv");
    QVERIFY(QFile::link(plan, link));
    const auto refused = [&](const QStringList &options, int status, const char *says) {
        const CliRun run = runCli(QStringList{"trace", plan} + options);
        return run.status == status && run.error.contains(says) ? QByteArray() : run.error + QByteArray::number(run.status);
    };
    const QByteArray before = config;
    QCOMPARE(refused({"--events", plan}, 2, "is another file of this command line"), QByteArray());
    QCOMPARE(refused({"--events", link}, 2, "is another file of this command line"), QByteArray());
    QCOMPARE(refused({"--saved", configFile}, 2, "is another file of this command line"), QByteArray());
    QCOMPARE(refused({"--events", events, "--saved", events}, 2, "is another file of this command line"), QByteArray());
    QCOMPARE(refused({"--events", m_folder.path()}, 3, "is a folder"), QByteArray());
    QCOMPARE(refused({"--events", "/dev/null"}, 3, "is no regular file"), QByteArray());
    QCOMPARE(refused({"--events", m_folder.filePath("nowhere/x.tsv")}, 3, "cannot be written"), QByteArray());
    QFile kept(configFile);
    QVERIFY(kept.open(QIODevice::ReadOnly));
    QCOMPARE(kept.readAll(), before);
}

void CliCommandsTest::fullDiskIsSaid()
{
    if (!QFile::exists("/dev/full"))
        QSKIP("needs /dev/full");
    for (const QStringList &arguments : {QStringList{"gpus"}, {"--help"}, {"-h"}, {"estimate", "--help"}, {"--version"}}) {
        QProcess process;
        process.setStandardOutputFile("/dev/full");
        process.start(QStringLiteral(HEADROOM_CLI), arguments);
        QVERIFY(process.waitForFinished());
        QCOMPARE(process.exitCode(), 3);
        QVERIFY(process.readAllStandardError().contains("cannot write to standard output"));
    }
}

void CliCommandsTest::closedPipeEndsQuietly()
{
    // The reader is gone before the first byte is written: the shell waits for it.
    QProcess process;
    process.start("/bin/sh", {"-c", "{ sleep 1; \"$0\" presets; echo status $? >&2; } | true", QStringLiteral(HEADROOM_CLI)});
    QVERIFY(process.waitForFinished());
    QCOMPARE(process.readAllStandardError(), QByteArray("status 3\n"));
}

QTEST_GUILESS_MAIN(CliCommandsTest)
#include "test_cli_commands.moc"
