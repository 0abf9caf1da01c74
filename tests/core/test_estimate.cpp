// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/plan_spread.h"

#include "core/plan/fields.h"

#include <QtTest>

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <thread>

using namespace headroom;
using planspread::addRows;
using planspread::estimated;
using planspread::NamedPlan;
using planspread::set;
using planspread::smallPlan;

namespace {

void checkPeak(const Peak &peak, const Estimate &e)
{
    QCOMPARE(peak.components.total(), peak.allocated);
    for (const Component c : allComponents)
        QVERIFY(peak.components[c] >= Bytes{0});
    QVERIFY(peak.allocated <= peak.reserved);
    QVERIFY(peak.reserved <= peak.device);
    QCOMPARE(peak.components[Component::Weights], e.steady.weights);
}

Bytes highest(const std::array<PhasePeak, phaseCount> &phases)
{
    Bytes out;
    for (const PhasePeak &p : phases)
        if (p.phase != Phase::Load && p.phase != Phase::Idle)
            out = std::max(out, p.allocated);
    return out;
}

} // namespace

/// What holds for every estimate, whatever the plan.
class TestEstimate : public QObject
{
    Q_OBJECT

private:
    std::vector<NamedPlan> m_plans;

private slots:
    void initTestCase() { m_plans = planspread::spread(); }

    // -- sums and orders

    void figuresAgreeWithEachOther_data() { addRows(m_plans); }
    void figuresAgreeWithEachOther()
    {
        QFETCH(const int, index);
        const TrainingPlan &plan = m_plans[static_cast<std::size_t>(index)].plan;
        const auto e = estimated(plan);
        checkPeak(e->peak, *e);
        checkPeak(e->firstStep, *e);
        // Between two steps: what is named, and the batch's ids and labels (and the workspaces that cuBLAS keeps).
        QVERIFY(e->steady.weights + e->steady.gradients + e->steady.optimizer +
                    Bytes{2 * 8 * plan.batch.microBatch * plan.batch.sequenceLength} <=
                e->steady.allocated);
        QVERIFY(e->steady.allocated <= e->peak.allocated);
        QVERIFY(e->savedActivations <= e->peak.allocated);
        // Phases: the peak is the highest of them, and lies where it is said to.
        for (std::size_t p = 0; p < phaseCount; ++p) {
            QCOMPARE(static_cast<std::size_t>(e->phases[p].phase), p);
            QVERIFY(e->phases[p].allocated <= e->phases[p].reserved);
            QVERIFY(e->phases[p].reserved <= std::max(e->peak.reserved, e->firstStep.reserved));
        }
        QCOMPARE(highest(e->phases), e->peak.allocated);
        QCOMPARE(highest(e->firstPhases), e->firstStep.allocated);
        QVERIFY(e->firstPhases[static_cast<std::size_t>(Phase::Idle)].reserved <= e->firstStep.reserved);
        QCOMPARE(e->phases[static_cast<std::size_t>(e->peak.phase)].allocated, e->peak.allocated);
        QCOMPARE(e->firstPhases[static_cast<std::size_t>(e->firstStep.phase)].allocated, e->firstStep.allocated);
        QCOMPARE(e->phases[static_cast<std::size_t>(Phase::Idle)].allocated, e->steady.allocated);
        // What is trained has gradients, what is not has none.
        QVERIFY(e->parametersTrainable <= e->parametersTotal);
        QCOMPARE(e->parametersTrainable == e->parametersTotal, plan.method.kind == MethodKind::Full);
        QCOMPARE(e->steady.gradients > Bytes{0}, plan.loop.zeroGrad == ZeroGrad::Zeros);
        QCOMPARE(e->steady.optimizer > Bytes{0}, plan.optimizer.kind != OptimizerKind::Sgd);
    }

    // -- monotone

    void moreNeedsMore_data()
    {
        QTest::addColumn<QByteArray>("field");
        QTest::addColumn<QList<QByteArray>>("values");
        QTest::addColumn<QByteArray>("method");
        for (const char *method : {"full", "lora"}) {
            QTest::addRow("micro-batch, %s", method)
                << QByteArray("batch.micro_batch") << QList<QByteArray>{"1", "2", "3", "5", "8", "16"} << QByteArray(method);
            QTest::addRow("sequence length, %s", method)
                << QByteArray("batch.sequence_length") << QList<QByteArray>{"1", "64", "100", "512", "1024", "4096"} << QByteArray(method);
        }
        QTest::newRow("rank") << QByteArray("method.rank") << QList<QByteArray>{"1", "2", "8", "16", "64", "100"} << QByteArray("lora");
    }
    void moreNeedsMore()
    {
        QFETCH(const QByteArray, field);
        QFETCH(const QList<QByteArray>, values);
        QFETCH(const QByteArray, method);
        for (const char *checkpointing : {"none", "full"}) {
            for (const char *attention : {"sdpa", "eager"}) {
                std::shared_ptr<const Estimate> before;
                for (const QByteArray &value : values) {
                    TrainingPlan plan = smallPlan("qwen3");
                    // Storages, not blocks: what a block keeps unsplit depends on what lay there before, larger or smaller.
                    set(plan, "runtime.allocator", "rounded");
                    set(plan, "method.kind", method.toStdString());
                    set(plan, "checkpointing", checkpointing);
                    set(plan, "attention", attention);
                    set(plan, field.toStdString(), value.toStdString());
                    const auto now = estimated(plan);
                    if (before) {
                        QVERIFY2(now->peak.allocated >= before->peak.allocated, value);
                        QVERIFY2(now->firstStep.allocated >= before->firstStep.allocated, value);
                        QVERIFY2(now->savedActivations >= before->savedActivations, value);
                        QVERIFY2(now->steady.allocated >= before->steady.allocated, value);
                    }
                    before = now;
                }
            }
        }
    }

    void moreLayersNeedMore()
    {
        for (const char *method : {"full", "lora"}) {
            std::shared_ptr<const Estimate> before;
            for (const int layers : {1, 2, 3, 7, 20}) {
                TrainingPlan plan = smallPlan();
                std::string config = plan.model.config;
                config.replace(config.find("\"num_hidden_layers\": 3"), 22, fmt::format("\"num_hidden_layers\": {}", layers));
                plan.model.config = config;
                set(plan, "method.kind", method);
                const auto now = estimated(plan);
                QCOMPARE(now->model.layers, std::int64_t{layers});
                if (before) {
                    QVERIFY(now->peak.allocated > before->peak.allocated);
                    QVERIFY(now->savedActivations > before->savedActivations);
                    QVERIFY(now->steady.weights > before->steady.weights);
                }
                before = now;
            }
        }
    }

    void checkpointingKeepsLess()
    {
        for (const NamedPlan &named : m_plans) {
            if (named.plan.checkpointing != Checkpointing::None)
                continue;
            TrainingPlan plan = named.plan;
            const auto plain = estimated(plan);
            set(plan, "checkpointing", "full");
            QVERIFY2(estimated(plan)->savedActivations <= plain->savedActivations, named.name);
        }
    }

    // -- what is frozen

    /// A frozen base has neither gradients nor state: what is trained decides both.
    void frozenBaseHasNeitherGradientsNorState()
    {
        TrainingPlan plan = smallPlan();
        plan.runtime.allocator = AllocatorKind::Rounded;
        set(plan, "method.kind", "lora");
        set(plan, "loop.zero_grad", "zeros");
        const auto e = estimated(plan);
        const auto blocks = [](std::int64_t bytes) { return roundUp(bytes, 512); };
        // Seven Linears of three layers: A is [16, in], B [out, 16], fp32.
        std::int64_t adapters = 0, tensors = 0;
        for (const auto &[in, out] : {std::pair{256, 256}, {256, 128}, {256, 128}, {256, 256}, {256, 704}, {256, 704}, {704, 256}}) {
            adapters += 3 * (blocks(4 * 16 * in) + blocks(4 * 16 * out));
            tensors += 3 * 2;
        }
        QCOMPARE(e->steady.gradients.value, adapters);
        QCOMPARE(e->steady.optimizer.value, 2 * adapters + tensors * 512);
        set(plan, "method.targets", R"(["q_proj"])");
        const auto less = estimated(plan);
        QCOMPARE(less->steady.gradients.value, 3 * (blocks(4 * 16 * 256) + blocks(4 * 16 * 256)));
        QVERIFY(less->savedActivations < e->savedActivations);
    }

    // -- refused

    void refusalsNamePlaceCauseAndMending_data()
    {
        QTest::addColumn<QByteArray>("path");
        QTest::addColumn<QByteArray>("value");
        QTest::newRow("compile") << QByteArray("compile") << QByteArray("true");
        QTest::newRow("pipeline") << QByteArray("parallel.pipeline") << QByteArray("2");
        QTest::newRow("tensor") << QByteArray("parallel.tensor") << QByteArray("2");
        QTest::newRow("gradients") << QByteArray("precision.gradients") << QByteArray("float32");
    }
    void refusalsNamePlaceCauseAndMending()
    {
        QFETCH(const QByteArray, path);
        QFETCH(const QByteArray, value);
        TrainingPlan plan = smallPlan();
        set(plan, path.toStdString(), value.toStdString());
        if (path.startsWith("parallel")) {
            set(plan, "parallel.engine", "megatron");
            set(plan, "stack", "megatron");
        }
        const auto result = estimate(plan);
        QVERIFY(!result.ok());
        QVERIFY(!result.issue().where.empty());
        QVERIFY(!result.issue().what.empty());
        QVERIFY(!result.issue().hint.empty());
        if (!path.startsWith("parallel"))
            QCOMPARE(result.issue().where, path.toStdString());
    }

    /// What the form shows as not executed yet is what the engine refuses, at that field.
    void refusedChoicesAreRefused()
    {
        int refused = 0;
        for (const Field &field : fields()) {
            for (const FieldChoice &choice : field.choices) {
                TrainingPlan plan = smallPlan();
                if (choice.refused.empty() || setField(plan, field, FieldValue(std::string(choice.value))))
                    continue;
                if (!validate(plan).empty() || (field.inapplicable && !field.inapplicable(plan).empty()))
                    continue; // needs other fields beside it
                const auto result = estimate(plan);
                QVERIFY2(!result.ok(), field.path.data());
                QVERIFY(!result.issue().where.empty() && !result.issue().what.empty() && !result.issue().hint.empty());
                ++refused;
            }
        }
        if (refused == 0)
            qInfo("every choice of the form is executed");
    }

    void targetsThatMatchNothingAreRefused()
    {
        TrainingPlan plan = smallPlan();
        set(plan, "method.kind", "lora");
        set(plan, "method.targets", R"(["c_attn"])");
        QCOMPARE(estimate(plan).issue().where, std::string("method.targets"));
        set(plan, "method.targets", R"(["q_proj", "mlp"])"); // a module, but no Linear
        QCOMPARE(estimate(plan).issue().where, std::string("method.targets"));
        set(plan, "method.targets", R"(["q_proj"])");
        set(plan, "method.modules_to_save", R"(["q_proj"])"); // nothing is left to adapt
        QCOMPARE(estimate(plan).issue().where, std::string("method.targets"));
        set(plan, "method.modules_to_save", R"(["self_attn"])");
        QCOMPARE(estimate(plan).issue().where, std::string("method.modules_to_save"));
        plan.model.config = R"({"model_type": "mixtral", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
            "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 100, "num_local_experts": 4})";
        set(plan, "method.modules_to_save", R"(["gate"])"); // there is one, but it is no Linear
        QVERIFY(estimate(plan).issue().what.find("module of its own kind") != std::string::npos);
    }

    /// PEFT passes names by that match nothing, as long as one matches, and adapts no module that is saved.
    void namesThatMatchNothingArePassedBy()
    {
        TrainingPlan plan = smallPlan();
        set(plan, "method.kind", "lora");
        set(plan, "method.targets", R"(["q_proj"])");
        const auto one = estimate(plan).value();
        set(plan, "method.targets", R"(["q_proj", "c_attn"])");
        set(plan, "method.modules_to_save", R"(["score"])");
        const auto more = estimate(plan).value();
        QCOMPARE(more->peak.allocated, one->peak.allocated);
        QCOMPARE(more->parametersTrainable, one->parametersTrainable);
        const auto passed = [](const Estimate &e, std::string_view where, std::string_view name) {
            return std::count_if(e.notes.begin(), e.notes.end(), [&](const Note &note) {
                return note.severity == Severity::Warning && note.where == where && note.text.find(name) != std::string::npos;
            });
        };
        QCOMPARE(passed(*more, "method.targets", "called c_attn:"), std::ptrdiff_t{1});
        QCOMPARE(passed(*more, "method.modules_to_save", "called score:"), std::ptrdiff_t{1});
        QCOMPARE(passed(*one, "method.targets", ""), std::ptrdiff_t{0});
        set(plan, "method.targets", "all-linear");
        set(plan, "method.modules_to_save", R"(["q_proj"])");
        QVERIFY(estimate(plan).ok());
    }

    /// PEFT compares names with whole paths: one with a layer's number in it means that layer's module.
    void namesOfSingleLayersAreRefused()
    {
        TrainingPlan plan = smallPlan();
        set(plan, "method.kind", "lora");
        for (const char *name : {"layers.0.mlp.down_proj", "model.layers.1.self_attn.q_proj", "0", "layers.0", "layers.0.mlp"}) {
            set(plan, "method.targets", nlohmann::json{"q_proj", name}.dump());
            const auto refused = estimate(plan);
            QVERIFY2(!refused.ok() && refused.issue().where == "method.targets", name);
            QVERIFY2(refused.issue().what.find("one layer") != std::string::npos, name);
        }
        for (const char *name : {"layers.9999.mlp.down_proj", "q_proj2"}) { // no such layer, no such module
            set(plan, "method.targets", nlohmann::json{"q_proj", name}.dump());
            QVERIFY2(estimate(plan).ok(), name);
        }
        set(plan, "method.targets", "all-linear");
        for (const char *name : {"layers.0.self_attn.k_proj", "layers.0", "0"}) {
            set(plan, "method.modules_to_save", nlohmann::json{name}.dump());
            const auto refused = estimate(plan);
            QVERIFY2(!refused.ok() && refused.issue().where == "method.modules_to_save", name);
        }
        // What holds the layers is the family's own.
        set(plan, "method.modules_to_save", "[]");
        set(plan, "method.targets", R"(["q_proj", "layers"])");
        QVERIFY(!estimate(plan).ok());
        set(plan, "method.targets", R"(["q_proj", "h"])");
        QVERIFY(estimate(plan).ok());
    }

    /// What the libraries themselves stop at.
    void combinationsOfFamiliesThatStopAreRefused()
    {
        TrainingPlan plan = smallPlan();
        plan.model.preset.clear();
        plan.model.configPath.clear();
        plan.model.config = R"({"model_type": "youtu", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
            "intermediate_size": 96, "vocab_size": 100, "q_lora_rank": null, "kv_lora_rank": 32, "qk_nope_head_dim": 16,
            "qk_rope_head_dim": 16, "v_head_dim": 16})";
        QVERIFY(estimate(plan).ok());
        const std::string config = plan.model.config;
        plan.model.config.insert(1, R"("num_key_value_heads": 2, )"); // eager attention would repeat keys and values
        QVERIFY(estimate(plan).ok());
        set(plan, "attention", "eager");
        QCOMPARE(estimate(plan).issue().where, std::string("attention"));
        plan.model.config = config;
        set(plan, "attention", "flash-attention-2"); // queries and keys are 32 wide, values 16
        QCOMPARE(estimate(plan).issue().where, std::string("attention"));
        set(plan, "attention", "sdpa");
        set(plan, "method.kind", "qlora");
        QVERIFY(estimate(plan).ok());
        set(plan, "method.quantization", "int8");
        QCOMPARE(estimate(plan).issue().where, std::string("method.quantization"));
        plan = smallPlan();
        plan.model.preset.clear();
        plan.model.configPath.clear();
        plan.model.config = R"({"model_type": "vaultgemma", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
            "intermediate_size": 96, "vocab_size": 100, "head_dim": 16})";
        QCOMPARE(estimate(plan).issue().where, std::string("attention"));
    }

    /// Attention that a class of transformers does not have.
    void attentionsThatAClassLacks()
    {
        TrainingPlan plan = smallPlan();
        plan.model.preset.clear();
        plan.model.configPath.clear();
        const auto refused = [&](const char *keys, const char *attention) {
            plan.model.config = "{\"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, \"vocab_size\": 100, " +
                                std::string(keys) + "}";
            set(plan, "attention", attention);
            const auto result = estimate(plan);
            return result ? std::string() : result.issue().where;
        };
        const std::string where = "attention";
        const char *bloom = R"("model_type": "bloom")", *mpt = R"("model_type": "mpt")", *falcon = R"("model_type": "falcon")";
        const char *neo = R"("model_type": "gpt_neo", "attention_types": [[["global", "local"], 1]])";
        const char *alibi = R"("model_type": "falcon", "alibi": true)";
        for (const char *keys : {bloom, mpt, neo, falcon, alibi})
            QCOMPARE(refused(keys, "eager"), std::string());
        for (const char *keys : {bloom, mpt, neo})
            QCOMPARE(refused(keys, "sdpa"), where);
        for (const char *keys : {bloom, mpt, alibi})
            QCOMPARE(refused(keys, "flash-attention-2"), where);
        for (const char *keys : {neo, falcon})
            QCOMPARE(refused(keys, "flash-attention-2"), std::string());
        QCOMPARE(refused(alibi, "sdpa"), std::string());
    }

    /// bitsandbytes replaces nn.Linear itself and no class made from it: of Falcon nothing is quantised from transformers 5 on.
    void falconsLinearsAreNotQuantised()
    {
        TrainingPlan plan = smallPlan();
        plan.model.preset.clear();
        plan.model.configPath.clear();
        plan.model.config =
            R"({"model_type": "falcon", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100})";
        set(plan, "method.kind", "qlora");
        const auto noted = [&] {
            const std::shared_ptr<const Estimate> got = estimate(plan).value();
            return std::any_of(got->notes.begin(), got->notes.end(), [](const Note &note) {
                return note.where == "method.quantization" && note.severity == Severity::Warning &&
                       note.text.find("FalconLinear") != std::string::npos;
            });
        };
        const std::int64_t newer = estimate(plan).value()->steady.weights.value;
        QVERIFY(noted());
        set(plan, "runtime.transformers", "4.57");
        QVERIFY(!noted());
        QVERIFY(estimate(plan).value()->steady.weights.value < newer / 2);
    }

    void unknownModelsAreRefused()
    {
        TrainingPlan plan;
        plan.model.preset = "nobody/nothing";
        QCOMPARE(estimate(plan).issue().where, std::string("model.preset"));
        plan.model = {{}, {}, "no/such/config.json"};
        QCOMPARE(estimate(plan).issue().where, std::string("model.config_path"));
    }

    /// A model or batch beyond 64 bits is an error, neither an overflow nor a crash.
    void absurdSizesAreAnIssue()
    {
        const std::string huge =
            R"({"model_type": "llama", "hidden_size": 1048576, "intermediate_size": 1048576, "num_hidden_layers": 2, "num_attention_heads": 1048576,
            "num_key_value_heads": 1048576, "head_dim": 1048576, "vocab_size": 1048576})";
        TrainingPlan plan = smallPlan();
        plan.model.config = huge;
        auto result = estimate(plan);
        if (result.ok()) { // the reader lets these sizes through: then the batch does the rest
            plan.batch.microBatch = 65536;
            plan.batch.sequenceLength = 16'777'216;
            result = estimate(plan);
        }
        QVERIFY(!result.ok());
        QVERIFY(!result.issue().what.empty() && !result.issue().hint.empty());

        TrainingPlan batch = smallPlan();
        set(batch, "attention", "eager");
        batch.batch.microBatch = static_cast<std::int64_t>(findField("batch.micro_batch")->maximum);
        batch.batch.sequenceLength = static_cast<std::int64_t>(findField("batch.sequence_length")->maximum);
        const auto tooLong = estimate(batch);
        QVERIFY(!tooLong.ok());
        QVERIFY(tooLong.issue().what.find("64 bits") != std::string::npos);
        QVERIFY(!tooLong.issue().hint.empty());
    }

    // -- threads

    void cancelledEstimatesSaySo()
    {
        std::stop_source source;
        source.request_stop();
        const auto result = estimate(smallPlan(), source.get_token());
        QVERIFY(!result.ok());
        QCOMPARE(result.issue().what, std::string("cancelled"));
    }

    /// No global state: estimates in several threads are those of one.
    void estimatesRunInParallel()
    {
        std::vector<TrainingPlan> plans;
        for (std::size_t i = 0; i < m_plans.size(); i += 7)
            plans.push_back(m_plans[i].plan);
        std::vector<std::string> alone, together[2];
        for (const TrainingPlan &plan : plans)
            alone.push_back(writeEstimate(*estimated(plan)));
        {
            std::vector<std::jthread> threads;
            for (std::vector<std::string> &out : together)
                threads.emplace_back([&out, &plans] {
                    for (const TrainingPlan &plan : plans)
                        out.push_back(writeEstimate(**estimate(plan)));
                });
        }
        QVERIFY(together[0] == alone);
        QVERIFY(together[1] == alone);
    }

    /// The views of one estimate may be asked for from several threads.
    void viewsAreSafeFromAnyThread()
    {
        const auto e = estimated(smallPlan());
        const std::size_t rows = e->breakdown(Estimate::Step::Steady).size(),
                          samples = e->timeline(Estimate::Step::Steady, 100).samples.size();
        std::vector<int> good(2, 0);
        {
            std::vector<std::jthread> threads;
            for (int &ok : good)
                threads.emplace_back([&ok, &e, rows, samples] {
                    for (int i = 0; i < 20; ++i)
                        ok += e->breakdown(Estimate::Step::Steady).size() == rows &&
                                      e->timeline(Estimate::Step::Steady, 100).samples.size() == samples
                                  ? 1
                                  : 0;
                });
        }
        QCOMPARE(good, std::vector<int>({20, 20}));
    }
};

QTEST_APPLESS_MAIN(TestEstimate)
#include "test_estimate.moc"
