// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Results of the probe: what is read, what is refused, and how they are laid beside an estimate.
#include "core/hardware/gpu.h"
#include "core/measure/comparison.h"
#include "core/measure/probe_result.h"
#include "core/plan/fields.h"
#include "core/plan/plan_json.h"

#include <QtTest>

#include <cmath>
#include <filesystem>

using namespace headroom;

namespace {

const std::filesystem::path folder = std::filesystem::path(HEADROOM_SOURCE_DIR) / "tests/data/results";
const std::filesystem::path dryRun = folder / "qwen3-8b-lora-dry-run.headroom-probe.json";
const std::filesystem::path gpuRun = folder / "qwen3-8b-lora-rtx-4090-made-up.headroom-probe.json";
const std::filesystem::path outOfMemory = folder / "qwen3-8b-lora-out-of-memory-made-up.headroom-probe.json";
const std::filesystem::path examplePlan = std::filesystem::path(HEADROOM_SOURCE_DIR) / "presets/examples/qwen3-8b-lora-24gb.headroom.json";

/// A small result; `with` replaces a piece of it.
std::string smallResult(const std::string &piece = {}, const std::string &with = {})
{
    std::string text = R"({
 "headroom_probe": 1,
 "plan": {"headroom_plan": 1, "model": {"preset": "Qwen/Qwen3-8B"}},
 "how": "gpu",
 "versions": {"torch": "2.13.0", "transformers": "5.24.0", "peft": null},
 "gpu": {"name": "NVIDIA H200", "capacity": 150754820096, "compute_capability": "9.0", "used_by_others": 0},
 "rank": 0, "ranks": 1,
 "parameters": {"total": 100, "trainable": 10},
 "steady": {"weights": 2048, "gradients": 0, "optimizer": 512, "allocated": 4096},
 "saved_activations": 1024,
 "steps": [{"seconds": 1.5, "tokens_per_second": 10, "allocated": 8192, "reserved": 16384, "device": 32768,
  "phases": [{"name": "forward", "allocated": 8192, "active": 8192, "reserved": 16384}]}],
 "error": null
})";
    if (!piece.empty()) {
        const std::size_t at = text.find(piece);
        if (at == std::string::npos)
            qFatal("the piece to replace is not there");
        text.replace(at, piece.size(), with);
    }
    return text;
}

const ComparisonRow *rowOf(const Comparison &comparison, std::string_view figure)
{
    const auto found =
        std::find_if(comparison.rows.begin(), comparison.rows.end(), [&](const ComparisonRow &row) { return row.figure == figure; });
    return found == comparison.rows.end() ? nullptr : &*found;
}

Comparison compareExample(const ProbeResult &result)
{
    const TrainingPlan plan = readPlanFile(examplePlan).value();
    const Result<std::shared_ptr<const Estimate>> predicted = estimate(planToCompare(plan, result).plan);
    return compare(**predicted, plan, result);
}

} // namespace

class TestMeasure : public QObject
{
    Q_OBJECT

private slots:
    void everyFigureIsRead()
    {
        const Result<ProbeResult> result = readProbeResult(smallResult());
        QVERIFY2(result.ok(), result.ok() ? "" : toString(result.issue()).c_str());
        QVERIFY(result->how == ProbeKind::Gpu);
        QCOMPARE(result->plan.model.preset, std::string("Qwen/Qwen3-8B"));
        QCOMPARE(result->versions.torch, std::string("2.13.0"));
        QVERIFY(result->versions.peft.empty());
        QVERIFY(result->gpu.has_value());
        QCOMPARE(result->gpu->capacity.value, 150754820096);
        QCOMPARE(result->parametersTotal, std::optional<std::int64_t>(100));
        QVERIFY(result->steady.optimizer == Bytes{512});
        QVERIFY(result->savedActivations == Bytes{1024});
        QCOMPARE(result->steps.size(), std::size_t{1});
        const ProbeStep &step = result->steps.front();
        QCOMPARE(step.seconds, std::optional<double>(1.5));
        QVERIFY(step.reserved == Bytes{16384} && step.device == Bytes{32768});
        QCOMPARE(step.phases.size(), std::size_t{1});
        QVERIFY(step.phases.front().phase == Phase::Forward && step.phases.front().active == Bytes{8192});
        QVERIFY(!result->error);
    }

    void badResultsAreRefused_data()
    {
        QTest::addColumn<QString>("piece");
        QTest::addColumn<QString>("with");
        QTest::addColumn<QString>("where");
        QTest::addColumn<QString>("what");
        QTest::addColumn<int>("line");
        const auto row = [](const char *tag, const char *piece, const char *with, const char *where, const char *what, int line) {
            QTest::newRow(tag) << piece << with << where << what << line;
        };
        row("newer format", "\"headroom_probe\": 1", "\"headroom_probe\": 2", "headroom_probe", "newer than this program", 2);
        row("format of no number", "\"headroom_probe\": 1", "\"headroom_probe\": \"1\"", "headroom_probe", "number of the format", 2);
        row("no format", "\"headroom_probe\": 1,", "", "headroom_probe", "missing", 1);
        row("unknown key", "\"rank\": 0", "\"rnak\": 0", "rnak", "unknown key", 7);
        row("unknown key deep down", "\"active\": 8192", "\"aktive\": 8192", "steps[0].phases[0].aktive", "unknown key", 12);
        row("key twice", "\"rank\": 0", "\"rank\": 0, \"rank\": 0", "rank", "occurs twice", 7);
        row("plan of another kind", "\"preset\": \"Qwen/Qwen3-8B\"", "\"preset\": 3", "plan.model.preset", "must be a string", 3);
        row("unknown key in the plan", "\"headroom_plan\": 1", "\"headroom_plan\": 1, \"bacth\": {}", "plan.bacth", "unknown key", 3);
        row("plan missing", "\"plan\": {\"headroom_plan\": 1, \"model\": {\"preset\": \"Qwen/Qwen3-8B\"}},", "", "plan", "missing", 1);
        row("another way to run", "\"how\": \"gpu\"", "\"how\": \"guess\"", "how", "no way to run", 4);
        row("negative bytes", "\"weights\": 2048", "\"weights\": -1", "steady.weights", "at least 0", 9);
        row("1e30 bytes", "\"saved_activations\": 1024", "\"saved_activations\": 1e30", "saved_activations", "more than any run", 10);
        row("a fraction of a byte", "\"saved_activations\": 1024", "\"saved_activations\": 0.5", "saved_activations", "whole number", 10);
        row("beyond a double", "\"saved_activations\": 1024", "\"saved_activations\": 1e999", "saved_activations", "too large", 10);
        row("text for bytes", "\"device\": 32768", "\"device\": \"32 GB\"", "steps[0].device", "must be a whole number, not a string", 11);
        row("negative time", "\"seconds\": 1.5", "\"seconds\": -1.5", "steps[0].seconds", "at least 0", 11);
        row("steps of another kind", "\"steps\": [", "\"steps\": {\"a\": [", "", "not valid JSON", 0);
        row("phase of another name", "\"name\": \"forward\"", "\"name\": \"fowrard\"", "steps[0].phases[0].name", "name of a phase", 12);
        row("phase twice", "\"phases\": [", "\"phases\": [{\"name\": \"forward\", \"allocated\": 1},", "steps[0].phases[1].name",
            "listed twice", 12);
        row("rank beyond the ranks", "\"rank\": 0", "\"rank\": 1", "rank", "more than any run", 7);
        row("no allocated", "\"allocated\": 8192, \"reserved\": 16384, \"device\"", "\"reserved\": 16384, \"device\"", "steps[0].allocated",
            "missing", 11);
        row("error of another kind", "\"error\": null", "\"error\": \"out of memory\"", "error", "must be an object", 13);
        row("error in no phase", "\"error\": null", "\"error\": {\"kind\": \"out-of-memory\", \"message\": \"m\", \"phase\": \"nowhere\"}",
            "error.phase", "name of a phase", 13);
        row("not UTF-8", "NVIDIA H200", "NVIDIA \xff", "", "UTF-8", 6);
    }
    /// A message names the place and what is wrong there, and says how to mend it.
    void badResultsAreRefused()
    {
        QFETCH(QString, piece);
        QFETCH(QString, with);
        QFETCH(QString, where);
        QFETCH(QString, what);
        QFETCH(int, line);
        // The one text that is not UTF-8 did not survive QString.
        const std::string replacement = QTest::currentDataTag() == std::string("not UTF-8") ? "NVIDIA \xff" : with.toStdString();
        const Result<ProbeResult> result = readProbeResult(smallResult(piece.toStdString(), replacement));
        QVERIFY(!result.ok());
        const Issue &issue = result.issue();
        if (!where.isEmpty())
            QCOMPARE(QString::fromStdString(issue.where), where);
        QVERIFY2(QString::fromStdString(issue.what).contains(what), issue.what.c_str());
        QVERIFY(!issue.hint.empty());
        if (line > 0)
            QCOMPARE(issue.line, line);
    }

    void aFileThatNeverEndsCostsLittle()
    {
        QVERIFY(!readProbeResult(std::string(1'000'000, '[')).ok());
        std::string many = "{\"headroom_probe\": 1, \"steps\": [";
        for (int i = 0; i < 300'000; ++i)
            many += "0,";
        QVERIFY(!readProbeResult(many + "0]}").ok());
        QVERIFY(!readProbeResult("").ok());
        QVERIFY(!readProbeResult(std::string(40, '\0')).ok());
        QVERIFY(!readProbeResult("[]").ok());
    }

    void aFilesIssueCarriesItsName()
    {
        const Result<ProbeResult> missing = readProbeFile(folder / "nothing.headroom-probe.json");
        QVERIFY(!missing.ok());
        QVERIFY(missing.issue().file.find("nothing.headroom-probe.json") != std::string::npos);
        const Result<ProbeResult> plan = readProbeFile(examplePlan);
        QVERIFY(!plan.ok());
        QVERIFY2(plan.issue().hint.find("this is a plan") != std::string::npos, plan.issue().hint.c_str());
    }

    /// A result without an error has steps; one that died at once has none.
    void aRunThatDiedAtOnceIsAResult()
    {
        const std::string steps = smallResult().substr(smallResult().find("\"steps\""));
        const std::string none = steps.substr(0, steps.find(",\n \"error\""));
        QVERIFY(!readProbeResult(smallResult(none, "\"steps\": []")).ok());
        std::string died = smallResult(none, "\"steps\": []");
        died.replace(died.find("\"error\": null"), 13,
                     R"("error": {"kind": "out-of-memory", "message": "CUDA out of memory", "step": null, "phase": "load"})");
        const Result<ProbeResult> result = readProbeResult(died);
        QVERIFY2(result.ok(), result.ok() ? "" : toString(result.issue()).c_str());
        QVERIFY(result->error->outOfMemory());
        QVERIFY(result->error->phase == Phase::Load && !result->error->step);
    }

    /// PyTorch's own figures for the example plan, which the engine gives to the byte.
    void aDryRunAgreesWithTheEstimate()
    {
        const ProbeResult result = readProbeFile(dryRun).value();
        const Comparison comparison = compareExample(result);
        QVERIFY(comparison.differences.empty());
        QVERIFY(comparison.ending.empty());
        QVERIFY(rowOf(comparison, "parameters.total") && rowOf(comparison, "parameters.total")->error == 0.0);
        for (const char *figure :
             {"steady.weights", "steady.gradients", "steady.optimizer", "steady.allocated", "saved_activations", "first_step.allocated",
              "peak.allocated", "phases.forward.allocated", "phases.loss.allocated", "phases.backward.allocated",
              "phases.optimizer.allocated", "phases.idle.allocated", "phases.load.allocated", "first_step.phases.forward.allocated"}) {
            const ComparisonRow *row = rowOf(comparison, figure);
            QVERIFY2(row != nullptr, figure);
            QVERIFY2(row->error && std::abs(*row->error) < 0.001,
                     qPrintable(QStringLiteral("%1: %2").arg(figure).arg(row->error.value_or(9))));
        }
        QVERIFY(comparison.worstTotal().has_value());
    }

    void aDryRunHasNoReservedRows()
    {
        const ProbeResult result = readProbeFile(dryRun).value();
        for (const ComparisonRow &row : compareExample(result).rows)
            QVERIFY2(row.figure.find("reserved") == std::string::npos && row.figure.find("device") == std::string::npos,
                     row.figure.c_str());
        // Zeros are no figures either.
        ProbeResult zeros = result;
        for (ProbeStep &step : zeros.steps)
            step.reserved = step.device = Bytes{0};
        QCOMPARE(compareExample(zeros).rows, compareExample(result).rows);
    }

    void aRunOnAGpuHasAllTotals()
    {
        const ProbeResult result = readProbeFile(gpuRun).value();
        const Comparison comparison = compareExample(result);
        for (const char *figure :
             {"first_step.allocated", "first_step.reserved", "first_step.device", "peak.allocated", "peak.reserved", "peak.device"}) {
            const ComparisonRow *row = rowOf(comparison, figure);
            QVERIFY2(row != nullptr && row->total, figure);
            QCOMPARE(*row->error, static_cast<double>(row->predicted - row->measured) / static_cast<double>(row->measured));
        }
        QVERIFY(rowOf(comparison, "phases.backward.reserved") != nullptr);
        QCOMPARE(rowOf(comparison, "peak.allocated")->measured, result.steps[2].allocated.value);
        QCOMPARE(rowOf(comparison, "first_step.allocated")->measured, result.steps[0].allocated.value);
    }

    /// With two steps the second stands for the later ones; with one there are none.
    void laterStepsAreTheThirdAndOn()
    {
        ProbeResult result = readProbeFile(gpuRun).value();
        result.steps[1].allocated = Bytes{1};
        result.steps.push_back(result.steps[2]);
        result.steps[3].allocated += Bytes{512};
        QCOMPARE(rowOf(compareExample(result), "peak.allocated")->measured, result.steps[3].allocated.value);
        result.steps.resize(2);
        QCOMPARE(rowOf(compareExample(result), "peak.allocated")->measured, 1);
        result.steps.resize(1);
        QVERIFY(rowOf(compareExample(result), "peak.allocated") == nullptr);
        QVERIFY(rowOf(compareExample(result), "first_step.allocated") != nullptr);
    }

    void aRunThatDiedSaysWhereAndWhatWasPredicted()
    {
        const Comparison comparison = compareExample(readProbeFile(outOfMemory).value());
        QVERIFY2(comparison.ending.find("ran out of memory in step 1, in backward, on NVIDIA GeForce RTX 4090") != std::string::npos,
                 comparison.ending.c_str());
        QVERIFY2(comparison.ending.find("allocated and") != std::string::npos, comparison.ending.c_str());
        // What came before the failing phase is compared, the rest is not.
        QVERIFY(rowOf(comparison, "first_step.phases.loss.allocated") != nullptr);
        QVERIFY(rowOf(comparison, "first_step.phases.backward.allocated") == nullptr);
        QVERIFY(rowOf(comparison, "first_step.allocated") == nullptr);
        QVERIFY(rowOf(comparison, "steady.weights") == nullptr);
        QVERIFY(!comparison.worstTotal());
        // It ran with another micro-batch.
        QCOMPARE(comparison.differences.size(), std::size_t{1});
        QCOMPARE(comparison.differences.front().path, std::string("batch.micro_batch"));
        QVERIFY2(differencesText(comparison.differences).find("Micro-batch (2 ") == 0, differencesText(comparison.differences).c_str());
    }

    /// What only some micro-batches went through is no peak of the step.
    void aDeadStepIsWholeWhereAllMicroBatchesWere()
    {
        const auto hasLoss = [](const ProbeResult &result) {
            return rowOf(compareExample(result), "first_step.phases.loss.allocated") != nullptr;
        };
        ProbeResult result = readProbeFile(outOfMemory).value();
        QCOMPARE(result.plan.batch.gradientAccumulation, std::int64_t{16});
        QVERIFY(hasLoss(result)); // it died in the backward of the sixteenth
        ProbeResult earlier = result;
        earlier.marks.resize(earlier.marks.size() - 3);
        QVERIFY(!hasLoss(earlier)); // of the fifteenth
        earlier.marks.clear();
        QVERIFY(!hasLoss(earlier)); // of one that is not known
        earlier.error->phase = Phase::Optimizer;
        QVERIFY(hasLoss(earlier));
        earlier.error->phase = Phase::Backward;
        earlier.plan.batch.gradientAccumulation = 1;
        QVERIFY(hasLoss(earlier));
    }

    /// A preset and its config.json are one model; names, GPUs and what has no effect do not count.
    void planDifferencesAreThoseOfTheRun()
    {
        const TrainingPlan given = readPlanFile(examplePlan).value();
        TrainingPlan ran = readProbeFile(dryRun).value().plan;
        QVERIFY(!ran.model.config.empty());
        ran.name = "another";
        ran.gpus.clear();
        ran.parallel.reduceBucketElements = 7; // no engine: no buckets
        QVERIFY(planDifferences(ran, given).empty());
        ran.checkpointing = Checkpointing::None;
        ran.method.rank = 32;
        ran.model = {"Qwen/Qwen3-4B", {}, {}};
        const std::vector<PlanDifference> differences = planDifferences(ran, given);
        std::vector<std::string> paths;
        for (const PlanDifference &difference : differences)
            paths.push_back(difference.path);
        QCOMPARE(paths, (std::vector<std::string>{"model", "method.rank", "checkpointing"}));
        QCOMPARE(differences[0].ran, std::string("Qwen/Qwen3-4B"));
        QCOMPARE(differences[1].label, std::string(findField("method.rank")->label));
    }

    void theGpuOfARunIsFoundInTheCatalogue_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<qint64>("mib");
        QTest::addColumn<QString>("capability");
        QTest::addColumn<QString>("id");
        QTest::newRow("4090") << "NVIDIA GeForce RTX 4090" << qint64{24564} << "8.9"
                              << "nvidia-rtx-4090-24gb";
        QTest::newRow("A100 80") << "NVIDIA A100-SXM4-80GB" << qint64{81920} << "8.0"
                                 << "nvidia-a100-sxm4-80gb";
        QTest::newRow("A100 40") << "NVIDIA A100-SXM4-40GB" << qint64{40960} << "8.0"
                                 << "nvidia-a100-sxm4-40gb";
        QTest::newRow("other memory") << "NVIDIA GeForce RTX 4090" << qint64{49140} << "8.9"
                                      << "";
        QTest::newRow("other capability") << "NVIDIA GeForce RTX 4090" << qint64{24564} << "9.0"
                                          << "";
        QTest::newRow("unknown") << "Teapot 418" << qint64{24564} << "8.9"
                                 << "";
        QTest::newRow("no name") << "" << qint64{0} << ""
                                 << "";
    }
    void theGpuOfARunIsFoundInTheCatalogue()
    {
        QFETCH(QString, name);
        QFETCH(qint64, mib);
        QFETCH(QString, capability);
        QFETCH(QString, id);
        const Gpu *gpu = gpuOfProbe({name.toStdString(), headroom::mib(mib), capability.toStdString(), {}});
        QCOMPARE(QString::fromStdString(gpu != nullptr ? gpu->id : ""), id);
    }

    void errorsAreWrittenWithTheirSign()
    {
        QCOMPARE(formatError(0.0), std::string("0 %"));
        QCOMPARE(formatError(0.0123), std::string("+1.23 %"));
        QCOMPARE(formatError(-0.5), std::string("-50.00 %"));
        QCOMPARE(formatError(1e-9), std::string("< +0.01 %"));
        QCOMPARE(formatError(std::nullopt), std::string("-"));
    }
};

QTEST_APPLESS_MAIN(TestMeasure)
#include "test_measure.moc"
