// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/checkpointing_cost.h"
#include "core/plan/fields.h"
#include "core/training/step.h"
#include "tests/core/plan_spread.h"

#include <QtTest>

#include <fmt/format.h>

#include <set>

using namespace headroom;
using namespace headroom::autograd;
using planspread::estimated;
using planspread::set;
using planspread::smallPlan;

namespace {

TrainingPlan selectivePlan(std::string_view selective, const std::string &type = "llama")
{
    TrainingPlan plan = smallPlan(type);
    set(plan, "checkpointing", "selective");
    set(plan, "selective", selective);
    return plan;
}

training::TrainingRun runOf(const TrainingPlan &plan, std::int64_t layers, training::Repeat repeat)
{
    Result<ModelConfig> model = resolveModel(plan);
    if (!model)
        qFatal("%s", toString(model.issue()).c_str());
    model->layers = layers;
    return training::run(plan, *model, 2, 0, {}, repeat);
}

/// Where two traces differ in bytes, layer, module, operator or in what is released when; -1: nowhere.
std::int64_t differenceOf(const Trace &a, const Trace &b)
{
    std::vector<StorageId> partner(a.storages.size(), noStorage);
    for (std::size_t i = 0; i < std::min(a.events.size(), b.events.size()); ++i) {
        const Event x = a.events[i], y = b.events[i];
        if (!x.release)
            partner[x.storage] = y.storage;
        const StorageRecord &s = a.storages[x.storage], &t = b.storages[y.storage];
        if (partner[x.storage] != y.storage || x.release != y.release || s.bytes != t.bytes || s.layer != t.layer || s.kept != t.kept ||
            std::string_view(s.module) != t.module || std::string_view(s.op) != t.op)
            return static_cast<std::int64_t>(i);
    }
    return a.events.size() == b.events.size() ? -1 : static_cast<std::int64_t>(std::min(a.events.size(), b.events.size()));
}

std::int64_t savedBytes(const TrainingPlan &plan) { return estimated(plan)->savedActivations.value; }

std::string refusedAt(const TrainingPlan &plan)
{
    const auto result = estimate(plan);
    return result ? std::string() : result.issue().where;
}

/// Results of this operator that the first layer's forward keeps, by the module that made them.
std::vector<std::string> keptBy(const TrainingPlan &plan, std::string_view op)
{
    std::vector<std::string> modules;
    const Trace trace = runOf(plan, 2, training::Repeat::Execute).trace;
    for (const StorageRecord &storage : trace.storages)
        if (storage.kept && storage.layer == 0 && storage.op == op)
            modules.emplace_back(storage.module);
    modules.resize(modules.size() / 2); // two steps
    return modules;
}

} // namespace

/// Selective checkpointing: which layers, whose results, and what it saves and costs. That the memory is PyTorch's, event by
/// event, is test_traces'.
class TestSelective : public QObject
{
    Q_OBJECT

private slots:
    /// transformers' every_n_layers: the first layer, and so on in steps of n.
    void everyNthLayerRunsAgain()
    {
        for (const int every : {1, 2, 3, 9}) {
            std::set<int> again;
            const Trace trace = runOf(selectivePlan(fmt::format(R"({{"every": {}}})", every)), 7, training::Repeat::Execute).trace;
            for (const StorageRecord &storage : trace.storages)
                if (storage.recomputed)
                    again.insert(storage.layer);
            std::set<int> expected;
            for (int layer = 0; layer < 7; layer += every)
                expected.insert(layer);
            QVERIFY(again == expected);
        }
    }

    void everyLayerIsFullCheckpointing()
    {
        TrainingPlan full = smallPlan();
        set(full, "checkpointing", "full");
        QCOMPARE(differenceOf(runOf(full, 7, training::Repeat::Execute).trace,
                              runOf(selectivePlan(R"({"every": 1})"), 7, training::Repeat::Execute).trace),
                 std::int64_t{-1});
    }

    /// Where every n-th layer is another, groups of n layers repeat, and what is left over at the end stays as it is.
    void copiedGroupsAreExecutedLayers_data()
    {
        QTest::addColumn<QString>("selective");
        QTest::addColumn<int>("period");
        QTest::addColumn<QString>("more");
        for (const int every : {1, 2, 3, 4})
            for (const char *more : {"", "method.kind=lora", "reentrant_checkpointing=true", "precision.recipe=bf16-autocast"})
                QTest::addRow("every %d %s", every, more) << QStringLiteral("{\"every\": %1}").arg(every) << every << more;
        QTest::newRow("first alone") << R"({"every": 40})" << 1 << "";
        QTest::newRow("torchtitan") << R"({"policy": "torchtitan"})" << 1 << "";
        QTest::newRow("megatron") << R"({"policy": "megatron"})" << 1 << "attention=eager";
        QTest::newRow("megatron reentrant") << R"({"policy": "megatron"})" << 1 << "reentrant_checkpointing=true";
        QTest::newRow("operators") << R"({"operators": ["attention", "linear"]})" << 1 << "batch.gradient_accumulation=2";
    }
    void copiedGroupsAreExecutedLayers()
    {
        QFETCH(const QString, selective);
        QFETCH(const int, period);
        QFETCH(const QString, more);
        TrainingPlan plan = selectivePlan(selective.toStdString());
        if (const QStringList field = more.split('='); field.size() == 2)
            set(plan, field[0].toStdString(), field[1].toStdString());
        for (const int layers : {4 * period + period - 1, 5 * period, 9 * period + period / 2, 31}) {
            const training::TrainingRun copied = runOf(plan, layers, training::Repeat::Copy),
                                        executed = runOf(plan, layers, training::Repeat::Execute);
            QCOMPARE(copied.executedGroups > 0, layers >= 5 * period);
            QCOMPARE(differenceOf(copied.trace, executed.trace), std::int64_t{-1});
            QCOMPARE(copied.parametersTotal, executed.parametersTotal);
            QCOMPARE(copied.flopsForward, executed.flopsForward);
            QCOMPARE(copied.flopsAgain, executed.flopsAgain);
        }
    }

    /// torchtitan's rule: of a layer's products the first is kept, the second not, and so on.
    void torchtitanKeepsEverySecondProduct()
    {
        const std::vector<std::string> expected{"self_attn.q_proj", "self_attn.v_proj", "mlp.gate_proj", "mlp.down_proj"};
        const TrainingPlan plan = selectivePlan(R"({"policy": "torchtitan"})");
        QVERIFY(keptBy(plan, "aten.mm.default") == expected);
        QCOMPARE(keptBy(plan, "aten._scaled_dot_product_flash_attention.default").size(), std::size_t{4}); // output, sums, random state
    }

    void namedOperatorsAreKept()
    {
        const auto kept = [](const char *operators, const char *op) { return keptBy(selectivePlan(operators), op); };
        QVERIFY(kept(R"({"operators": ["mlp"]})", "aten.mm.default") ==
                (std::vector<std::string>{"mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}));
        QCOMPARE(kept(R"({"operators": ["linear"]})", "aten.mm.default").size(), std::size_t{7});
        QVERIFY(kept(R"({"operators": ["attention"]})", "aten.mm.default").empty());
        QVERIFY(kept(R"({"operators": ["activation"]})", "aten.silu.default") == std::vector<std::string>{"mlp.act_fn"});
    }

    /// Between keeping all and keeping inputs alone, and each choice with its price.
    void choicesLieBetweenNoneAndFull()
    {
        TrainingPlan none = smallPlan(), full = none;
        set(full, "checkpointing", "full");
        const std::int64_t most = savedBytes(none), least = savedBytes(full);
        double recomputedByFull = estimated(full)->flopsRecomputed;
        for (const char *selective : {R"({"every": 2})", R"({"policy": "torchtitan"})", R"({"policy": "megatron"})",
                                      R"({"operators": ["attention"]})", R"({"operators": ["attention", "mlp"]})"}) {
            const auto estimate = estimated(selectivePlan(selective));
            const std::int64_t saved = estimate->savedActivations.value;
            QVERIFY2(least < saved && saved < most, selective);
            QVERIFY2(estimate->flopsRecomputed < recomputedByFull, selective);
            QCOMPARE(bytesSavedByCheckpointing(*estimate)->value, most - saved);
            QVERIFY(!recomputationSentence(*estimate).empty());
        }
        QCOMPARE(bytesSavedByCheckpointing(*estimated(full))->value, most - least);
        QVERIFY(!bytesSavedByCheckpointing(*estimated(none)));
        QVERIFY(recomputationSentence(*estimated(none)).empty());
    }

    /// Full checkpointing stops early: all of a layer's products but the last, which nothing needs. Reentrant runs it too.
    void fullCheckpointingCostsAForwardPass()
    {
        TrainingPlan plan = smallPlan();
        set(plan, "checkpointing", "full");
        const ModelConfig model = *resolveModel(plan);
        const double rows = 2.0 * 192, width = 256;
        const double head = 2 * rows * width * static_cast<double>(model.vocabSize);
        const double last = 3 * 2 * rows * 704 * width; // down_proj of three layers
        const auto early = estimated(plan);
        QCOMPARE(early->flopsRecomputed, early->flopsForward - head - last);
        set(plan, "reentrant_checkpointing", "true");
        QCOMPARE(estimated(plan)->flopsRecomputed, early->flopsForward - head);
        // every micro-batch of a step counts
        set(plan, "batch.gradient_accumulation", "5");
        QCOMPARE(estimated(plan)->flopsForward, 5 * early->flopsForward);
    }

    /// GPT-BigCode before transformers 4.53 leaves its cache on under checkpointing: each layer's joined query, key and value
    /// stay as long as what the model returned.
    void oldGptBigCodeKeepsItsCache()
    {
        TrainingPlan plan = smallPlan();
        plan.model.config = R"({"model_type": "gpt_bigcode", "n_embd": 256, "n_layer": 9, "n_head": 4, "n_positions": 512,
            "vocab_size": 1000})";
        set(plan, "checkpointing", "full");
        set(plan, "attention", "flash-attention-2");
        set(plan, "runtime.allocator", "rounded");
        const std::int64_t joined = std::int64_t{2} * 192 * (256 + 2 * 64) * 2;
        for (const char *reentrant : {"true", "false"})
            for (const char *held : {"true", "false"}) {
                set(plan, "reentrant_checkpointing", reentrant);
                set(plan, "loop.outputs_held", held);
                set(plan, "runtime.transformers", "4.53");
                const std::int64_t without = savedBytes(plan);
                set(plan, "runtime.transformers", "4.52");
                QCOMPARE(savedBytes(plan) - without, std::string_view(held) == "true" ? 9 * joined : 0);
                const training::TrainingRun copied = runOf(plan, 9, training::Repeat::Copy),
                                            executed = runOf(plan, 9, training::Repeat::Execute);
                QVERIFY(copied.executedGroups > 0);
                QCOMPARE(differenceOf(copied.trace, executed.trace), std::int64_t{-1});
            }
        set(plan, "checkpointing", "none");
        set(plan, "reentrant_checkpointing", "false");
        const std::int64_t old = savedBytes(plan);
        set(plan, "runtime.transformers", "4.53");
        QCOMPARE(savedBytes(plan), old); // attention keeps them anyway, and no cache is asked for
    }

    void keptResultsSayWhy()
    {
        const auto estimate = estimated(selectivePlan(R"({"operators": ["linear"]})"));
        bool found = false;
        std::function<void(const std::vector<BreakdownRow> &)> search = [&](const std::vector<BreakdownRow> &rows) {
            for (const BreakdownRow &row : rows) {
                found = found || (row.label == "results kept from checkpointing" && row.source.find("checkpoint.py") != std::string::npos);
                search(row.children);
            }
        };
        search(estimate->breakdown(Estimate::Step::Steady));
        QVERIFY(found);
    }

    /// What is named but never runs keeps nothing, and the estimate says so.
    void operatorsThatKeepNothingAreNoted()
    {
        const auto noted = [](const char *operators, const char *attention, const char *recipe) {
            TrainingPlan plan = selectivePlan(operators);
            set(plan, "attention", attention);
            set(plan, "precision.recipe", recipe);
            const auto estimate = estimated(plan);
            std::string text;
            for (const Note &note : estimate->notes)
                if (note.where == "selective.operators")
                    text += note.text;
            return text;
        };
        QVERIFY(noted(R"({"operators": ["attention", "linear"]})", "sdpa", "bf16").empty());
        QVERIFY(noted(R"({"operators": ["bmm", "softmax"]})", "eager", "bf16").empty());
        const std::string fused = noted(R"({"operators": ["bmm", "softmax", "linear"]})", "sdpa", "bf16");
        QVERIFY2(fused.find("Of bmm and softmax no result is kept") != std::string::npos, fused.c_str());
        const std::string math = noted(R"({"operators": ["attention"]})", "sdpa", "fp32"); // grouped heads: the math kernel
        QVERIFY2(math.find("Of attention no result is kept") != std::string::npos, math.c_str());
        QVERIFY(noted(R"({"operators": ["bmm"]})", "sdpa", "fp32").empty());
    }

    /// The choice is that of one version of transformers.
    void everyNthLayerOfOlderVersionsIsNoted()
    {
        const auto noted = [](const char *version) {
            TrainingPlan plan = selectivePlan(R"({"every": 2})");
            set(plan, "runtime.transformers", version);
            const auto estimate = estimated(plan);
            return std::any_of(estimate->notes.begin(), estimate->notes.end(), [](const Note &note) { return note.where == "selective"; });
        };
        QVERIFY(!noted("5.24"));
        QVERIFY(noted("4.57"));
    }

    void whatHasNoMeaningIsRefused()
    {
        TrainingPlan plan = selectivePlan(R"({"operators": ["attention"]})");
        QCOMPARE(refusedAt(plan), std::string());
        set(plan, "attention", "eager");
        QCOMPARE(refusedAt(plan), std::string("selective.operators"));
        set(plan, "attention", "flash-attention-2"); // no operator of PyTorch's
        QCOMPARE(refusedAt(plan), std::string("selective.operators"));
        plan = selectivePlan(R"({"policy": "torchtitan"})");
        set(plan, "attention", "flash-attention-2");
        QCOMPARE(refusedAt(plan), std::string("selective"));
        plan = selectivePlan(R"({"operators": ["linear"]})");
        set(plan, "attention", "flash-attention-2");
        QCOMPARE(refusedAt(plan), std::string());
        plan = selectivePlan(R"({"operators": ["experts"]})");
        QCOMPARE(refusedAt(plan), std::string("selective.operators"));
        for (const char *keepsProducts : {R"({"operators": ["linear"]})", R"({"policy": "torchtitan"})"}) {
            plan = selectivePlan(keepsProducts);
            set(plan, "kernels", "liger");
            QCOMPARE(refusedAt(plan), std::string("selective"));
            plan = selectivePlan(keepsProducts, "qwen3"); // its norms lie between the products and the rotation
            set(plan, "kernels", "liger");
            QCOMPARE(refusedAt(plan), std::string());
        }
        plan = selectivePlan(R"({"operators": ["mlp"]})");
        plan.model.config = R"({"model_type": "gpt_oss", "hidden_size": 256, "intermediate_size": 192, "num_hidden_layers": 2,
            "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 1000, "num_local_experts": 4,
            "num_experts_per_tok": 2})";
        set(plan, "attention", "eager");
        QCOMPARE(refusedAt(plan), std::string("selective.operators"));
        plan = selectivePlan(R"({"policy": "torchtitan"})");
        set(plan, "runtime.torch", "2.3");
        QCOMPARE(refusedAt(plan), std::string("selective"));
        plan = selectivePlan(R"({"every": 2})");
        set(plan, "precision.recipe", "bf16-master");
        QCOMPARE(refusedAt(plan), std::string("checkpointing"));
        plan.selective = {};
        plan.precision.recipe = Recipe::Bf16;
        QCOMPARE(refusedAt(plan), std::string("selective"));
        plan = selectivePlan(R"({"operators": ["mlp"]})");
        plan.reentrantCheckpointing = true;
        QCOMPARE(validate(plan).front().where, std::string("reentrant_checkpointing"));
    }
};

QTEST_APPLESS_MAIN(TestSelective)
#include "test_selective.moc"
