// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/method_estimates.h"

#include <QtTest>

using namespace headroom;
using namespace headroom::autograd;
using namespace headroom::test;

namespace {

constexpr std::int64_t hidden = 1024, words = 2048, tokens = 4096;

/// Storages as large as some tokens' logits, in the loss of the first step.
std::int64_t largestLogits(const Estimate &estimate)
{
    std::int64_t rows = 0;
    for (const StorageRecord &s : estimate.record->trace().storages) {
        const Dims shape = s.shape;
        if (s.phase == TracePhase::Loss && shape.rank() >= 2 && shape.back() == words)
            rows = std::max(rows, shape.elements() / words);
    }
    return rows;
}

} // namespace

class TestLosses : public QObject
{
    Q_OBJECT

private slots:
    void logitsOfAChunkAreAllThatExists()
    {
        const auto whole = estimateOf(""), chunked = estimateOf(R"(, "loss": "chunked")"),
                   fused = estimateOf(R"(, "loss": "fused-linear")");
        QVERIFY(whole && chunked && fused);
        QCOMPARE(largestLogits(*whole), tokens);
        QCOMPARE(largestLogits(*chunked), tokens / 8);
        QCOMPARE(largestLogits(*fused), tokens / 2); // as many chunks as the vocabulary is wider than the hidden state, 2
        QVERIFY(chunked->peak.allocated < whole->peak.allocated);
        QVERIFY(fused->peak.allocated < whole->peak.allocated);
    }

    void savedIsTheGradientOfTheHiddenStates()
    {
        const auto whole = estimateOf(""), chunked = estimateOf(R"(, "loss": "chunked")"),
                   fused = estimateOf(R"(, "loss": "fused-linear")");
        QVERIFY(whole && chunked && fused);
        QCOMPARE(fused->savedActivations.value, chunked->savedActivations.value);
        // instead of the log-probabilities, the hidden states that entered the head, the shifted labels and a scalar
        const std::int64_t gradient = 2 * tokens * hidden;
        QCOMPARE(whole->savedActivations.value - fused->savedActivations.value,
                 4 * tokens * words + 2 * tokens * hidden + 8 * (tokens + 1) / 512 * 512 + 512 + 512 - gradient);
    }

    void frozenHeadHasNoGradient()
    {
        const auto fused = estimateOf(R"(, "loss": "fused-linear", "method": {"kind": "lora"})");
        QVERIFY(fused);
        const auto headGradient = [](const StorageRecord &s) {
            return s.phase == TracePhase::Loss && std::string_view(s.op) == "aten.zeros_like.default" &&
                   Dims(s.shape) == Dims{words, hidden};
        };
        QCOMPARE(countOf(*fused, headGradient), 0);
        const auto full = estimateOf(R"(, "loss": "fused-linear")");
        QVERIFY(full);
        QCOMPARE(countOf(*full, headGradient), 3);
    }

    void olderGpusAddTheHeadsGradientOutOfPlace()
    {
        const char *plan = R"(, "loss": "fused-linear", "precision": {{"recipe": "fp16"}}, "gpus": ["{}"])";
        const auto turing = estimateOf(fmt::format(fmt::runtime(plan), "nvidia-tesla-t4-16gb"));
        const auto ampere = estimateOf(fmt::format(fmt::runtime(plan), "nvidia-a100-sxm4-80gb"));
        QVERIFY(turing && ampere);
        QVERIFY(turing->phases[static_cast<std::size_t>(Phase::Loss)].allocated >
                ampere->phases[static_cast<std::size_t>(Phase::Loss)].allocated);
    }

    void whatIsRefused()
    {
        QVERIFY(!estimateOf(R"(, "loss": "chunked", "batch": {"sequence_length": 100})")); // no multiple of 8
        QVERIFY(!estimateOf(R"(, "loss": "fused-linear", "method": {"kind": "lora", "targets": ["lm_head"]})"));
        QVERIFY(!estimateOf(R"(, "loss": "chunked", "method": {"kind": "lora", "targets": ["lm_head"]})"));
        QVERIFY(estimateOf(R"(, "loss": "chunked", "method": {"kind": "lora", "targets": ["lm_head", "q_proj"]})"));
    }
};

QTEST_APPLESS_MAIN(TestLosses)
#include "test_losses.moc"
