// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// bench_allocator [TRACE]: what an event of the allocator's replay costs, in nanoseconds, the best of several rounds. TRACE is a
// table of a training step's events with the columns event, sign, id, bytes (by default the one kept beside the repository).
#include "core/allocator/caching_allocator.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

using namespace headroom;

namespace {

struct BenchEvent {
    std::uint32_t id = 0;
    bool allocates = false;
    std::int64_t bytes = 0;
};

struct Workload {
    std::string name;
    std::vector<BenchEvent> events;
    std::uint32_t ids = 0;
};

/// The trace as it is: loading and some steps.
std::vector<BenchEvent> readTrace(const std::string &fileName)
{
    std::ifstream file(fileName);
    std::vector<BenchEvent> events;
    std::string line;
    std::getline(file, line); // the header
    while (std::getline(file, line)) {
        std::istringstream fields(line);
        std::int64_t number = 0;
        char sign = 0;
        BenchEvent event;
        if (fields >> number >> sign >> event.id >> event.bytes) {
            event.allocates = sign == '+';
            events.push_back(event);
        }
    }
    return events;
}

/// `times` of the trace side by side, as layers of one model: each has its storages `factor` times as large.
Workload repeated(std::string name, const std::vector<BenchEvent> &trace, std::uint32_t times, std::int64_t factor)
{
    Workload work{std::move(name), {}, 0};
    std::uint32_t ids = 0;
    for (const BenchEvent &event : trace)
        ids = std::max(ids, event.id + 1);
    for (std::uint32_t copy = 0; copy < times; ++copy) {
        for (BenchEvent event : trace) {
            event.id += copy * ids;
            event.bytes *= factor;
            work.events.push_back(event);
        }
    }
    work.ids = ids * times;
    return work;
}

/// Steps of a model: forward keeps some blocks of every layer, backward releases them in reverse and makes short-lived ones.
Workload layered(std::string name, int layers, std::int64_t unit, int steps)
{
    Workload work{std::move(name), {}, 0};
    const auto allocate = [&](std::int64_t bytes) {
        work.events.push_back({work.ids, true, bytes});
        return work.ids++;
    };
    const auto release = [&](std::uint32_t id) { work.events.push_back({id, false, 0}); };
    for (int layer = 0; layer < layers; ++layer) {
        for (int i = 0; i < 9; ++i)
            allocate(unit * (i % 4 + 1));
    }
    for (int step = 0; step < steps; ++step) {
        std::vector<std::uint32_t> saved, gradients;
        for (int layer = 0; layer < layers; ++layer) {
            for (int i = 0; i < 16; ++i) {
                const auto temporary = allocate(unit * (i % 5 + 1) / 3);
                saved.push_back(allocate(unit * (i % 3 + 1)));
                release(temporary);
            }
        }
        while (!saved.empty()) {
            const auto temporary = allocate(unit * 2);
            release(saved.back());
            saved.pop_back();
            if (saved.size() % 2 == 0)
                gradients.push_back(allocate(unit * (static_cast<std::int64_t>(saved.size()) % 4 + 1)));
            release(temporary);
        }
        for (const auto gradient : gradients)
            release(gradient);
    }
    return work;
}

/// Random sizes, `live` blocks at a time: the worst that the index of free blocks sees.
Workload scattered(std::string name, std::int64_t most, std::size_t live, int events)
{
    Workload work{std::move(name), {}, 0};
    std::mt19937_64 random(7);
    std::vector<std::uint32_t> alive;
    for (int i = 0; i < events; ++i) {
        if (alive.size() < live || random() % 2 == 0) {
            work.events.push_back({work.ids, true, static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most)) + 1});
            alive.push_back(work.ids++);
        } else {
            std::swap(alive[random() % alive.size()], alive.back());
            work.events.push_back({alive.back(), false, 0});
            alive.pop_back();
        }
    }
    return work;
}

void measure(const Workload &work, bool expandable)
{
    if (work.events.empty())
        return;
    AllocatorOptions options;
    options.expandableSegments = expandable;
    CachingAllocator allocator(options);
    std::vector<CachingAllocator::Block> blocks(work.ids, CachingAllocator::noBlock);
    double best = std::numeric_limits<double>::max();
    std::int64_t peak = 0;
    for (int round = 0; round < 15; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        allocator.reset(options);
        peak = 0;
        for (const BenchEvent &event : work.events) {
            if (event.allocates)
                blocks[event.id] = allocator.allocate(event.bytes);
            else
                allocator.release(blocks[event.id]);
            peak = std::max(peak, allocator.reserved());
        }
        const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
        best = std::min(best, took.count());
    }
    fmt::print("{:34} {:10} {:8} events {:8.3f} ms {:7.1f} ns/event  peak reserved {:.2f} GiB\n", work.name, expandable ? "expandable" : "",
               work.events.size(), best / 1e6, best / static_cast<double>(work.events.size()), Bytes{peak}.gib());
}

} // namespace

int main(int argc, char **argv)
{
    const std::vector<BenchEvent> trace = readTrace(argc > 1 ? argv[1] : HEADROOM_SHARED "/truth/pytorch/example/events.tsv");
    if (trace.empty())
        fmt::print(stderr, "no trace: give the file of one\n");
    std::vector<Workload> workloads;
    workloads.push_back(repeated("trace", trace, 1, 1));
    workloads.push_back(repeated("trace, 8 copies", trace, 8, 1));
    workloads.push_back(repeated("trace, 8 copies, sizes x 64", trace, 8, 64));
    workloads.push_back(repeated("trace, 32 copies, sizes x 1024", trace, 32, 1024));
    workloads.push_back(layered("32 layers, large", 32, 3 << 20, 4));
    workloads.push_back(layered("126 layers, large", 126, 30 << 20, 4));
    workloads.push_back(layered("126 layers, small", 126, 20000, 4));
    workloads.push_back(scattered("random, small", 1 << 20, 2000, 100000));
    workloads.push_back(scattered("random, large", 200 << 20, 2000, 100000));
    workloads.push_back(scattered("random, large, 20,000 live", 200 << 20, 20000, 200000));
    for (const Workload &work : workloads) {
        measure(work, false);
        measure(work, true);
    }
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 1000; ++i) {
        CachingAllocator allocator;
        allocator.release(allocator.allocate(1000));
        allocator.release(allocator.allocate(30 << 20));
    }
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    fmt::print("construction and two blocks: {:.2f} us\n", took.count() / 1000);
    return 0;
}
