// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/method_estimates.h"

#include "core/estimate/rules.h"
#include "core/network/quantized_weight.h"

#include <QtTest>

using namespace headroom;
using namespace headroom::autograd;
using namespace headroom::test;
using network::fusedGemm4bit;
using network::GpuProperties;

namespace {

constexpr GpuProperties a100{108, 8, 0}, h100{132, 9, 0}, t4{40, 7, 5}, rtx3090{82, 8, 6}, rtx4090{128, 8, 9}, rtx5090{170, 12, 0},
    b200{148, 10, 0};

/// Bytes of all that quantising one weight of [out, in] leaves behind.
std::int64_t storedBytes(Quantization kind, std::int64_t out, std::int64_t in)
{
    Tape tape;
    network::Quantizer quantizer(tape, kind, DType::BFloat16, DType::BFloat16, a100);
    const auto weight = quantizer.quantize({out, in});
    std::int64_t sum = 0;
    for (const Tensor *t : {&weight->codes, &weight->absmax, &weight->table, &weight->offset, &weight->nestedAbsmax, &weight->nestedTable,
                            &weight->zeros, &weight->scales, &weight->groups})
        if (*t)
            sum += t->sizes().elements() * elementSize(t->dtype());
    return sum;
}

bool isDequantized(const StorageRecord &s) { return contains(s.op, "dequantize_4bit"); }

} // namespace

class TestQuantization : public QObject
{
    Q_OBJECT

private slots:
    void bitsOfAWeight()
    {
        const std::int64_t n = 4096 * 14336;
        const std::int64_t table = 16 * 4, nestedTable = 256 * 4, mean = 4;
        // NF4: 4 bits and one fp32 scale for 64 weights: 4.5 bits
        QCOMPARE(storedBytes(Quantization::Nf4, 14336, 4096), n / 2 + 4 * (n / 64) + table);
        QCOMPARE(storedBytes(Quantization::Fp4, 14336, 4096), n / 2 + 4 * (n / 64) + table);
        // double quantisation: an 8-bit scale for 64 weights, an fp32 scale for 256 of those: 4.127 bits
        const std::int64_t nested = n / 2 + n / 64 + 4 * (n / (64 * 256));
        QCOMPARE(static_cast<double>(nested) * 8 / static_cast<double>(n), 4.126953125);
        QCOMPARE(storedBytes(Quantization::Nf4Double, 14336, 4096), nested + table + nestedTable + mean);
        // LLM.int8(): one byte, and one fp32 scale for each output
        QCOMPARE(storedBytes(Quantization::Int8, 14336, 4096), n + 4 * 14336);
        // GPTQ: a 16-bit scale and a 4-bit zero point for 128 weights, the group of each input in an int32: 4.156 bits and those
        const std::int64_t gptq = n / 2 + (n / 128) * 5 / 2;
        QCOMPARE(static_cast<double>(gptq) * 8 / static_cast<double>(n), 4.15625);
        QCOMPARE(storedBytes(Quantization::GptqInt4, 14336, 4096), gptq + 4 * 4096);
        // a last group that is not full has a scale too
        QCOMPARE(storedBytes(Quantization::GptqInt4, 64, 160), 64 * 160 / 2 + 2 * (2 * 64 + 64 / 2) + 4 * 160);
    }

    void quantisedOneAfterTheOther()
    {
        // a weight exists whole only until it is quantised
        Tape tape;
        network::Quantizer quantizer(tape, Quantization::Nf4, DType::BFloat16, DType::BFloat16, a100);
        const auto first = quantizer.quantize({1024, 1024});
        const auto second = quantizer.quantize({1024, 1024});
        std::int64_t live = 0, highest = 0;
        for (const Event event : tape.trace().events) {
            live += (event.release ? -1 : 1) * tape.trace().storages[event.storage].bytes;
            highest = std::max(highest, live);
        }
        const std::int64_t n = 1024 * 1024, stored = n / 2 + 4 * (n / 64) + 64;
        QCOMPARE(live, 2 * stored);
        QVERIFY(highest >= 2 * stored + 2 * n && highest < 2 * stored + 2 * n + 512);
    }

    void fusedKernel_data()
    {
        QTest::addColumn<GpuProperties>("gpu");
        QTest::addColumn<DType>("dtype");
        QTest::addColumn<int>("out");
        QTest::addColumn<int>("in");
        QTest::addColumn<int>("most"); // the fused kernel is chosen up to so many tokens
        const DType bf16 = DType::BFloat16;
        QTest::newRow("A100, up projection of an 8B") << a100 << bf16 << 14336 << 4096 << 64;
        QTest::newRow("A100, down projection of an 8B") << a100 << bf16 << 4096 << 14336 << 5;
        QTest::newRow("A100, square of an 8B") << a100 << bf16 << 4096 << 4096 << 5;
        QTest::newRow("A100, small and short") << a100 << bf16 << 1408 << 512 << 1536;
        QTest::newRow("A100, small and square") << a100 << bf16 << 512 << 512 << 32;
        QTest::newRow("H100, up projection of an 8B") << h100 << bf16 << 14336 << 4096 << 32;
        QTest::newRow("H100, very wide") << h100 << bf16 << 28672 << 8192 << 64;
        QTest::newRow("T4 in fp16, up projection") << t4 << DType::Float16 << 14336 << 4096 << 128;
        QTest::newRow("T4 in bf16") << t4 << bf16 << 14336 << 4096 << 7;
        QTest::newRow("RTX 3090, up projection") << rtx3090 << bf16 << 14336 << 4096 << 128;
        QTest::newRow("RTX 4090, up projection") << rtx4090 << bf16 << 14336 << 4096 << 128;
        QTest::newRow("RTX 4090, down projection") << rtx4090 << bf16 << 4096 << 14336 << 64;
        QTest::newRow("RTX 5090, up projection") << rtx5090 << bf16 << 14336 << 4096 << 64;
        QTest::newRow("B200, up projection") << b200 << bf16 << 14336 << 4096 << 8;
        QTest::newRow("fp32 has no tensor-core kernel") << a100 << DType::Float32 << 14336 << 4096 << 7;
        QTest::newRow("inputs no multiple of 64") << a100 << bf16 << 4096 << 1000 << 0;
    }
    void fusedKernel()
    {
        QFETCH(const GpuProperties, gpu);
        QFETCH(const DType, dtype);
        QFETCH(const int, out);
        QFETCH(const int, in);
        QFETCH(const int, most);
        QCOMPARE(fusedGemm4bit(gpu, dtype, std::max(most, 1), out, in), most > 0);
        QVERIFY(!fusedGemm4bit(gpu, dtype, std::max(most, 4) + 1, out, in));
        QVERIFY(!fusedGemm4bit(gpu, dtype, 1537, out, in));
    }

    void dequantisedInBackwardAlways()
    {
        const auto few = estimateOf(R"(, "method": {"kind": "qlora"}, "batch": {"sequence_length": 4})");
        const auto many = estimateOf(R"(, "method": {"kind": "qlora"}, "batch": {"sequence_length": 2048})");
        QVERIFY(few && many);
        const auto in = [](TracePhase phase) { return [phase](const StorageRecord &s) { return isDequantized(s) && s.phase == phase; }; };
        QCOMPARE(countOf(*few, in(TracePhase::Forward)), 0);
        QCOMPARE(countOf(*many, in(TracePhase::Forward)), 3 * 7); // three steps, seven projections
        // the first layer's q, k, v get a gradient for their input only through their adapters' inputs, which need none
        QCOMPARE(countOf(*few, in(TracePhase::Backward)), 3 * 4);
        QCOMPARE(countOf(*many, in(TracePhase::Backward)), 3 * 4);
    }

    void gptqComesFromTheCheckpoint()
    {
        Tape tape;
        network::Quantizer quantizer(tape, Quantization::GptqInt4, DType::Float16, DType::Float16, a100);
        quantizer.quantize({1024, 1024});
        for (const StorageRecord &s : tape.trace().storages) // no weight in 16 bits, not for an instant
            QVERIFY(s.bytes <= 1024 * 1024 / 2);
    }

    void gptqKeepsOrMakesWeightsAgain()
    {
        const char *plan =
            R"(, "method": {"kind": "qlora", "quantization": "gptq-int4"}, "precision": {"recipe": "fp16"}, "batch": {"sequence_length": 64})";
        const auto made = [](TracePhase phase) {
            return [phase](const StorageRecord &s) { return contains(s.op, "gptq.dequant") && s.phase == phase && !s.recomputed; };
        };
        const auto saved = [](const Estimate &e) { return e.savedActivations.value; };
        const auto before = estimateOf(plan, smallLlama, "4.51"), after = estimateOf(plan, smallLlama, "5.24");
        QVERIFY(before && after);
        // AutoGPTQ: in backward again, but for q, k and v of the first layer, whose input needs no gradient
        QCOMPARE(countOf(*before, made(TracePhase::Forward)), 3 * 7);
        QCOMPARE(countOf(*before, made(TracePhase::Backward)), 3 * 4);
        // GPTQModel: kept from forward, those four
        QCOMPARE(countOf(*after, made(TracePhase::Forward)), 3 * 7);
        QCOMPARE(countOf(*after, made(TracePhase::Backward)), 0);
        QCOMPARE(saved(*after) - saved(*before), std::int64_t{2} * (1024 * 1024 + 3 * 1024 * 4096));
    }

    void gptqRefusesWhatItsLibrariesRefuse()
    {
        const auto issue = [](std::string_view method, std::string_view more, std::string_view config = smallLlama) {
            const Result<TrainingPlan> plan = readPlan(fmt::format(
                R"({{"headroom_plan": 1, "model": {{"config": {}}}, "method": {{"kind": "qlora", "quantization": "gptq-int4"{}}}{}}})",
                config, method, more));
            const auto result = plan ? estimate(*plan) : plan.issue();
            return result ? std::string() : result.issue().where;
        };
        QCOMPARE(issue("", ""), std::string());
        QCOMPARE(issue(R"(, "dora": true)", ""), std::string("method.dora"));
        QCOMPARE(issue("", R"(, "runtime": {"transformers": "4.57"})"), std::string("precision.weights")); // bf16
        QCOMPARE(issue("", R"(, "runtime": {"transformers": "4.57"}, "precision": {"recipe": "fp16"})"), std::string());
        std::string odd(smallLlama);
        odd.replace(odd.find("4096"), 4, "4100");
        QCOMPARE(issue("", "", odd), std::string("method.quantization"));
    }

    void int8KeepsInputsUnderCheckpointing()
    {
        const char *plan =
            R"(, "method": {{"kind": "qlora", "quantization": "{}"}}, "checkpointing": "full", "batch": {{"sequence_length": 256}})";
        const auto eight = estimateOf(fmt::format(fmt::runtime(plan), "int8")), four = estimateOf(fmt::format(fmt::runtime(plan), "nf4"));
        QVERIFY(eight && four);
        // MatMul8bitLt holds its input in its ctx, which saved-tensor hooks do not see: fp32 after k-bit preparation; q, k and v
        // share theirs, gate and up theirs
        const std::int64_t tokens = 256, inputs = tokens * 4 * (1024 + 1024 + 1024 + 4096);
        QCOMPARE(eight->savedActivations.value - four->savedActivations.value, inputs);
    }

    void preparationUpcastsWhatIsNotQuantised()
    {
        const auto prepared = estimateOf(R"(, "method": {"kind": "qlora"})");
        const auto plain = estimateOf(R"(, "method": {"kind": "qlora", "kbit_preparation": false})");
        QVERIFY(prepared && plain);
        const std::int64_t upcast = 2 * 2048 * 1024 + 3 * 1024; // embedding, head, three norms
        QCOMPARE(prepared->steady.weights.value - plain->steady.weights.value, 2 * upcast);
        QCOMPARE(prepared->record->trace().cacheReleases.size(), std::size_t{1});
        QVERIFY(plain->record->trace().cacheReleases.empty());
    }

    void parametersCountAsTheyWere()
    {
        const auto lora = estimateOf(R"(, "method": {"kind": "lora"})");
        for (const char *kind : {"nf4", "nf4-double", "fp4", "int8", "gptq-int4"}) {
            const auto quantised = estimateOf(fmt::format(R"(, "method": {{"kind": "qlora", "quantization": "{}"}})", kind));
            QVERIFY(lora && quantised);
            QCOMPARE(quantised->parametersTotal, lora->parametersTotal);
            QCOMPARE(quantised->parametersTrainable, lora->parametersTrainable);
            QVERIFY(quantised->steady.weights.value < lora->steady.weights.value);
        }
    }

    void eachGpuRunsItsOwnKernels()
    {
        const char *plan = R"(, "method": {{"kind": "qlora"}}, "batch": {{"sequence_length": 100}}, "gpus": [{}])";
        const char *first = "\"nvidia-a100-sxm4-80gb\"", *second = "\"nvidia-rtx-4090-24gb\"";
        const auto both = estimateOf(fmt::format(fmt::runtime(plan), fmt::format("{}, {}", first, second)));
        const auto alone = estimateOf(fmt::format(fmt::runtime(plan), second)), other = estimateOf(fmt::format(fmt::runtime(plan), first));
        QVERIFY(both && alone && other);
        QCOMPARE(both->gpus.size(), std::size_t{2});
        QCOMPARE(both->peak.allocated, other->peak.allocated);
        QCOMPARE(both->gpus[1].allocated, alone->gpus[0].allocated);
        QCOMPARE(both->gpus[1].reserved, alone->gpus[0].reserved);
        const auto forward = [](const StorageRecord &s) { return isDequantized(s) && s.phase == TracePhase::Forward; };
        QVERIFY(countOf(*alone, forward) != countOf(*other, forward));
    }

    void layersOfAllKindsRepeat()
    {
        const char *plan = R"(, "method": {{"kind": "qlora", "quantization": "{}"}}, "batch": {{"sequence_length": 64}}{})";
        for (const char *kind : {"nf4", "nf4-double", "int8", "gptq-int4"})
            for (const char *more : {"", R"(, "precision": {"recipe": "bf16", "autocast": "bfloat16"})"})
                QVERIFY2(layersRepeat(fmt::format(fmt::runtime(plan), kind, more), smallLlama, 9), kind);
        QVERIFY(layersRepeat(fmt::format(fmt::runtime(plan), "nf4-double", R"(, "checkpointing": "full")"), smallLlama, 9));
    }

    void rowsOfGptq()
    {
        const auto estimate = estimateOf(R"(, "method": {"kind": "qlora", "quantization": "gptq-int4"}, "batch": {"sequence_length": 64})");
        QVERIFY(estimate);
        std::string rules;
        for (const StorageRecord &s : estimate->record->trace().storages)
            rules += std::string(ruleFor(s, s.role == Role::Parameter ? Component::Weights : Component::Activations).rule) + "\n";
        for (const char *text : {"Eight weights share an int32 word", "a zero point of its own", "a 16-bit scale of its own",
                                 "which group it belongs to", "Two tables of eight int32 numbers", "GPTQModel makes it in forward"})
            QVERIFY2(contains(rules, text), text);
    }

    void rowsSayWhatAbsmaxIs()
    {
        const auto estimate = estimateOf(R"(, "method": {"kind": "qlora"}, "batch": {"sequence_length": 2048})");
        QVERIFY(estimate);
        std::string weights, dequantised;
        for (const StorageRecord &s : estimate->record->trace().storages) {
            if (s.role == Role::Parameter)
                weights += std::string(ruleFor(s, Component::Weights).rule) + "\n";
            if (isDequantized(s))
                dequantised = ruleFor(s, Component::Temporary).rule;
        }
        QVERIFY(contains(weights, "absmax"));
        QVERIFY(contains(weights, "half a byte for every weight"));
        QVERIFY(contains(weights, "PEFT's preparation casts"));
        QVERIFY(contains(dequantised, "from codes and scales"));
    }
};

QTEST_APPLESS_MAIN(TestQuantization)
#include "test_quantization.moc"
