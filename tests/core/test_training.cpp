// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/plan_spread.h"
#include "tests/core/trace_difference.h"

#include "core/training/step.h"

#include <QtTest>

#include <fmt/format.h>

#include <map>

using namespace headroom;
using namespace headroom::autograd;
using namespace headroom::tracedifference;
using planspread::addRows;
using planspread::NamedPlan;
using training::Repeat;
using training::TrainingRun;

namespace {

TrainingRun runOf(const TrainingPlan &plan, int steps, Repeat repeat, std::int64_t workspace = 0)
{
    const Result<ModelConfig> model = resolveModel(plan);
    if (!model)
        qFatal("%s", toString(model.issue()).c_str());
    return training::run(plan, *model, steps, workspace, {}, repeat);
}

/// The plan as it is executed for an estimate: of more than two micro-batches two stand for all.
TrainingPlan withTwoMicroBatches(TrainingPlan plan)
{
    plan.batch.gradientAccumulation = std::min<std::int64_t>(plan.batch.gradientAccumulation, 2);
    return plan;
}

TrainingPlan withLayers(TrainingPlan plan, int layers)
{
    const std::string key = "\"num_hidden_layers\": ";
    const std::size_t at = plan.model.config.find(key) + key.size();
    plan.model.config.replace(at, 1, std::to_string(layers));
    return plan;
}

struct Range {
    std::uint32_t from = 0, to = 0;
};

/// The events of a micro-batch of a step: its forward, loss and backward.
Range microBatch(const Trace &trace, int step, int micro)
{
    Range range;
    bool inside = false;
    for (const Mark &mark : trace.marks) {
        const bool here = mark.step == step && mark.microBatch == micro &&
                          (mark.phase == TracePhase::Forward || mark.phase == TracePhase::Loss || mark.phase == TracePhase::Backward);
        if (here && !inside)
            range.from = mark.event;
        if (!here && inside)
            range.to = mark.event;
        inside = here;
    }
    return range;
}

/// All that a step allocates.
Range stepOf(const Trace &trace, int step)
{
    Range range{UINT32_MAX, static_cast<std::uint32_t>(trace.events.size())};
    for (const Mark &mark : trace.marks) {
        if (mark.step == step && range.from == UINT32_MAX && mark.phase == TracePhase::Forward)
            range.from = mark.event;
        if (mark.step == step + 1 && mark.phase == TracePhase::Forward) {
            range.to = mark.event;
            break;
        }
    }
    return range;
}

/// Two stretches of one trace allocate and release the same in the same order, each birth and its release paired alike.
std::string stretchDifference(const Trace &trace, Range a, Range b)
{
    std::map<StorageId, StorageId> partner;
    for (std::uint32_t i = 0; i < std::min(a.to - a.from, b.to - b.from); ++i) {
        const Event x = trace.events[a.from + i], y = trace.events[b.from + i];
        const bool known = partner.count(x.storage) != 0;
        if (!x.release)
            partner[x.storage] = y.storage;
        // a storage from before the stretch is released by neither or is of the same kind in both
        const bool paired = !x.release || !known || partner[x.storage] == y.storage;
        if (x.release != y.release || !paired || !equalRecords(trace.storages[x.storage], trace.storages[y.storage]))
            return fmt::format("event {} of the stretch: {} and {}", i, describe(trace, x), describe(trace, y));
    }
    return a.to - a.from == b.to - b.from ? std::string() : fmt::format("{} and {} events", a.to - a.from, b.to - b.from);
}

} // namespace

/// The loop: what it repeats, and that copying a step gives what executing it gives.
class TestTraining : public QObject
{
    Q_OBJECT

private:
    std::vector<NamedPlan> m_plans;

private slots:
    void initTestCase()
    {
        m_plans = planspread::spread();
        const auto add = [&](const char *name, TrainingPlan plan, std::string_view path, std::string_view value) {
            planspread::set(plan, path, value);
            m_plans.push_back({name, plan});
        };
        TrainingPlan lora = planspread::smallPlan();
        planspread::set(lora, "method.kind", "lora");
        add("o_proj", lora, "method.targets", R"(["o_proj"])");
        add("tied-for-loop", planspread::smallPlan("qwen2", R"(, "tie_word_embeddings": true)"), "optimizer.implementation", "for-loop");
        QVERIFY(m_plans.size() > 180);
    }

    /// The third step may be copied from the second: executing it gives the same trace, event by event.
    void copiedStepsAreExecutedSteps_data() { addRows(m_plans); }
    void copiedStepsAreExecutedSteps()
    {
        QFETCH(const int, index);
        const TrainingPlan &plan = m_plans[static_cast<std::size_t>(index)].plan;
        const TrainingRun copied = runOf(plan, 3, Repeat::Copy), executed = runOf(withTwoMicroBatches(plan), 3, Repeat::Execute);
        const std::string difference = firstDifference(copied.trace, executed.trace);
        QVERIFY2(difference.empty(), difference.c_str());
        QCOMPARE(copied.steps, 3);
    }

    /// Layers in the middle may be copies of one: executing all gives the same trace, event by event.
    void copiedLayersAreExecutedLayers_data() { addRows(m_plans); }
    void copiedLayersAreExecutedLayers()
    {
        QFETCH(const int, index);
        // Where o_proj alone is adapted, the second layer's first step is not yet the third's.
        const int fewest = m_plans[static_cast<std::size_t>(index)].name == "o_proj" ? 6 : 4;
        for (const int layers : {4, 5, 7, 11}) {
            const TrainingPlan plan = withLayers(m_plans[static_cast<std::size_t>(index)].plan, layers);
            const TrainingRun copied = runOf(plan, 3, Repeat::Copy, workspaceBytes),
                              executed = runOf(withTwoMicroBatches(plan), 3, Repeat::Execute, workspaceBytes);
            QCOMPARE(copied.executedGroups, layers > fewest ? fewest : 0);
            const std::string difference = firstDifference(copied.trace, executed.trace);
            QVERIFY2(difference.empty(), difference.c_str());
            QCOMPARE(copied.parametersTotal, executed.parametersTotal);
            QCOMPARE(copied.parametersTrainable, executed.parametersTrainable);
        }
    }

    /// Two identical steps give identical traces: the fourth is the third.
    void stepsRepeat_data() { addRows(m_plans); }
    void stepsRepeat()
    {
        QFETCH(const int, index);
        const TrainingRun run = runOf(m_plans[static_cast<std::size_t>(index)].plan, 4, Repeat::Execute);
        for (const int step : {1, 2}) {
            const std::string difference = stretchDifference(run.trace, stepOf(run.trace, step), stepOf(run.trace, step + 1));
            QVERIFY2(difference.empty(), difference.c_str());
        }
    }

    void runsRepeat()
    {
        const TrainingPlan plan = planspread::smallPlan();
        const std::string difference = firstDifference(runOf(plan, 3, Repeat::Copy).trace, runOf(plan, 3, Repeat::Copy).trace);
        QVERIFY2(difference.empty(), difference.c_str());
    }

    /// From the second micro-batch on each allocates the same, so that two stand for any number.
    void microBatchesRepeat_data()
    {
        QTest::addColumn<QString>("method");
        QTest::addColumn<QString>("checkpointing");
        QTest::addColumn<bool>("held");
        for (const char *method : {"full", "lora"})
            for (const char *checkpointing : {"none", "full"})
                for (const bool held : {false, true})
                    QTest::addRow("%s, checkpointing %s%s", method, checkpointing, held ? ", outputs held" : "")
                        << method << checkpointing << held;
    }
    void microBatchesRepeat()
    {
        QFETCH(const QString, method);
        QFETCH(const QString, checkpointing);
        QFETCH(const bool, held);
        TrainingPlan plan = planspread::smallPlan("qwen2", R"(, "tie_word_embeddings": true)");
        planspread::set(plan, "method.kind", method.toStdString());
        planspread::set(plan, "checkpointing", checkpointing.toStdString());
        planspread::set(plan, "batch.gradient_accumulation", "3");
        planspread::set(plan, "loop.outputs_held", held ? "true" : "false");
        const Trace trace = runOf(plan, 2, Repeat::Execute).trace;
        for (const int step : {0, 1}) {
            const Range second = microBatch(trace, step, 1), third = microBatch(trace, step, 2);
            QVERIFY(second.to > second.from + 100);
            const std::string difference = stretchDifference(trace, second, third);
            QVERIFY2(difference.empty(), difference.c_str());
        }
    }

    /// Of any number of micro-batches an estimate executes two: the second stands for all that follow.
    void manyMicroBatchesAreTwo()
    {
        TrainingPlan plan = planspread::smallPlan();
        planspread::set(plan, "batch.gradient_accumulation", "2");
        const Trace two = runOf(plan, 3, Repeat::Copy).trace;
        planspread::set(plan, "batch.gradient_accumulation", "1000");
        const std::string difference = firstDifference(two, runOf(plan, 3, Repeat::Copy).trace);
        QVERIFY2(difference.empty(), difference.c_str());
    }

    /// Every storage is born once, released at most once, after its birth; what never dies is steady state.
    void everyAllocationIsReleasedOrLivesOn_data() { addRows(m_plans); }
    void everyAllocationIsReleasedOrLivesOn()
    {
        QFETCH(const int, index);
        const TrainingPlan &plan = m_plans[static_cast<std::size_t>(index)].plan;
        const Trace trace = runOf(plan, 3, Repeat::Execute).trace;
        std::vector<int> state(trace.storages.size()); // 0: not born, 1: alive, 2: dead
        for (const Event event : trace.events) {
            int &s = state[event.storage];
            QCOMPARE(s, event.release ? 1 : 0);
            ++s;
        }
        for (std::size_t i = 0; i < state.size(); ++i) {
            QVERIFY(state[i] != 0);
            const Role role = trace.storages[i].role;
            const bool kept = role == Role::Parameter || role == Role::OptimizerState || role == Role::Input ||
                              (role == Role::Gradient && plan.loop.zeroGrad == ZeroGrad::Zeros);
            if (state[i] == 1 && !kept)
                QFAIL(fmt::format("{} is never released", describe(trace, {static_cast<StorageId>(i), 0})).c_str());
            if (state[i] == 2 && (role == Role::Parameter || role == Role::OptimizerState || role == Role::Input) &&
                trace.storages[i].phase != TracePhase::Load)
                QFAIL(fmt::format("{} is released", describe(trace, {static_cast<StorageId>(i), 0})).c_str());
        }
    }

    /// Optimizer state is made at the first step and not again.
    void optimizerStateIsMadeOnce()
    {
        const Trace trace = runOf(planspread::smallPlan(), 3, Repeat::Execute).trace;
        const Range first = stepOf(trace, 0);
        std::size_t states = 0;
        for (std::uint32_t i = 0; i < trace.events.size(); ++i)
            if (!trace.events[i].release && trace.storages[trace.events[i].storage].role == Role::OptimizerState) {
                QVERIFY(i >= first.from && i < first.to);
                ++states;
            }
        QVERIFY(states > 0);
        QCOMPARE(states % 3, std::size_t{0}); // step, exp_avg, exp_avg_sq
    }

    void requestedCancellationEndsTheRun()
    {
        std::stop_source source;
        source.request_stop();
        const TrainingPlan plan = planspread::smallPlan();
        QVERIFY_THROWS_EXCEPTION(Cancelled, training::run(plan, *resolveModel(plan), 3, 0, source.get_token()));
        const Trace trace = training::run(plan, *resolveModel(plan), 1, 0).trace;
        QVERIFY_THROWS_EXCEPTION(Cancelled, replay(trace, {}, 0, source.get_token()));
    }
};

QTEST_APPLESS_MAIN(TestTraining)
#include "test_training.moc"
