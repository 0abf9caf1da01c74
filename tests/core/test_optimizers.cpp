// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/method_estimates.h"
#include "tests/core/tape_events.h"

#include "core/training/optimizer_state.h"

#include <QtTest>

using namespace headroom;
using namespace headroom::autograd;
using namespace headroom::test;

namespace {

/// Bytes that an optimizer keeps for one parameter after a step, not rounded, and the most that the step had besides them.
struct StepBytes {
    std::int64_t state = 0, most = 0;
};

StepBytes stepBytes(OptimizerKind kind, const Dims &sizes, DType dtype = DType::BFloat16,
                    OptimizerImplementation implementation = OptimizerImplementation::Fused)
{
    Tape tape;
    Tensor parameter = tape.empty(sizes, dtype);
    parameter->requiresGrad = true;
    Tensor gradient = tape.empty(sizes, dtype);
    parameter->grad = gradient.impl();
    ++gradient->references;
    const auto optimizer = training::makeOptimizer(tape, {kind, implementation, false});
    const std::size_t before = tape.trace().events.size();
    optimizer->step({parameter});
    StepBytes out;
    std::int64_t live = 0;
    for (std::size_t i = before; i < tape.trace().events.size(); ++i) {
        const Event event = tape.trace().events[i];
        live += (event.release ? -1 : 1) * tape.trace().storages[event.storage].bytes;
        out.most = std::max(out.most, live);
    }
    out.state = live;
    out.most -= live;
    training::zeroGrad({parameter}, ZeroGrad::ToNone);
    return out;
}

constexpr std::int64_t rows = 4096, columns = 14336, elements = rows * columns;

} // namespace

class TestOptimizers : public QObject
{
    Q_OBJECT

private slots:
    void bytesOfState()
    {
        const Dims matrix{rows, columns};
        const std::int64_t table = 256 * 4;
        // 8-bit AdamW: 2 + 2 * 4 / 256 = 2.03125 bytes a parameter, and two tables for all
        QCOMPARE(stepBytes(OptimizerKind::AdamW8bit, matrix).state, elements * 2 + 2 * 4 * (elements / 256) + 2 * table);
        QCOMPARE(2.0 + 2.0 * 4.0 / 256.0, 2.03125);
        QCOMPARE(stepBytes(OptimizerKind::Lion8bit, matrix).state, elements + 4 * (elements / 256) + table);
        // bitsandbytes' 32-bit state is fp32, whatever the parameter is
        QCOMPARE(stepBytes(OptimizerKind::Lion, matrix).state, 4 * elements);
        QCOMPARE(stepBytes(OptimizerKind::Lion, {columns}).state, 4 * columns);
        // Adafactor: a row and a column, in the gradient's dtype; all of a vector
        QCOMPARE(stepBytes(OptimizerKind::Adafactor, matrix).state, 2 * (rows + columns));
        QCOMPARE(stepBytes(OptimizerKind::Adafactor, {columns}).state, 2 * columns);
        // Muon: one momentum, for matrices alone
        QCOMPARE(stepBytes(OptimizerKind::Muon, matrix).state, 2 * elements);
        QCOMPARE(stepBytes(OptimizerKind::Muon, {columns}).state, 0);
    }

    void smallParametersHave32BitState()
    {
        QCOMPARE(stepBytes(OptimizerKind::AdamW8bit, {4095}).state, 2 * 4 * 4095);
        QCOMPARE(stepBytes(OptimizerKind::AdamW8bit, {4096}).state, 2 * 4096 + 2 * 4 * 16 + 2 * 1024);
        QCOMPARE(stepBytes(OptimizerKind::AdamW8bit, {4097}).state, 2 * 4097 + 2 * 4 * 17 + 2 * 1024);
    }

    void pagedStateIsOffTheDevice()
    {
        // the scales stay on the device, as ordinary tensors
        QCOMPARE(stepBytes(OptimizerKind::PagedAdamW8bit, {rows, columns}).state, 2 * 4 * (elements / 256) + 2 * 1024);
        QCOMPARE(stepBytes(OptimizerKind::PagedAdamW32bit, {rows, columns}).state, 0);
        QCOMPARE(stepBytes(OptimizerKind::PagedAdamW32bit, {99'999}).state, 8 * 99'999);
        QCOMPARE(training::pagedStateBytes(OptimizerKind::PagedAdamW8bit, elements), 2 * elements);
        QCOMPARE(training::pagedStateBytes(OptimizerKind::PagedAdamW32bit, elements), 8 * elements);
        QCOMPARE(training::pagedStateBytes(OptimizerKind::PagedAdamW32bit, 99'999), 0);
        QCOMPARE(training::pagedStateBytes(OptimizerKind::AdamW8bit, elements), 0);

        const auto estimate = estimateOf(R"(, "optimizer": {"kind": "paged-adamw-32bit"})");
        QVERIFY(estimate);
        const std::int64_t large = 2 * 2048 * 1024 + 4 * 1024 * 1024 + 3 * 1024 * 4096; // the norms are below the threshold
        QCOMPARE(estimate->hostSteady.value, 8 * large);
        QCOMPARE(estimate->hostPeak.value, 8 * large);
        QCOMPARE(estimate->steady.optimizer.value, 8 * 3 * 1024);
    }

    void whatAStepTakes()
    {
        const Dims matrix{rows, columns};
        QCOMPARE(stepBytes(OptimizerKind::AdamW8bit, matrix).most, 0); // kernels in place
        QCOMPARE(stepBytes(OptimizerKind::Lion, matrix).most, 0);
        // Adafactor's variance estimate is a matrix again, in the gradient's dtype
        const std::int64_t adafactor = stepBytes(OptimizerKind::Adafactor, matrix).most;
        QVERIFY(adafactor >= 2 * elements && adafactor < 2 * elements + 4 * (rows + columns) + 8);
        // Muon: the Nesterov update, two iterates, two of the shorter side squared and a third while one is made anew
        const std::int64_t muon = stepBytes(OptimizerKind::Muon, matrix).most;
        QVERIFY(muon >= 3 * 2 * elements + 2 * 2 * rows * rows && muon <= 3 * 2 * elements + 3 * 2 * rows * rows);
    }

    void muonLeavesGradientsOfVectors()
    {
        const auto muon = estimateOf(R"(, "optimizer": {"kind": "muon"})"), adam = estimateOf("");
        QVERIFY(muon && adam);
        QCOMPARE(muon->steady.gradients.value, 3 * 2 * 1024); // the norms'
        QCOMPARE(adam->steady.gradients.value, 0);
    }

    /// Parameters of one dtype are stepped together, the dtype that is met first last; a kernel's buffer for the norms of each group
    /// has as many sums for each tensor as the largest has chunks.
    void groupsOfDtypes()
    {
        Tape tape;
        std::vector<Tensor> parameters, gradients;
        for (const auto &[size, dtype] : {std::pair{std::int64_t{70000}, DType::BFloat16}, std::pair{std::int64_t{200000}, DType::Float32},
                                          std::pair{std::int64_t{10}, DType::BFloat16}}) {
            parameters.push_back(tape.empty({size}, dtype));
            gradients.push_back(tape.empty({size}, dtype));
            parameters.back()->grad = gradients.back().impl();
            ++gradients.back()->references;
        }
        const std::vector<training::DtypeGroup> groups = training::groupsByDtype(parameters);
        QCOMPARE(groups.size(), std::size_t{2});
        QVERIFY(groups[0].dtype == DType::Float32 && groups[0].members == std::vector<std::size_t>{1});
        QVERIFY(groups[1].dtype == DType::BFloat16 && (groups[1].members == std::vector<std::size_t>{0, 2}));

        const auto births = [&](const std::vector<std::int64_t> &counts, bool buffers) {
            const std::size_t from = tapeevents::now(tape);
            training::clipGradNorm(tape, parameters, counts, buffers);
            return tapeevents::birthsSince(tape, from).mid(0, 6);
        };
        const QString norm = " aten.linalg_vector_norm.default", buffer = " aten._foreach_norm.Scalar (kernel buffer)";
        QCOMPARE(births({1, 1, 1}, false),
                 (QStringList{"+4" + norm, "+2" + norm, "+2" + norm, "+12 aten.stack.default", "+4" + norm, "+4 aten.add.Tensor"}));
        QCOMPARE(births({1, 1, 5}, true), (QStringList{"+16" + buffer, "+4" + norm, "+48" + buffer, "+2" + norm, "+2" + norm,
                                                       "+28 aten.stack.default"})); // 4 chunks of 1, 2 chunks of 6
        training::zeroGrad(parameters, ZeroGrad::ToNone);
    }

    void layersRepeatWithEach_data()
    {
        QTest::addColumn<QString>("kind");
        for (const char *kind : {"adafactor", "lion", "muon", "adamw-8bit", "lion-8bit", "paged-adamw-8bit", "paged-adamw-32bit"})
            QTest::newRow(kind) << kind;
    }
    void layersRepeatWithEach()
    {
        QFETCH(const QString, kind);
        const std::string name = kind.toStdString();
        for (const char *method : {"full", "lora"})
            QVERIFY2(layersRepeat(
                         fmt::format(R"(, "optimizer": {{"kind": "{}"}}, "method": {{"kind": "{}"}}, "batch": {{"sequence_length": 64}})",
                                     name, method),
                         smallLlama, 9),
                     method);
    }
};

QTEST_APPLESS_MAIN(TestOptimizers)
#include "test_optimizers.moc"
