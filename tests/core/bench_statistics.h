// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>
#include <vector>

/// What benchmark programs measure with.
namespace bench {

/// Milliseconds since a moment.
class Stopwatch
{
public:
    double milliseconds() const { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - m_start).count(); }

private:
    std::chrono::steady_clock::time_point m_start = std::chrono::steady_clock::now();
};

/// Milliseconds of processor time of this process since a moment: of one thread's work also where others keep the machine busy.
class ProcessorStopwatch
{
public:
    double milliseconds() const { return 1e3 * static_cast<double>(std::clock() - m_start) / CLOCKS_PER_SEC; }

private:
    std::clock_t m_start = std::clock();
};

/// The value below which that part of the measurements lies; the list must not be empty.
inline double quantile(std::vector<double> values, double part)
{
    std::sort(values.begin(), values.end());
    return values[std::min(values.size() - 1, static_cast<std::size_t>(part * static_cast<double>(values.size())))];
}

inline double median(const std::vector<double> &values) { return quantile(values, 0.5); }

/// Measures a call several times, after one that is not counted.
template<typename Watch = Stopwatch, typename Call>
std::vector<double> measure(int runs, Call &&call)
{
    call();
    std::vector<double> times;
    for (int i = 0; i < runs; ++i) {
        const Watch watch;
        call();
        times.push_back(watch.milliseconds());
    }
    return times;
}

} // namespace bench
