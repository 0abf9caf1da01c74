// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The newest plan wins: older ones are cancelled or never begun, their results never shown, and nobody waits for them.
#include "ui/document/estimate_runner.h"
#include "window_fixture.h"

#include <QSemaphore>
#include <QSignalSpy>
#include <QTest>

#include <atomic>
#include <mutex>
#include <stdexcept>

using namespace headroom;

namespace {

TrainingPlan planOfLength(std::int64_t length)
{
    TrainingPlan plan;
    plan.batch.sequenceLength = length;
    return plan;
}

/// An engine that waits to be let go on, plan by plan, and notes which plans it was given.
struct SlowEngine {
    QSemaphore begun, letGo;
    std::mutex mutex;
    std::vector<std::int64_t> lengths;
    std::atomic<int> cancelled = 0;

    EstimateRunner::Function function()
    {
        return [this](const TrainingPlan &plan, std::stop_token cancel) -> EstimateRunner::Outcome {
            {
                const std::scoped_lock lock(mutex);
                lengths.push_back(plan.batch.sequenceLength);
            }
            begun.release();
            letGo.acquire();
            if (cancel.stop_requested()) {
                ++cancelled;
                return Issue{{}, 0, {}, "cancelled", {}};
            }
            return std::shared_ptr<const Estimate>(test::foreseeableEstimate(plan));
        };
    }
};

} // namespace

class TestEstimateRunner : public QObject
{
    Q_OBJECT
private slots:
    void givesTheResult();
    void theNewestPlanWins();
    void aResultThatCameTooLateIsDropped();
    void issuesAndExceptionsAreReported();
    void endsWhileWorkIsWaiting();
};

void TestEstimateRunner::givesTheResult()
{
    EstimateRunner runner(test::foreseeable());
    QSignalSpy finished(&runner, &EstimateRunner::finished);
    QSignalSpy busy(&runner, &EstimateRunner::busyChanged);
    QVERIFY(!runner.isBusy());
    runner.request(planOfLength(512));
    QVERIFY(runner.isBusy());
    QVERIFY(finished.wait());
    QCOMPARE(runner.latest()->plan.batch.sequenceLength, 512);
    QVERIFY(!runner.isBusy());
    QCOMPARE(busy.count(), 2);
    QCOMPARE(busy.at(0).at(0).toBool(), true);
    QCOMPARE(busy.at(1).at(0).toBool(), false);
}

void TestEstimateRunner::theNewestPlanWins()
{
    SlowEngine engine;
    EstimateRunner runner(engine.function());
    QSignalSpy finished(&runner, &EstimateRunner::finished);
    QSignalSpy failed(&runner, &EstimateRunner::failed);
    runner.request(planOfLength(1));
    engine.begun.acquire();
    for (std::int64_t length = 2; length <= 40; ++length)
        runner.request(planOfLength(length)); // no call waits for the engine
    engine.letGo.release(2);
    QVERIFY(finished.wait());
    QCOMPARE(finished.count(), 1);
    QCOMPARE(failed.count(), 0);
    QCOMPARE(runner.latest()->plan.batch.sequenceLength, 40);
    QCOMPARE(engine.lengths, (std::vector<std::int64_t>{1, 40}));
    QCOMPARE(engine.cancelled.load(), 1);
}

void TestEstimateRunner::aResultThatCameTooLateIsDropped()
{
    // An engine that ignores the cancellation: its result is there, but of a plan that nobody has any more.
    QSemaphore begun, letGo;
    EstimateRunner runner([&](const TrainingPlan &plan, std::stop_token) -> EstimateRunner::Outcome {
        begun.release();
        letGo.acquire();
        return std::shared_ptr<const Estimate>(test::foreseeableEstimate(plan));
    });
    std::vector<std::int64_t> shown;
    connect(&runner, &EstimateRunner::finished, this,
            [&](const std::shared_ptr<const Estimate> &estimate) { shown.push_back(estimate->plan.batch.sequenceLength); });
    runner.request(planOfLength(1));
    begun.acquire();
    letGo.release();
    // Its answer is queued or about to be when the plan changes.
    runner.request(planOfLength(2));
    begun.acquire();
    letGo.release();
    QTRY_VERIFY(!runner.isBusy());
    QCOMPARE(shown, std::vector<std::int64_t>{2});
}

void TestEstimateRunner::issuesAndExceptionsAreReported()
{
    bool throws = false;
    EstimateRunner runner([&](const TrainingPlan &, std::stop_token) -> EstimateRunner::Outcome {
        if (throws)
            throw std::runtime_error("broken");
        return Issue{{}, 0, "batch", "too large", "make it smaller"};
    });
    QSignalSpy failed(&runner, &EstimateRunner::failed);
    runner.request(planOfLength(1));
    QVERIFY(failed.wait());
    QCOMPARE(failed.at(0).at(0).value<Issue>().where, std::string("batch"));
    QVERIFY(!runner.latest());
    throws = true;
    runner.request(planOfLength(1));
    QVERIFY(failed.wait());
    QVERIFY(failed.at(1).at(0).value<Issue>().what.find("broken") != std::string::npos);
}

void TestEstimateRunner::endsWhileWorkIsWaiting()
{
    SlowEngine engine;
    {
        EstimateRunner runner(engine.function());
        runner.request(planOfLength(1));
        engine.begun.acquire();
        runner.request(planOfLength(2));
        engine.letGo.release();
    }
    // What ran was cancelled, what waited was never begun.
    QCOMPARE(engine.lengths, std::vector<std::int64_t>{1});
    QCOMPARE(engine.cancelled.load(), 1);
}

QTEST_GUILESS_MAIN(TestEstimateRunner)
#include "test_estimate_runner.moc"
