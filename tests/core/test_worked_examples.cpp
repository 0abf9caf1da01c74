// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/tape_events.h"

#include "core/estimate/step_record.h"
#include "core/plan/fields.h"
#include "core/plan/plan_json.h"
#include "core/training/optimizer.h"

#include <QtTest>

using namespace tapeevents;
using training::Optimizer;

// The examples that introductions to training memory give, produced by the engine: parameters on a tape, a backward, an
// optimizer's step; or a whole estimate. Bytes are raw unless said otherwise. ZeRO's example is tested
// with DeepSpeed, the linear term of a 7B model's activations in test_korthikanti.

namespace {

/// Raw bytes alive, by role.
struct RoleBytes {
    std::int64_t parameters = 0, gradients = 0, optimizer = 0, other = 0;
    std::int64_t total() const { return parameters + gradients + optimizer + other; }
};

RoleBytes alive(const Tape &tape)
{
    const auto &storages = tape.trace().storages;
    std::vector<bool> isAlive(storages.size());
    for (const Event event : tape.trace().events)
        isAlive[event.storage] = !event.release;
    RoleBytes out;
    for (std::size_t i = 0; i < storages.size(); ++i) {
        if (!isAlive[i])
            continue;
        switch (storages[i].role) {
        case Role::Parameter: out.parameters += storages[i].bytes; break;
        case Role::Gradient: out.gradients += storages[i].bytes; break;
        case Role::OptimizerState: out.optimizer += storages[i].bytes; break;
        default: out.other += storages[i].bytes; break;
        }
    }
    return out;
}

/// Parameters in matrices of `columns` x (count / columns), with the roles that a model's have.
class Model
{
public:
    Model(Tape &tape, std::int64_t count, std::int64_t matrices, DType dtype, bool trainable = true)
        : m_tape(tape)
    {
        constexpr std::int64_t columns = 10;
        for (std::int64_t i = 0; i < matrices; ++i) {
            m_parameters.push_back(leaf(tape, {count / matrices / columns, columns}, trainable, dtype));
            tape.setRole(m_parameters.back(), Role::Parameter);
        }
    }

    /// A backward that gives every parameter its gradient; nothing else of it stays.
    void backward()
    {
        for (const Tensor &weight : m_parameters) {
            const Tensor input = m_tape.empty({1, weight.size(1)}, weight.dtype());
            m_tape.backward(linear(input, weight));
        }
    }

    const std::vector<Tensor> &parameters() const { return m_parameters; }

private:
    Tape &m_tape;
    std::vector<Tensor> m_parameters;
};

std::unique_ptr<Optimizer> optimizerOf(Tape &tape, OptimizerKind kind,
                                       OptimizerImplementation implementation = OptimizerImplementation::Fused)
{
    return training::makeOptimizer(tape, {kind, implementation, false});
}

/// fp32 copies of 16-bit parameters, which the optimizer updates instead (mixed precision as in the ZeRO paper, section 3.1).
std::vector<Tensor> masterCopies(Tape &tape, const std::vector<Tensor> &parameters)
{
    Tape::NoGrad noGrad(tape);
    std::vector<Tensor> masters;
    for (const Tensor &parameter : parameters) {
        masters.push_back(to(parameter, DType::Float32));
        tape.setRole(masters.back(), Role::OptimizerState);
    }
    return masters;
}

std::int64_t sumOf(const Tape &tape, const std::vector<Tensor> &tensors)
{
    std::int64_t sum = 0;
    for (const Tensor &t : tensors)
        sum += tape.trace().storages[t->storage].bytes;
    return sum;
}

TrainingPlan planOf(const char *json)
{
    Result<TrainingPlan> plan = readPlan(json);
    if (!plan)
        qFatal("%s", toString(plan.issue()).c_str());
    return *std::move(plan);
}

std::shared_ptr<const Estimate> estimated(const TrainingPlan &plan)
{
    auto result = estimate(plan);
    if (!result)
        qFatal("%s", toString(result.issue()).c_str());
    return *std::move(result);
}

constexpr std::int64_t billion = 1'000'000'000;

} // namespace

class TestWorkedExamples : public QObject
{
    Q_OBJECT

private slots:
    /// Mixed precision with Adam, 7e9 parameters: 14 GB weights, 14 GB gradients, 28 GB master copy, 56 GB moments: 112 GB.
    void sevenBillionInMixedPrecision()
    {
        Tape tape;
        Model model(tape, 7 * billion, 70, DType::BFloat16);
        model.backward();
        const std::vector<Tensor> masters = masterCopies(tape, model.parameters());
        const auto adam = optimizerOf(tape, OptimizerKind::AdamW, OptimizerImplementation::Foreach);
        adam->step(masters);
        const RoleBytes bytes = alive(tape);
        const std::int64_t masterBytes = sumOf(tape, masters);
        QCOMPARE(bytes.parameters, 14 * billion);
        QCOMPARE(bytes.gradients, 14 * billion);
        QCOMPARE(masterBytes, 28 * billion);
        QCOMPARE(bytes.optimizer - masterBytes, 56 * billion);
        QCOMPARE(bytes.total(), 112 * billion);
        QCOMPARE(formatBytes({bytes.total()}, ByteUnit::Decimal, 0), std::string("112 GB"));
    }

    /// Plain fp32: the same 16 bytes a parameter, 4 + 4 + 8.
    void sevenBillionInFp32()
    {
        Tape tape;
        Model model(tape, 7 * billion, 70, DType::Float32);
        model.backward();
        const auto adam = optimizerOf(tape, OptimizerKind::AdamW, OptimizerImplementation::Foreach);
        adam->step(model.parameters());
        const RoleBytes bytes = alive(tape);
        QCOMPARE(bytes.parameters, 28 * billion);
        QCOMPARE(bytes.gradients, 28 * billion);
        QCOMPARE(bytes.optimizer, 56 * billion);
        QCOMPARE(bytes.total(), 7 * billion * 16);
    }

    /// A 0.6e9-parameter model: 1.2 GB in 16 bit, 2.4 GB in fp32. Qwen3-0.6B has 596 million.
    void weightsOfASmallModel()
    {
        for (const auto &[dtype, bytes] : {std::pair{DType::BFloat16, 1'200'000'000LL}, std::pair{DType::Float32, 2'400'000'000LL}}) {
            Tape tape;
            const Model model(tape, 600'000'000, 6, dtype);
            QCOMPARE(alive(tape).total(), std::int64_t{bytes});
        }
        for (const auto &[recipe, text] : {std::pair{"bf16", "1.2 GB"}, std::pair{"fp32", "2.4 GB"}}) {
            TrainingPlan plan = planOf(R"({"headroom_plan": 1, "model": {"preset": "Qwen/Qwen3-0.6B"}, "batch": {"sequence_length": 64}})");
            QVERIFY(!assign(plan, "precision.recipe", recipe));
            QCOMPARE(formatBytes(estimated(plan)->steady.weights, ByteUnit::Decimal, 1), std::string(text));
        }
    }

    /// 1e9 parameters at 16 bytes: 16 GB, which are 14.90 GiB.
    void oneBillionIsSixteenGigabytes()
    {
        Tape tape;
        Model model(tape, billion, 10, DType::BFloat16);
        model.backward();
        const std::vector<Tensor> masters = masterCopies(tape, model.parameters());
        const auto adam = optimizerOf(tape, OptimizerKind::Adam, OptimizerImplementation::ForLoop);
        adam->step(masters);
        const Bytes total{alive(tape).total()};
        QCOMPARE(total.value, 16 * billion);
        QCOMPARE(formatBytes(total, ByteUnit::Decimal), std::string("16.00 GB"));
        QCOMPARE(formatBytes(total, ByteUnit::Binary), std::string("14.90 GiB"));
    }

    /// 1e9 frozen 16-bit parameters and 1e7 adapter parameters at 2 / 2 / 4 / 8 bytes: 2.16 GB.
    void frozenBaseWithAdapters()
    {
        Tape tape;
        const Model base(tape, billion, 10, DType::BFloat16, false);
        Model adapters(tape, 10'000'000, 20, DType::BFloat16);
        adapters.backward();
        const std::vector<Tensor> masters = masterCopies(tape, adapters.parameters());
        const auto adam = optimizerOf(tape, OptimizerKind::AdamW, OptimizerImplementation::Foreach);
        adam->step(masters);
        const RoleBytes bytes = alive(tape);
        QCOMPARE(bytes.parameters, 2 * billion + 20'000'000);
        QCOMPARE(bytes.gradients, std::int64_t{20'000'000});
        QCOMPARE(sumOf(tape, masters), std::int64_t{40'000'000});
        QCOMPARE(bytes.optimizer, std::int64_t{120'000'000});
        QCOMPARE(bytes.total(), std::int64_t{2'160'000'000});
        for (const Tensor &frozen : base.parameters())
            QVERIFY(frozen->grad == nullptr);
    }

    /// 100 fp32 parameters after the optimizer's first step: AdamW 804 bytes (two moments, a 4-byte step), SGD none, with
    /// momentum 400. Before it: none, state is made lazily.
    void stateOfAHundredParameters_data()
    {
        QTest::addColumn<int>("kind");
        QTest::addColumn<int>("implementation");
        QTest::addColumn<qint64>("bytes");
        QTest::newRow("AdamW, fused") << int(OptimizerKind::AdamW) << int(OptimizerImplementation::Fused) << qint64{804};
        QTest::newRow("Adam, fused") << int(OptimizerKind::Adam) << int(OptimizerImplementation::Fused) << qint64{804};
        QTest::newRow("AdamW, foreach: the step is on the host")
            << int(OptimizerKind::AdamW) << int(OptimizerImplementation::Foreach) << qint64{800};
        QTest::newRow("AdamW, for-loop") << int(OptimizerKind::AdamW) << int(OptimizerImplementation::ForLoop) << qint64{800};
        QTest::newRow("SGD") << int(OptimizerKind::Sgd) << int(OptimizerImplementation::Fused) << qint64{0};
        QTest::newRow("SGD with momentum") << int(OptimizerKind::SgdMomentum) << int(OptimizerImplementation::Fused) << qint64{400};
    }
    void stateOfAHundredParameters()
    {
        QFETCH(const int, kind);
        QFETCH(const int, implementation);
        QFETCH(const qint64, bytes);
        Tape tape;
        Model model(tape, 100, 1, DType::Float32);
        const auto optimizer = optimizerOf(tape, OptimizerKind(kind), OptimizerImplementation(implementation));
        QCOMPARE(alive(tape).optimizer, std::int64_t{0});
        for (int step = 0; step < 3; ++step) {
            model.backward();
            optimizer->step(model.parameters());
            QCOMPARE(alive(tape).optimizer, bytes);
            QCOMPARE(alive(tape).gradients, std::int64_t{400});
            training::zeroGrad(model.parameters(), ZeroGrad::ToNone);
            QCOMPARE(alive(tape).gradients, std::int64_t{0});
        }
    }

    /// What the caching allocator makes of it: every tensor is a block of 512 bytes at least.
    void stateOfAHundredParametersInBlocks()
    {
        Tape tape;
        Model model(tape, 100, 1, DType::Float32);
        model.backward();
        optimizerOf(tape, OptimizerKind::AdamW)->step(model.parameters());
        const Replay replayed = replay(tape.trace(), {}, 0);
        std::int64_t state = 0;
        for (std::size_t i = 0; i < tape.trace().storages.size(); ++i)
            if (tape.trace().storages[i].role == Role::OptimizerState)
                state += replayed.blockBytes[i];
        QCOMPARE(state, std::int64_t{3 * 512});
    }

    /// Hidden states of (2, 2048, 1024) in 16 bit: 8 MiB, x2 with twice the sequence. Scores of (2, 16, 2048, 2048): 256 MiB, x4.
    void hiddenStatesAndScores()
    {
        const auto bytes = [](const Dims &sizes) {
            Tape tape;
            const Tensor t = tape.empty(sizes, DType::BFloat16);
            return liveBytes(tape);
        };
        QCOMPARE(bytes({2, 2048, 1024}), mib(8).value);
        QCOMPARE(bytes({2, 16, 2048, 2048}), mib(256).value);
        QCOMPARE(bytes({2, 4096, 1024}), 2 * mib(8).value);
        QCOMPARE(bytes({2, 16, 4096, 4096}), 4 * mib(256).value);
    }

    /// The same two, in a step of a model of that width with eager attention.
    void hiddenStatesAndScoresOfAModel()
    {
        TrainingPlan plan =
            planOf(R"({"headroom_plan": 1, "attention": "eager", "runtime": {"allocator": "rounded", "cublas_workspace_bytes": 0},
            "batch": {"micro_batch": 2, "sequence_length": 2048},
            "model": {"config": {"model_type": "llama", "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 2, "num_attention_heads": 16,
                                 "num_key_value_heads": 16, "head_dim": 64, "vocab_size": 1000}}})");
        std::int64_t hidden[2] = {}, scores[2] = {};
        for (const int i : {0, 1}) {
            plan.batch.sequenceLength = 2048 << i;
            const auto result = estimated(plan);
            const std::int64_t s = plan.batch.sequenceLength;
            for (const StorageId id : result->record->savedStorages()) {
                const StorageRecord &storage = result->record->trace().storages[id];
                if (storage.dtype == DType::BFloat16 && Dims(storage.shape) == Dims{2, s, 1024})
                    hidden[i] = storage.bytes;
                if (storage.dtype == DType::BFloat16 && Dims(storage.shape) == Dims{2, 16, s, s})
                    scores[i] = storage.bytes;
            }
        }
        QCOMPARE(hidden[0], mib(8).value);
        QCOMPARE(scores[0], mib(256).value);
        QCOMPARE(hidden[1], 2 * hidden[0]);
        QCOMPARE(scores[1], 4 * scores[0]);
    }

    /// Gradient accumulation: four micro-batches of 16 need the activations of 16, not of 64.
    void accumulationNeedsTheActivationsOfOneMicroBatch()
    {
        TrainingPlan plan =
            planOf(R"({"headroom_plan": 1, "model": {"preset": "Qwen/Qwen3-0.6B"}, "batch": {"micro_batch": 16, "sequence_length": 256}})");
        const auto once = estimated(plan);
        plan.batch.gradientAccumulation = 4;
        const auto accumulated = estimated(plan);
        plan.batch.gradientAccumulation = 1;
        plan.batch.microBatch = 64;
        const auto large = estimated(plan);
        // The loss divided by four is one more scalar.
        QVERIFY(accumulated->savedActivations - once->savedActivations <= Bytes{1024});
        QCOMPARE(accumulated->steady.allocated, once->steady.allocated);
        QVERIFY(large->savedActivations.value > 3.9 * static_cast<double>(once->savedActivations.value));
    }

    /// The table of recipes: bytes a parameter of AdamW as dtypes, of which the estimates above are made.
    void recipesComeToTheirBytes_data()
    {
        QTest::addColumn<QString>("recipe");
        QTest::addColumn<int>("bytes");
        QTest::newRow("fp32") << "fp32" << 16;
        QTest::newRow("bf16") << "bf16" << 8;
        QTest::newRow("fp16") << "fp16" << 8;
        QTest::newRow("bf16-autocast") << "bf16-autocast" << 16;
        QTest::newRow("fp16-autocast") << "fp16-autocast" << 16;
        QTest::newRow("bf16-master") << "bf16-master" << 16;
        QTest::newRow("fp16-master") << "fp16-master" << 16;
    }
    void recipesComeToTheirBytes()
    {
        QFETCH(const QString, recipe);
        QFETCH(const int, bytes);
        TrainingPlan plan;
        QVERIFY(!assign(plan, "precision.recipe", recipe.toStdString()));
        const ResolvedPrecision resolved = resolvePrecision(plan.precision);
        const auto size = [](std::optional<DType> dtype, DType otherwise) { return elementSize(dtype.value_or(otherwise)); };
        const std::int64_t sum = elementSize(resolved.weights) + size(resolved.gradients, resolved.weights) +
                                 (resolved.master ? elementSize(*resolved.master) : 0) + 2 * size(resolved.moments, resolved.weights);
        QCOMPARE(sum, std::int64_t{bytes});
    }
};

QTEST_APPLESS_MAIN(TestWorkedExamples)
#include "test_worked_examples.moc"
