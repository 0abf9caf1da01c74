// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What runs ends and is shown, what waits is replaced by what is newer, and nobody waits long for what is old.
#include "ui/document/estimate_runner.h"
#include "window_fixture.h"

#include <QSemaphore>
#include <QSignalSpy>
#include <QTest>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>

using namespace headroom;

namespace {

TrainingPlan planOfLength(std::int64_t length)
{
    TrainingPlan plan;
    plan.batch.sequenceLength = length;
    return plan;
}

/// On a busy machine nothing may be cancelled by the clock where a test counts what is shown.
constexpr std::chrono::hours endlessPatience(1);

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
            while (!letGo.tryAcquire(1, 1) && !cancel.stop_requested())
                continue;
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
    /// The lengths of the plans whose results came, as they come.
    const std::vector<std::int64_t> &resultsOf(EstimateRunner &runner)
    {
        m_shown.clear();
        connect(&runner, &EstimateRunner::finished, this,
                [this](const std::shared_ptr<const Estimate> &estimate) { m_shown.push_back(estimate->plan.batch.sequenceLength); });
        return m_shown;
    }
    std::vector<std::int64_t> m_shown;

private slots:
    void givesTheResult();
    void whatWaitsIsReplaced();
    void everyResultOfADragIsShown();
    void whatKeepsOthersWaitingIsCancelled();
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

void TestEstimateRunner::whatWaitsIsReplaced()
{
    SlowEngine engine;
    EstimateRunner runner(engine.function(), nullptr, endlessPatience);
    QSignalSpy failed(&runner, &EstimateRunner::failed);
    const std::vector<std::int64_t> &shown = resultsOf(runner);
    runner.request(planOfLength(1));
    engine.begun.acquire();
    for (std::int64_t length = 2; length <= 40; ++length)
        runner.request(planOfLength(length)); // no call waits for the engine
    engine.letGo.release(2);
    QTRY_VERIFY(!runner.isBusy());
    QCOMPARE(shown, (std::vector<std::int64_t>{1, 40}));
    QCOMPARE(failed.count(), 0);
    QCOMPARE(engine.lengths, (std::vector<std::int64_t>{1, 40}));
}

void TestEstimateRunner::everyResultOfADragIsShown()
{
    // A slider that moves twice while each estimate runs: the picture follows, in order, and ends with the newest.
    SlowEngine engine;
    EstimateRunner runner(engine.function(), nullptr, endlessPatience);
    const std::vector<std::int64_t> &shown = resultsOf(runner);
    runner.request(planOfLength(1));
    for (std::int64_t length = 3; length <= 21; length += 2) {
        engine.begun.acquire();
        runner.request(planOfLength(length - 1));
        runner.request(planOfLength(length));
        engine.letGo.release();
        QTRY_COMPARE(shown.size(), static_cast<std::size_t>(length / 2));
        QVERIFY(runner.isBusy());
    }
    engine.letGo.release();
    QTRY_VERIFY(!runner.isBusy());
    QCOMPARE(shown, (std::vector<std::int64_t>{1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21}));
    QCOMPARE(engine.cancelled.load(), 0);
}

void TestEstimateRunner::whatKeepsOthersWaitingIsCancelled()
{
    // The first plan's estimate would never end.
    std::atomic<int> cancelled = 0;
    std::atomic<bool> begun = false;
    EstimateRunner runner(
        [&](const TrainingPlan &plan, std::stop_token cancel) -> EstimateRunner::Outcome {
            begun = true;
            while (plan.batch.sequenceLength == 1) {
                if (cancel.stop_requested()) {
                    ++cancelled;
                    return Issue{{}, 0, {}, "cancelled", {}};
                }
                std::this_thread::yield();
            }
            return std::shared_ptr<const Estimate>(test::foreseeableEstimate(plan));
        },
        nullptr, std::chrono::milliseconds(5));
    QSignalSpy failed(&runner, &EstimateRunner::failed);
    const std::vector<std::int64_t> &shown = resultsOf(runner);
    runner.request(planOfLength(1));
    QTRY_VERIFY(begun);
    runner.request(planOfLength(2));
    QTRY_VERIFY(!runner.isBusy());
    QCOMPARE(shown, std::vector<std::int64_t>{2});
    QCOMPARE(failed.count(), 0);
    runner.request(planOfLength(1));
    QTest::qWait(20); // nothing waits for it: it may take its time
    QVERIFY(runner.isBusy());
    QCOMPARE(cancelled.load(), 1);
    runner.request(planOfLength(3));
    QTRY_VERIFY(!runner.isBusy());
    QCOMPARE(cancelled.load(), 2);
    QCOMPARE(shown, (std::vector<std::int64_t>{2, 3}));
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
    }
    // What ran was cancelled, what waited was never begun.
    QCOMPARE(engine.lengths, std::vector<std::int64_t>{1});
    QCOMPARE(engine.cancelled.load(), 1);
}

QTEST_GUILESS_MAIN(TestEstimateRunner)
#include "test_estimate_runner.moc"
