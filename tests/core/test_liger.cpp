// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/rules.h"
#include "tests/core/method_estimates.h"

#include <QtTest>

#include <algorithm>

using namespace headroom;
using namespace headroom::autograd;
using namespace headroom::test;

namespace {

constexpr std::int64_t hidden = 1024, inner = 4096, tokens = 4096, norms = 3, tracedSteps = 3;

/// A model of one layer and the type given.
std::string configOf(std::string_view type, std::string_view more = {})
{
    return fmt::format(R"({{"model_type": "{}", "hidden_size": 256, "intermediate_size": 704, "num_hidden_layers": 1,
        "num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 1000, "pad_token_id": 0{}}})",
                       type, more);
}

bool inBackward(const StorageRecord &s) { return s.phase == TracePhase::Backward && !s.recomputed; }

/// The rows in which the gradient of a norm's weight is summed up.
Condition gradientRows(std::int64_t multiprocessors)
{
    return [multiprocessors](const StorageRecord &s) {
        return inBackward(s) && s.dtype == DType::Float32 && Dims(s.shape) == Dims{multiprocessors, hidden};
    };
}

/// Gradients of a norm's input that are not written over those of its output.
bool ownGradient(const StorageRecord &s)
{
    return inBackward(s) && contains(s.module, "norm") && std::string_view(s.op) == "aten.zeros_like.default";
}

} // namespace

/// Liger's kernels keep what their Python says (Liger-Kernel 0.8.5): less than the operators that they stand for.
class TestLiger : public QObject
{
    Q_OBJECT

private slots:
    void keepsInputsOfNormsAndBothHalvesOfTheMlp()
    {
        const auto eager = estimateOf(""), liger = estimateOf(R"(, "kernels": "liger")");
        QVERIFY(eager && liger);
        // A norm in operators keeps an fp32 copy of its input and the normalised values; the kernel keeps its input. The MLP
        // in operators keeps the activation's result too.
        QCOMPARE(eager->savedActivations.value - liger->savedActivations.value, norms * (4 + 2 - 2) * tokens * hidden + 2 * tokens * inner);
        QVERIFY(liger->peak.allocated < eager->peak.allocated);
    }

    void aRowOfAWeightsGradientForEachMultiprocessor()
    {
        const auto ampere = estimateOf(R"(, "kernels": "liger", "gpus": ["nvidia-a100-sxm4-80gb"])");
        const auto hopper = estimateOf(R"(, "kernels": "liger", "gpus": ["nvidia-h100-sxm5-80gb"])");
        QVERIFY(ampere && hopper);
        QCOMPARE(countOf(*ampere, gradientRows(108)), norms * tracedSteps);
        QCOMPARE(countOf(*hopper, gradientRows(132)), norms * tracedSteps);
        QCOMPARE(countOf(*hopper, gradientRows(108)), 0);
    }

    void frozenNormsHaveNoRows()
    {
        const auto lora = estimateOf(R"(, "kernels": "liger", "method": {"kind": "lora"})");
        QVERIFY(lora);
        QCOMPARE(countOf(*lora, gradientRows(108)), 0);
    }

    void normsBesideAResidualDoNotWriteOverItsGradient_data()
    {
        QTest::addColumn<QString>("type");
        QTest::addColumn<int>("own"); // norms of a layer and the last whose gradient has a tensor of its own
        QTest::newRow("llama") << "llama" << 0;
        QTest::newRow("gemma") << "gemma" << 0;
        QTest::newRow("olmo2: those of the layers") << "olmo2" << 2;
        QTest::newRow("glm4: all five") << "glm4" << 5;
        QTest::newRow("gemma3: all five, and two over the heads") << "gemma3_text" << 7;
    }
    void normsBesideAResidualDoNotWriteOverItsGradient()
    {
        QFETCH(const QString, type);
        QFETCH(const int, own);
        const auto liger = estimateOf(R"(, "kernels": "liger")", configOf(type.toStdString(), R"(, "head_dim": 32)"));
        QVERIFY(liger);
        QCOMPARE(countOf(*liger, ownGradient), own * tracedSteps);
    }

    void onlyAJoinedProjectionIsCopiedToBeRotated()
    {
        const auto copies = [](std::string_view type) {
            const auto liger = estimateOf(R"(, "kernels": "liger")", configOf(type));
            return liger ? countOf(*liger,
                                   [](const StorageRecord &s) {
                                       return s.phase == TracePhase::Forward && std::string_view(s.module) == "self_attn" &&
                                              std::string_view(s.op) == "aten.clone.default";
                                   })
                         : -1;
        };
        QCOMPARE(copies("llama"), 0);
        QCOMPARE(copies("phi3"), 2 * tracedSteps); // query and key
    }

    void expertsKeepWhatGoesIntoTheActivation()
    {
        const std::string config = configOf("mixtral", R"(, "num_local_experts": 4, "num_experts_per_tok": 2)");
        const auto eager = estimateOf("", config), liger = estimateOf(R"(, "kernels": "liger")", config);
        QVERIFY(eager && liger);
        const Dims rows{tokens * 2, 2 * 704};
        const auto gateAndUp = [&](const StorageRecord &s) { return s.phase == TracePhase::Forward && Dims(s.shape) == rows; };
        QCOMPARE(countOf(*liger, gateAndUp), tracedSteps);
        QVERIFY(liger->savedActivations < eager->savedActivations);
    }

    void layersRepeat()
    {
        QVERIFY(test::layersRepeat(R"(, "kernels": "liger", "loss": "fused-linear")", configOf("qwen3"), 12));
        QVERIFY(test::layersRepeat(R"(, "kernels": "liger", "checkpointing": "full")", configOf("olmo2"), 12));
        // With frozen norms the last layer makes the gradient of the residual stream that all others add to in place.
        QVERIFY(test::layersRepeat(R"(, "kernels": "liger", "method": {"kind": "lora"})", configOf("llama"), 12));
        QVERIFY(test::layersRepeat(R"(, "kernels": "liger", "method": {"kind": "lora"}, "checkpointing": "full")", configOf("qwen2"), 12));
    }

    void everyStorageHasARuleOfLigers()
    {
        const auto liger = estimateOf(R"(, "kernels": "liger", "loss": "fused-linear")");
        QVERIFY(liger);
        for (const StorageRecord &s : liger->record->trace().storages) {
            if (s.phase != TracePhase::Forward || (!contains(s.module, "layernorm") && std::string_view(s.module) != "mlp"))
                continue;
            const TensorRule rule = ruleFor(s, Component::Activations);
            QVERIFY2(contains(rule.source, "Liger-Kernel 0.8.5"), rule.label);
        }
    }

    void saysWhichLiger()
    {
        const auto eager = estimateOf(""), liger = estimateOf(R"(, "kernels": "liger")");
        QVERIFY(eager && liger);
        const auto told = [](const Estimate &estimate) {
            return std::any_of(estimate.notes.begin(), estimate.notes.end(),
                               [](const Note &note) { return note.where == "kernels" && contains(note.text, "Liger-Kernel 0.8.5"); });
        };
        QVERIFY(told(*liger));
        QVERIFY(!told(*eager));
    }

    void whatIsRefused_data()
    {
        QTest::addColumn<QString>("fields");
        QTest::addColumn<QString>("config");
        const QString kernels = R"(, "kernels": "liger")", loss = R"(, "loss": "fused-linear")";
        const auto config = [](std::string_view type, std::string_view more = {}) { return QString::fromStdString(configOf(type, more)); };
        QTest::newRow("no patch") << kernels << config("glm");
        QTest::newRow("no patch, with experts") << kernels << config("qwen2_moe");
        QTest::newRow("no patch for the loss either") << loss << config("glm");
        QTest::newRow("Granite scales its logits") << loss << config("granite");
        QTest::newRow("a layer without experts") << kernels << config("qwen3_moe", R"(, "mlp_only_layers": [0])");
    }
    void whatIsRefused()
    {
        QFETCH(const QString, fields);
        QFETCH(const QString, config);
        QVERIFY(!estimateOf(fields.toStdString(), config.toStdString()));
        QVERIFY(estimateOf("", config.toStdString()));
    }
};

QTEST_APPLESS_MAIN(TestLiger)
#include "test_liger.moc"
