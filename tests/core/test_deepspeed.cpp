// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/json_lines.h"
#include "tests/core/plan_spread.h"

#include "core/autograd/tape.h"
#include "core/training/deepspeed_partition.h"

#include <QtTest>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

using namespace headroom;
using namespace planspread;
using autograd::Tape;
using autograd::Tensor;
using jsonlines::Json;
using training::deepspeed::Partitioning;

namespace {

bool isDeepSpeedOnDevice(const Json &plan)
{
    return plan["parallel"]["engine"] == "deepspeed" && plan["parallel"].value("offload", "none") == "none";
}

TrainingPlan shardedPlan(int stage, std::int64_t ranks)
{
    TrainingPlan plan = smallPlan();
    plan.precision.recipe = Recipe::Bf16Master;
    plan.parallel.engine = Engine::DeepSpeed;
    plan.parallel.data = ranks;
    plan.parallel.zeroStage = stage;
    plan.parallel.reduceBucketElements = 300'000;
    plan.parallel.stage3PrefetchBucketSize = 300'000;
    plan.parallel.stage3ParamPersistenceThreshold = 1000;
    plan.parallel.stage3MaxLiveParameters = 900'000;
    plan.parallel.stage3MaxReuseDistance = 300'000;
    plan.loop.clipGradNorm = true;
    plan.runtime.cublasWorkspaceBytes = 0;
    plan.runtime.allocator = AllocatorKind::Rounded;
    return plan;
}

/// Signs, bytes and streams of a trace, with the marks between: what a run does, without its storages' numbers.
std::string shapeOf(const training::TrainingRun &run)
{
    std::string out;
    std::size_t mark = 0;
    for (std::size_t i = 0; i < run.trace.events.size(); ++i) {
        for (; mark < run.trace.marks.size() && run.trace.marks[mark].event == i; ++mark)
            out += fmt::format("[{} {} {}]", static_cast<int>(run.trace.marks[mark].phase), run.trace.marks[mark].step,
                               run.trace.marks[mark].microBatch);
        const autograd::Event event = run.trace.events[i];
        const autograd::StorageRecord &storage = run.trace.storages[event.storage];
        out += fmt::format("{}{}@{} ", event.release ? '-' : '+', storage.bytes, storage.stream);
    }
    return out;
}

} // namespace

/// ZeRO's stages against DeepSpeed's own code, traced for one rank on fake tensors, and against ZeRO's formulas.
class TestDeepSpeed : public QObject
{
    Q_OBJECT

private:
    static void check(const QByteArray &json)
    {
        const Json one = Json::parse(json.toStdString());
        const auto e = estimated(planOf(one["plan"].dump()));
        const Json &want = one["expect"];
        std::string differences;
        const auto compare = [&](const std::string &what, std::int64_t got, const Json &expected) {
            if (got != expected.get<std::int64_t>())
                differences += fmt::format("\n  {}: DeepSpeed {}, Headroom {}", what, expected.get<std::int64_t>(), got);
        };
        compare("parameters.total", e->parametersTotal, want["parameters"]["total"]);
        compare("parameters.trainable", e->parametersTrainable, want["parameters"]["trainable"]);
        compare("steady.weights", e->steady.weights.value, want["steady"]["weights"]);
        compare("steady.gradients", e->steady.gradients.value, want["steady"]["gradients"]);
        compare("steady.optimizer", e->steady.optimizer.value, want["steady"]["optimizer"]);
        compare("steady.allocated", e->steady.allocated.value, want["steady"]["allocated"]);
        compare("saved_activations", e->savedActivations.value, want["saved_activations"]);
        compare("peak", e->peak.allocated.value, want["peak"]["allocated"]);
        compare("first_step", e->firstStep.allocated.value, want["first_step"]["allocated"]);
        for (const Json &phase : want["phases"]) {
            const std::string phaseName = phase["name"];
            const auto found =
                std::find_if(e->phases.begin(), e->phases.end(), [&](const PhasePeak &p) { return name(p.phase) == phaseName; });
            QVERIFY(found != e->phases.end());
            if (found->phase != Phase::Load)
                compare(phaseName, found->allocated.value, phase["allocated"]);
        }
        QVERIFY2(differences.empty(), differences.c_str());
    }

private slots:
    void sample_data()
    {
        const std::vector<Json> cases = jsonlines::readLines(HEADROOM_SOURCE_DIR "/tests/data/deepspeed_sample.jsonl");
        QCOMPARE(cases.size(), std::size_t{10});
        jsonlines::addCases(cases, isDeepSpeedOnDevice);
    }
    void sample()
    {
        QFETCH(const QByteArray, json);
        check(json);
    }

    void everyCase_data() { jsonlines::addSharedCases("truth/distributed/cases.jsonl", isDeepSpeedOnDevice); }
    void everyCase()
    {
        QFETCH(const QByteArray, json);
        if (json.isEmpty())
            QSKIP("needs truth/distributed/cases.jsonl below the folder that HEADROOM_SHARED names; the committed sample was tested");
        check(json);
    }

    /// LayerNorms and the experts' joined matrices, which are no Linear, go to the device as all else does.
    void everyParameterGoesToTheDevice_data()
    {
        QTest::addColumn<QByteArray>("config");
        QTest::newRow("gpt2") << QByteArray(R"({"model_type": "gpt2", "n_embd": 128, "n_layer": 2, "n_head": 4, "vocab_size": 500})");
        QTest::newRow("mixtral") << QByteArray(R"({"model_type": "mixtral", "hidden_size": 128, "intermediate_size": 256,
            "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 500, "num_local_experts": 4})");
    }
    void everyParameterGoesToTheDevice()
    {
        QFETCH(const QByteArray, config);
        TrainingPlan plan = planspread::smallPlan();
        plan.model.config = config.toStdString();
        planspread::set(plan, "precision.recipe", "bf16-master");
        planspread::set(plan, "parallel.engine", "deepspeed");
        planspread::set(plan, "runtime.allocator", "rounded");
        const auto e = planspread::estimated(plan);
        std::int64_t elements = 0;
        for (const auto &storage : e->record->trace().storages)
            if (storage.role == autograd::Role::Parameter && storage.phase == autograd::TracePhase::Load &&
                storage.dtype == DType::BFloat16)
                elements += storage.bytes / 2;
        QCOMPARE(elements, e->parametersTotal);
    }

    /// The ZeRO paper's example: 16 bytes for each of 1e9 parameters over 8 ranks (2 of weights, 2 of gradients, 12 of
    /// master copy and moments) take 5.5, 3.75 and 2 GB a rank.
    void paperExample()
    {
        Tape tape;
        std::vector<Tensor> parameters;
        for (int i = 0; i < 10; ++i)
            parameters.push_back(tape.empty({100'000, 1000}, DType::BFloat16));
        const Partitioning partitioning(parameters, 8);
        QCOMPARE(partitioning.elements(), std::int64_t{1'000'000'000});
        QCOMPARE(partitioning.padding(), std::int64_t{0});
        const std::int64_t whole = 2 * partitioning.elements(), part = 2 * partitioning.partitionSize(),
                           states = 12 * partitioning.partitionSize();
        QCOMPARE(whole + whole + states, std::int64_t{5'500'000'000});
        QCOMPARE(whole + part + states, std::int64_t{3'750'000'000});
        QCOMPARE(part + part + states, std::int64_t{2'000'000'000});
    }

    void partitioning()
    {
        Tape tape;
        const std::vector<Tensor> parameters{tape.empty({7}, DType::BFloat16), tape.empty({30}, DType::BFloat16)};
        const Partitioning of(parameters, 4); // 37 elements, padded to 40: four partitions of 10
        QCOMPARE(of.partitionSize(), std::int64_t{10});
        QCOMPARE(of.padding(), std::int64_t{3});
        QCOMPARE(of.slices(0).size(), std::size_t{1});
        QCOMPARE(of.slices(1).size(), std::size_t{4});
        QCOMPARE(of.slices(1)[1].offset, std::int64_t{3});
        QCOMPARE(of.elementsIn(1, 0), std::int64_t{3});
        QCOMPARE(of.elementsIn(1, 3), std::int64_t{7});
        QVERIFY(!of.touches(0, 1));
        QCOMPARE(of.touchedElements(0), std::int64_t{37});
        QCOMPARE(of.touchedElements(1), std::int64_t{30});
    }

    /// Between steps a rank holds the formulas' bytes, but for padding, the batch and ZeRO-3's bucket.
    void steadyFigures()
    {
        const std::int64_t ranks = 4;
        for (int stage : {0, 1, 2, 3}) {
            const auto e = estimated(shardedPlan(stage, ranks));
            const double p = static_cast<double>(e->parametersTotal);
            const double parts = stage == 0 ? 1.0 : static_cast<double>(ranks);
            const auto near = [](Bytes got, double expected) {
                return std::abs(static_cast<double>(got.value) - expected) <= 0.01 * expected + 16'384;
            };
            QVERIFY(near(e->steady.weights, stage == 3 ? 2 * p / parts : 2 * p));
            QVERIFY(near(e->steady.optimizer, 12 * p / parts));
            QVERIFY(near(e->steady.gradients, stage == 3 ? 2 * p / parts : 0));
        }
    }

    void moreRanksNeedNoMore()
    {
        for (int stage : {1, 2, 3}) {
            std::int64_t before = INT64_MAX;
            for (std::int64_t ranks : {1, 2, 4, 8, 16, 64}) {
                const std::int64_t steady = estimated(shardedPlan(stage, ranks))->steady.allocated.value;
                QVERIFY2(steady <= before, qPrintable(QStringLiteral("stage %1, %2 ranks").arg(stage).arg(ranks)));
                before = steady;
            }
        }
    }

    void higherStagesNeedNoMoreBetweenSteps()
    {
        std::int64_t before = INT64_MAX;
        for (int stage : {0, 1, 2, 3}) {
            const std::int64_t steady = estimated(shardedPlan(stage, 8))->steady.allocated.value;
            QVERIFY(steady <= before);
            before = steady;
        }
    }

    /// The third step, copied from the second, is what executing it gives.
    void copiedStep_data()
    {
        QTest::addColumn<int>("stage");
        QTest::addColumn<QString>("path");
        QTest::addColumn<QString>("value");
        for (int stage : {0, 1, 2, 3}) {
            QTest::addRow("stage %d", stage) << stage << "checkpointing"
                                             << "none";
            QTest::addRow("stage %d, checkpointing", stage) << stage << "checkpointing"
                                                            << "full";
            QTest::addRow("stage %d, LoRA", stage) << stage << "method.kind"
                                                   << "lora";
            QTest::addRow("stage %d, accumulation", stage) << stage << "batch.gradient_accumulation"
                                                           << "3";
            QTest::addRow("stage %d, overlap", stage) << stage << "parallel.overlap_communication"
                                                      << "true";
        }
    }
    void copiedStep()
    {
        QFETCH(const int, stage);
        QFETCH(const QString, path);
        QFETCH(const QString, value);
        TrainingPlan plan = shardedPlan(stage, 4);
        set(plan, path.toStdString(), value.toStdString());
        const ModelConfig model = *resolveModel(plan);
        const training::TrainingRun copied = training::run(plan, model, 3, 0, {}, training::Repeat::Copy);
        const training::TrainingRun executed = training::run(plan, model, 3, 0, {}, training::Repeat::Execute);
        QVERIFY(shapeOf(copied) == shapeOf(executed));
    }

    /// Of ZeRO-3's second step one micro-batch is executed and the others are copied.
    void copiedMicroBatches_data()
    {
        QTest::addColumn<QStringList>("fields");
        QTest::addColumn<bool>("copied");
        QTest::newRow("full") << QStringList{} << true;
        QTest::newRow("checkpointing") << QStringList{"checkpointing=full"} << true;
        QTest::newRow("LoRA") << QStringList{"method.kind=lora"} << true;
        QTest::newRow("overlap") << QStringList{"parallel.overlap_communication=true"} << true;
        QTest::newRow("clipping") << QStringList{"loop.clip_grad_norm=true"} << true;
        QTest::newRow("small buckets") << QStringList{"parallel.bucket_sizes=auto", "checkpointing=full"} << true;
        QTest::newRow("outputs held") << QStringList{"loop.outputs_held=true"} << false;
    }
    void copiedMicroBatches()
    {
        QFETCH(const QStringList, fields);
        QFETCH(const bool, copied);
        TrainingPlan plan = shardedPlan(3, 4);
        set(plan, "batch.gradient_accumulation", "3");
        for (const QString &field : fields)
            set(plan, field.section('=', 0, 0).toStdString(), field.section('=', 1).toStdString());
        const ModelConfig model = *resolveModel(plan);
        for (int steps : {2, 3}) {
            const training::TrainingRun some = training::run(plan, model, steps, 0, {}, training::Repeat::Copy);
            const training::TrainingRun all = training::run(plan, model, steps, 0, {}, training::Repeat::Execute);
            QCOMPARE(some.copiedMicroBatches, copied);
            QVERIFY(!all.copiedMicroBatches);
            QVERIFY(shapeOf(some) == shapeOf(all));
            QCOMPARE(some.flopsForward, all.flopsForward);
        }
    }

    void withoutEngineIsStageZero()
    {
        TrainingPlan alone = shardedPlan(0, 1);
        const auto deepSpeed = estimated(alone);
        alone.parallel = {};
        const auto none = estimated(alone);
        QCOMPARE(none->peak.allocated.value, deepSpeed->peak.allocated.value);
        QCOMPARE(none->steady.allocated.value, deepSpeed->steady.allocated.value);
        alone.precision.recipe = Recipe::Bf16;
        QVERIFY(estimated(alone)->steady.allocated < none->steady.allocated);
    }

    void worstRank()
    {
        TrainingPlan plan = shardedPlan(2, 4);
        std::int64_t highest = 0;
        for (const char *rank : {"0", "1", "2", "3"}) {
            plan.runtime.rank = rank;
            highest = std::max(highest, estimated(plan)->phases[static_cast<std::size_t>(Phase::Optimizer)].allocated.value);
        }
        plan.runtime.rank = "worst";
        QCOMPARE(estimated(plan)->phases[static_cast<std::size_t>(Phase::Optimizer)].allocated.value, highest);
    }

    /// Every byte that DeepSpeed allocates has a name and a source.
    void everythingIsNamed()
    {
        for (int stage : {0, 1, 2, 3}) {
            const auto e = estimated(shardedPlan(stage, 4));
            for (const BreakdownRow &top : e->breakdown(Estimate::Step::Steady)) {
                Bytes sum;
                for (const BreakdownRow &group : top.children)
                    for (const BreakdownRow &kind : group.children) {
                        QVERIFY(!kind.label.empty() && !kind.rule.empty() && !kind.source.empty());
                        sum += kind.bytes;
                    }
                QCOMPARE(sum.value, top.bytes.value);
            }
        }
    }

    void refused_data()
    {
        QTest::addColumn<QString>("path");
        QTest::addColumn<QString>("value");
        QTest::newRow("offload") << "parallel.offload"
                                 << "optimizer";
        QTest::newRow("another recipe") << "precision.recipe"
                                        << "bf16";
        QTest::newRow("kept gradients") << "loop.zero_grad"
                                        << "zeros";
    }
    void refused()
    {
        QFETCH(const QString, path);
        QFETCH(const QString, value);
        TrainingPlan plan = shardedPlan(2, 4);
        set(plan, path.toStdString(), value.toStdString());
        const auto result = estimate(plan);
        QVERIFY(!result.ok());
        QCOMPARE(QString::fromStdString(result.issue().where), path);
    }
};

QTEST_APPLESS_MAIN(TestDeepSpeed)
#include "test_deepspeed.moc"
