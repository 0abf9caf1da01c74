// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/method_estimates.h"

#include "core/estimate/rules.h"

#include <QtTest>

using namespace headroom;
using namespace headroom::autograd;
using namespace headroom::test;

namespace {

/// Eight experts, of which a token takes three: 100 tokens give 300 rows, 37 or 38 for each.
constexpr std::string_view smallMixtral =
    R"({"model_type": "mixtral", "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 1, "num_attention_heads": 4,
        "num_key_value_heads": 2, "vocab_size": 1024, "num_local_experts": 8, "num_experts_per_tok": 3, "tie_word_embeddings": false})";
constexpr std::string_view smallQwen3Moe =
    R"({"model_type": "qwen3_moe", "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 1, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 1024, "num_experts": 8, "num_experts_per_tok": 2,
        "moe_intermediate_size": 128, "tie_word_embeddings": false})";

std::shared_ptr<const Estimate> under(std::string_view version, std::string_view fields, std::string_view config = smallMixtral)
{
    return estimateOf(fields, config, version);
}

bool notesBalance(const Estimate &estimate, std::string_view text)
{
    return std::any_of(estimate.notes.begin(), estimate.notes.end(), [text](const Note &note) { return contains(note.text, text); });
}

bool isExpertsFirst(const StorageRecord &s) { return std::string_view(s.module) == "block_sparse_moe.experts.w1"; }

} // namespace

/// Routed experts as modules, as transformers 4 has them. Their allocations are test_traces'; here is what traces do not show.
class TestExperts : public QObject
{
    Q_OBJECT

private slots:
    /// Only some families' experts are known as modules of their own.
    void newerFamiliesNeedTransformers5()
    {
        TrainingPlan plan;
        plan.model = {};
        plan.model.preset.clear();
        plan.model.config = R"({"model_type": "granitemoe", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
            "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 100, "num_local_experts": 4})";
        plan.batch.sequenceLength = 64;
        const auto newest = estimate(plan);
        QVERIFY2(newest.ok(), newest ? "" : toString(newest.issue()).c_str());
        plan.runtime.transformers = "4.57";
        QCOMPARE(estimate(plan).issue().where, std::string("runtime.transformers"));
    }

    void routingIsBalanced()
    {
        const auto result = under("4.51", R"(, "batch": {"micro_batch": 1, "sequence_length": 100})");
        QVERIFY(result);
        const auto runsExpert = [](const StorageRecord &s) { return isExpertsFirst(s) && s.phase == TracePhase::Forward; };
        const auto shareOfRows = [&](const StorageRecord &s) { return runsExpert(s) && (s.bytes == 37 * 1024 || s.bytes == 38 * 1024); };
        QCOMPARE(countOf(*result, runsExpert), 3 * 8); // in each of three steps
        QCOMPARE(countOf(*result, shareOfRows), 3 * 8);
        QCOMPARE(bytesOf(*result, runsExpert), 3 * 300 * 1024);
        QVERIFY(notesBalance(*result, "3 of every 8 tokens go to each expert"));
    }

    void parametersAreTheSameInBothForms()
    {
        const auto before = under("4.57", ""), after = under("5.24", "");
        QVERIFY(before && after);
        QCOMPARE(before->parametersTotal, after->parametersTotal);
        QVERIFY(!notesBalance(*after, "balanced")); // one product over all rows, however they are routed
    }

    void adaptersOnExperts()
    {
        const auto mixtral = under("4.57", R"(, "method": {"kind": "lora", "rank": 8, "targets": ["w1", "w2"]})");
        QVERIFY(mixtral);
        QCOMPARE(mixtral->parametersTrainable, 8 * 2 * 8 * (256 + 512));
        // "all-linear" takes the router too: its rows and columns, the experts' three projections, those of attention
        const auto qwen = under("4.57", R"(, "method": {"kind": "lora", "rank": 8, "targets": "all-linear"})", smallQwen3Moe);
        QVERIFY(qwen);
        const std::int64_t attention = (256 + 256) + 2 * (256 + 128) + (256 + 256);
        QCOMPARE(qwen->parametersTrainable, 8 * (attention + (256 + 8) + 8 * 3 * (256 + 128)));
        QVERIFY(!under("5.24", R"(, "method": {"kind": "lora", "rank": 8, "targets": ["w1"]})"));
        // where gate and up are one tensor, their joint update has twice the rank
        const auto joined = under("5.24", R"(, "method": {"kind": "lora", "rank": 8, "targets": "all-linear"})", smallQwen3Moe);
        QVERIFY(joined);
        QCOMPARE(joined->parametersTrainable, 8 * (attention + (256 + 8) + 8 * (2 * (256 + 2 * 128) + (128 + 256))));
        QVERIFY(!under("5.24", R"(, "method": {"kind": "lora", "rank": 8, "dropout": 0.1, "targets": "all-linear"})", smallQwen3Moe));
        QVERIFY(!under("5.24", R"(, "method": {"kind": "lora", "rank": 8, "targets": ["q_proj", "up_proj"]})", smallQwen3Moe));
        QVERIFY(under("5.24", R"(, "method": {"kind": "lora", "rank": 8, "dropout": 0.1, "targets": ["q_proj"]})", smallQwen3Moe));
    }

    void ligerIsRefused()
    {
        QVERIFY(under("5.24", R"(, "kernels": "liger")"));
        QVERIFY(!under("4.57", R"(, "kernels": "liger")"));
    }

    void quantisedExperts()
    {
        const auto of = [](std::string_view version, std::string_view kind) {
            return under(version, fmt::format(R"(, "method": {{"kind": "qlora", "quantization": "{}", "targets": ["q_proj"]}},
                                                      "precision": {{"recipe": "fp16"}})",
                                              kind));
        };
        const auto isRouter = [](const StorageRecord &s) {
            return s.role == Role::Parameter && std::string_view(s.module) == "block_sparse_moe.gate" && s.dtype == DType::Float16;
        };
        const auto gptq = of("4.57", "gptq-int4"), nf4 = of("4.57", "nf4");
        QVERIFY(gptq);
        QVERIFY(nf4);
        QCOMPARE(countOf(*gptq, isRouter), 1); // left as it is
        QCOMPARE(countOf(*nf4, isRouter), 0);
        QVERIFY(!of("5.24", "gptq-int4"));
        QVERIFY(of("5.24", "nf4")); // one tensor, which bitsandbytes leaves as it is
    }

    void layersRepeat()
    {
        for (const char *version : {"4.51", "4.52"})
            for (const char *more : {"", R"(, "checkpointing": "full")", R"(, "method": {"kind": "lora", "targets": ["q_proj", "w3"]})",
                                     R"(, "precision": {"recipe": "bf16-autocast"})"})
                QVERIFY2(test::layersRepeat(
                             fmt::format(R"(, "runtime": {{"transformers": "{}"}}, "batch": {{"sequence_length": 64}}{})", version, more),
                             smallMixtral, 9),
                         more);
    }

    void rowsNameTheirRule()
    {
        const auto result = under("4.57", R"(, "attention": "flash-attention-2", "batch": {"sequence_length": 128})");
        QVERIFY(result);
        std::string rules;
        for (const StorageRecord &s : result->record->trace().storages)
            rules += std::string(ruleFor(s, s.role == Role::Parameter ? Component::Weights : Component::Temporary).rule) + "\n";
        for (const char *text : {"which expert a token goes to", "each expert's rows are added in place", "Which tokens go to the expert",
                                 "added into zeros of all tokens' size", "compute the rows of its tokens"})
            QVERIFY2(contains(rules, text), text);
    }
};

QTEST_APPLESS_MAIN(TestExperts)
#include "test_experts.moc"
