// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/estimate_runner.h"

#include <exception>
#include <utility>

namespace headroom {

EstimateRunner::EstimateRunner(Function function, QObject *parent, std::chrono::milliseconds patience)
    : QObject(parent)
    , m_function(std::move(function))
    , m_patience(this)
    , m_thread([this](std::stop_token quit) { work(std::move(quit)); })
{
    Q_ASSERT(m_function);
    m_patience.setSingleShot(true);
    m_patience.setInterval(patience);
    connect(&m_patience, &QTimer::timeout, this, &EstimateRunner::cancelWhatKeepsOthersWaiting);
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
    }
    m_wake.notify_one();
    if (wasBusy && !m_patience.isActive())
        m_patience.start();
    if (!wasBusy)
        emit busyChanged(true);
}

void EstimateRunner::cancelWhatKeepsOthersWaiting()
{
    const std::scoped_lock lock(m_mutex);
    if (m_waiting)
        m_running.request_stop();
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
        if (job->cancel.stop_requested())
            continue; // a newer one waits, or nobody does
        QMetaObject::invokeMethod(
            this, [this, number = job->number, outcome] { answer(number, outcome); }, Qt::QueuedConnection);
    }
}

void EstimateRunner::answer(std::uint64_t number, const Outcome &outcome)
{
    m_answered = number;
    m_patience.stop();
    if (isBusy())
        m_patience.start(); // for the one that runs by now
    m_latest = outcome ? *outcome : nullptr;
    if (outcome)
        emit finished(m_latest);
    else
        emit failed(outcome.issue());
    if (!isBusy())
        emit busyChanged(false);
}

} // namespace headroom
