// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/estimate_runner.h"

#include <exception>
#include <utility>

namespace headroom {

EstimateRunner::EstimateRunner(Function function, QObject *parent)
    : QObject(parent)
    , m_function(std::move(function))
    , m_thread([this](std::stop_token quit) { work(std::move(quit)); })
{
    Q_ASSERT(m_function);
}

EstimateRunner::~EstimateRunner()
{
    {
        const std::scoped_lock lock(m_mutex);
        m_waiting.reset();
        m_running.request_stop();
    }
    m_thread.request_stop();
    m_thread.join();
}

void EstimateRunner::request(const TrainingPlan &plan)
{
    const bool wasBusy = isBusy();
    ++m_requested;
    {
        const std::scoped_lock lock(m_mutex);
        m_waiting = Job{m_requested, plan, {}};
        m_running.request_stop();
    }
    m_wake.notify_one();
    if (!wasBusy)
        emit busyChanged(true);
}

void EstimateRunner::work(std::stop_token quit)
{
    for (;;) {
        std::optional<Job> job;
        {
            std::unique_lock lock(m_mutex);
            if (!m_wake.wait(lock, quit, [this] { return m_waiting.has_value(); }))
                return;
            job = std::exchange(m_waiting, std::nullopt);
            m_running = job->cancel;
        }
        const Outcome outcome = [&]() -> Outcome {
            try {
                return m_function(job->plan, job->cancel.get_token());
            } catch (const std::exception &error) {
                return Issue{{}, 0, {}, std::string("the estimate broke off: ") + error.what(), "undo the last change"};
            }
        }();
        QMetaObject::invokeMethod(
            this, [this, number = job->number, outcome] { answer(number, outcome); }, Qt::QueuedConnection);
    }
}

void EstimateRunner::answer(std::uint64_t number, const Outcome &outcome)
{
    if (number != m_requested)
        return;
    m_answered = number;
    m_latest = outcome ? *outcome : nullptr;
    if (outcome)
        emit finished(m_latest);
    else
        emit failed(outcome.issue());
    if (!isBusy())
        emit busyChanged(false);
}

} // namespace headroom
