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

/// Tensors of logits that the loss of three steps makes before backward: how many of `rows` tokens in a dtype.
std::int64_t logitsOf(const Estimate &estimate, std::int64_t rows, DType dtype)
{
    return countOf(estimate, [=](const StorageRecord &s) {
        const Dims shape = s.shape;
        return s.phase == TracePhase::Loss && shape.rank() >= 2 && shape.back() == words && shape.elements() == rows * words &&
               s.dtype == dtype && std::string_view(s.module) != "lm_head";
    });
}

constexpr std::string_view smallGpt2 = R"({"model_type": "gpt2", "n_embd": 1024, "n_layer": 1, "n_head": 16, "vocab_size": 2048})";

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

    void olderVersionsShiftLogits()
    {
        const char *batch = R"(, "batch": {"micro_batch": 2, "sequence_length": 2048})"; // one row alone would be contiguous when cut
        const std::int64_t shifted = tokens - 2;
        // from 4.49 on the labels: fp32 logits and log-probabilities of all tokens
        const auto later = estimateOf(batch, smallLlama, "4.49"), before = estimateOf(batch, smallLlama, "4.48");
        QVERIFY(later && before);
        QCOMPARE(logitsOf(*later, tokens, DType::Float32), 3 * 2);
        QCOMPARE(logitsOf(*later, shifted, DType::Float32), 0);
        // before, the logits: all but each row's last are copied, and log-probabilities are of those
        QCOMPARE(logitsOf(*before, tokens, DType::Float32), 3);
        QCOMPARE(logitsOf(*before, shifted, DType::Float32), 3 * 2);
        // up to 4.46 what the model returns is in fp32: outputs that are held are twice as large in backward
        const char *held = R"(, "loop": {"outputs_held": true}, "checkpointing": "full")";
        const auto upcast = estimateOf(held, smallLlama, "4.46"), as16bit = estimateOf(held, smallLlama, "4.47");
        QVERIFY(upcast && as16bit);
        const auto backward = [](const Estimate &e) { return e.phases[static_cast<std::size_t>(Phase::Backward)].allocated.value; };
        QCOMPARE(backward(*upcast) - backward(*as16bit), 2 * tokens * words);
    }

    void olderGpt2DoesNotUpcast()
    {
        const std::string batch = R"(, "batch": {"micro_batch": 2, "sequence_length": 2048})";
        const std::int64_t shifted = tokens - 2;
        const auto plain = estimateOf(batch, smallGpt2, "4.48"), later = estimateOf(batch, smallGpt2, "4.49");
        const auto autocast = estimateOf(batch + R"(, "precision": {"recipe": "bf16-autocast"})", smallGpt2, "4.48");
        QVERIFY(plain && later && autocast);
        QCOMPARE(logitsOf(*plain, tokens, DType::Float32) + logitsOf(*plain, shifted, DType::Float32), 0);
        QCOMPARE(logitsOf(*plain, shifted, DType::BFloat16), 3 * 2); // the copy, the log-probabilities
        QCOMPARE(logitsOf(*later, tokens, DType::Float32), 3 * 2);
        // cross_entropy_loss names their dtype, so that autocast leaves log-probabilities in it; nll_loss gets them in fp32
        QCOMPARE(logitsOf(*autocast, shifted, DType::BFloat16), 3 * 2);
        QCOMPARE(logitsOf(*autocast, shifted, DType::Float32), 3);
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
