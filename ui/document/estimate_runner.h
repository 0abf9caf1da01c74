// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"

#include <QObject>
#include <QTimer>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace headroom {

/// Estimates in the background. A request replaces what waits; what runs may end and is shown, so that a picture follows a
/// slider whose changes come faster than estimates, but it is cancelled once it keeps a newer plan waiting for longer than
/// `patience`. Results come in the order of their requests. All signals come in the thread that the runner lives in; no call
/// blocks.
class EstimateRunner : public QObject
{
    Q_OBJECT
public:
    using Outcome = Result<std::shared_ptr<const Estimate>>;
    /// The engine's estimate(), or what a test puts in its place. Called in the runner's own thread; an exception that it
    /// lets out becomes an Issue.
    using Function = std::function<Outcome(const TrainingPlan &, std::stop_token)>;

    static constexpr std::chrono::milliseconds defaultPatience{200};

    explicit EstimateRunner(Function function, QObject *parent = nullptr, std::chrono::milliseconds patience = defaultPatience);
    /// Cancels what runs and waits for it to notice.
    ~EstimateRunner() override;

    void request(const TrainingPlan &plan);
    /// A request is not answered yet: latest() belongs to an older plan.
    bool isBusy() const { return m_answered != m_requested; }
    /// The last result; null before the first, and after a plan that could not be estimated.
    const std::shared_ptr<const Estimate> &latest() const { return m_latest; }

signals:
    void finished(std::shared_ptr<const headroom::Estimate> estimate);
    void failed(const headroom::Issue &issue);
    void busyChanged(bool busy);

private:
    struct Job {
        std::uint64_t number = 0;
        TrainingPlan plan;
        std::stop_source cancel;
    };

    void work(std::stop_token quit);
    void cancelWhatKeepsOthersWaiting();
    void answer(std::uint64_t number, const Outcome &outcome);

    Function m_function;
    QTimer m_patience;             ///< runs while a job runs and another waits
    std::uint64_t m_requested = 0; ///< touched in the runner's thread only, as the two below
    std::uint64_t m_answered = 0;
    std::shared_ptr<const Estimate> m_latest;

    std::mutex m_mutex; ///< guards the two below
    std::condition_variable_any m_wake;
    std::optional<Job> m_waiting;
    std::stop_source m_running{std::nostopstate};
    std::jthread m_thread; ///< last: it uses all of the above
};

} // namespace headroom
