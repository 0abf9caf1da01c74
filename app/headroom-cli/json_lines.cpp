// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-cli/json_lines.h"

#include "app/headroom-cli/line_source.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

namespace headroom::cli {

namespace {

/// What may wait to be worked at or to be written, so that a slow line does not let the lines behind it pile up.
constexpr std::size_t mostWaitingLines = 256;
constexpr std::size_t mostWaitingBytes = std::size_t{64} << 20;

struct Job {
    LineSource::Line line;
    std::string answer;
    std::size_t bytes = 0;
    bool done = false;
};

/// Whatever happens to a line, it is answered.
std::string answerOrError(const LineAnswer &answer, const LineSource::Line &line)
{
    Issue issue;
    try {
        if (line.tooLong) {
            issue.what = fmt::format("the line is longer than {} MiB", LineSource::longestLine >> 20);
            issue.hint = "a plan takes a few KiB; give each plan a line of its own";
        } else {
            Result<std::string> result = answer(line.text);
            if (result)
                return std::move(result).value();
            issue = std::move(result.issue());
        }
    } catch (const std::bad_alloc &) {
        issue = {{}, 0, {}, "working this line out takes more memory than there is", "make the model or the batch smaller"};
    } catch (const std::exception &error) {
        issue = {{}, 0, {}, fmt::format("this line could not be worked out ({})", error.what()), "check its sizes"};
    }
    issue.line = line.number;
    return errorLine(issue);
}

/// A queue that several threads work at and whose answers leave in the order in which the lines came.
class OrderedWork
{
public:
    OrderedWork(const LineAnswer &answer, Output &output)
        : m_answer(answer)
        , m_output(output)
    {
        const unsigned count = std::max(1U, std::thread::hardware_concurrency());
        for (unsigned i = 0; i < count; ++i)
            m_workers.emplace_back([this] { work(); });
    }

    /// Waits until all answers are written.
    ~OrderedWork()
    {
        {
            const std::lock_guard lock(m_mutex);
            m_closed = true;
        }
        m_arrived.notify_all();
        for (std::thread &worker : m_workers)
            worker.join();
    }

    OrderedWork(const OrderedWork &) = delete;
    OrderedWork &operator=(const OrderedWork &) = delete;

    /// Waits for room. False where answers can no longer be written.
    bool add(LineSource::Line line)
    {
        std::unique_lock lock(m_mutex);
        m_left.wait(lock, [this] { return m_failed || (m_jobs.size() < mostWaitingLines && m_bytes < mostWaitingBytes); });
        if (m_failed)
            return false;
        Job &job = m_jobs.emplace_back();
        job.bytes = line.text.size();
        job.line = std::move(line);
        m_bytes += job.bytes;
        lock.unlock();
        m_arrived.notify_one();
        return true;
    }

private:
    void work()
    {
        std::unique_lock lock(m_mutex);
        for (;;) {
            m_arrived.wait(lock, [this] { return m_closed || m_taken < m_jobs.size(); });
            if (m_taken == m_jobs.size())
                return;
            Job &job = m_jobs[m_taken++]; // a deque's elements stay where they are while others come and go at its ends
            lock.unlock();
            job.answer = answerOrError(m_answer, job.line);
            std::string().swap(job.line.text);
            lock.lock();
            job.done = true;
            writeFinished(lock);
        }
    }

    /// Writes all answers that nothing before them holds up; by one thread at a time, without the lock.
    void writeFinished(std::unique_lock<std::mutex> &lock)
    {
        while (!m_writing && !m_jobs.empty() && m_jobs.front().done) {
            std::string text;
            while (!m_jobs.empty() && m_jobs.front().done) {
                text.append(m_jobs.front().answer).append(1, '\n');
                m_bytes -= m_jobs.front().bytes;
                m_jobs.pop_front();
                --m_taken;
            }
            m_writing = true;
            lock.unlock();
            const bool written = m_output.write(text);
            lock.lock();
            m_writing = false;
            m_failed = m_failed || !written;
            m_left.notify_one();
        }
    }

    const LineAnswer &m_answer;
    Output &m_output;
    std::mutex m_mutex;
    std::condition_variable m_arrived, m_left;
    std::deque<Job> m_jobs;  ///< not yet written, in order
    std::size_t m_taken = 0; ///< how many of m_jobs are done or being worked at: the first ones
    std::size_t m_bytes = 0; ///< of the lines in m_jobs
    bool m_closed = false, m_writing = false, m_failed = false;
    std::vector<std::thread> m_workers; ///< last: they use all of the above
};

bool isBlank(const LineSource::Line &line) { return !line.tooLong && line.text.find_first_not_of(" \t\r\v\f") == std::string::npos; }

} // namespace

int answerLines(const std::string &file, const LineAnswer &answer, Output &output)
{
    Result<LineSource> source = LineSource::open(file);
    if (!source) {
        complain(toString(source.issue()));
        return BadInput;
    }
    {
        OrderedWork work(answer, output);
        while (std::optional<LineSource::Line> line = source->next())
            if (!isBlank(*line) && !work.add(std::move(*line)))
                break;
    }
    if (source->error()) {
        complain(toString(*source->error()));
        return BadInput;
    }
    return Success;
}

std::string errorLine(const Issue &issue)
{
    nlohmann::ordered_json error;
    error["line"] = issue.line;
    error["where"] = shortened(issue.where);
    error["what"] = shortened(issue.what);
    error["hint"] = shortened(issue.hint);
    // What is wrong may quote the line, and the line may be no UTF-8: such bytes are replaced.
    return nlohmann::ordered_json{{"error", std::move(error)}}.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

} // namespace headroom::cli
