// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// bench_headroom [runs]: time and heap allocations of whole estimates, both steps and allocator included.
// Figures to look at, nothing is asserted. Build it in Release.
#include "app/keep_memory.h"
#include "tests/core/bench_statistics.h"

#include "core/estimate/outside.h"
#include "core/estimate/step_record.h"
#include "core/plan/plan_json.h"
#include "core/solve/fit_map.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <numeric>

namespace {

// Every heap allocation of this program is counted.
std::atomic<std::size_t> allocations = 0;
std::atomic<std::size_t> allocatedBytes = 0;

void *counted(std::size_t size, std::size_t alignment)
{
    allocations.fetch_add(1, std::memory_order_relaxed);
    allocatedBytes.fetch_add(size, std::memory_order_relaxed);
    const std::size_t rounded = (std::max<std::size_t>(size, 1) + alignment - 1) / alignment * alignment;
    void *memory = alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, rounded) : std::malloc(rounded);
    if (!memory)
        throw std::bad_alloc();
    return memory;
}

} // namespace

void *operator new(std::size_t size) { return counted(size, alignof(std::max_align_t)); }
void *operator new[](std::size_t size) { return counted(size, alignof(std::max_align_t)); }
void *operator new(std::size_t size, std::align_val_t alignment) { return counted(size, static_cast<std::size_t>(alignment)); }
void *operator new[](std::size_t size, std::align_val_t alignment) { return counted(size, static_cast<std::size_t>(alignment)); }
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void *memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void *memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace {

using namespace headroom;
using bench::median;
using bench::quantile;

struct Case {
    const char *name;
    const char *plan;
};

constexpr Case cases[] = {
    {"Llama-3.1-8B, full", R"({"headroom_plan": 1, "model": {"preset": "meta-llama/Llama-3.1-8B"}})"},
    {"Llama-3.1-8B, LoRA, autocast",
     R"({"headroom_plan": 1, "model": {"preset": "meta-llama/Llama-3.1-8B"}, "method": {"kind": "lora"}, "precision": {"autocast": "bfloat16"}})"},
    {"Llama-3.1-8B, full, checkpointing",
     R"({"headroom_plan": 1, "model": {"preset": "meta-llama/Llama-3.1-8B"}, "checkpointing": "full"})"},
    {"Llama-3.1-70B, full", R"({"headroom_plan": 1, "model": {"preset": "meta-llama/Llama-3.1-70B"}})"},
    {"Llama-3.1-405B, full, checkpointing",
     R"({"headroom_plan": 1, "model": {"preset": "meta-llama/Llama-3.1-405B"}, "checkpointing": "full"})"},
    {"Qwen3-8B, LoRA, 16 micro-batches",
     R"({"headroom_plan": 1, "model": {"preset": "Qwen/Qwen3-8B"}, "method": {"kind": "lora"}, "precision": {"autocast": "bfloat16"},
         "batch": {"gradient_accumulation": 16}, "checkpointing": "full"})"},
    {"Llama-3.1-8B, ZeRO-3, 4 micro-batches",
     R"({"headroom_plan": 1, "model": {"preset": "meta-llama/Llama-3.1-8B"}, "precision": {"recipe": "bf16-master"},
         "batch": {"gradient_accumulation": 4}, "loop": {"clip_grad_norm": true}, "checkpointing": "full",
         "parallel": {"engine": "deepspeed", "data": 8, "zero_stage": 3, "bucket_sizes": "auto"}})"},
};

bool report(const Case &one, int runs)
{
    const Result<TrainingPlan> plan = readPlan(one.plan);
    const auto first = plan ? estimate(*plan) : plan.issue();
    if (!first) {
        fmt::print(stderr, "bench_headroom: {}: {}\n", one.name, toString(first.issue()));
        return false;
    }
    const std::size_t allocationsBefore = allocations, bytesBefore = allocatedBytes;
    const auto again = estimate(*plan);
    const std::size_t count = allocations - allocationsBefore, bytes = allocatedBytes - bytesBefore;

    const std::vector<double> whole = bench::measure<bench::ProcessorStopwatch>(runs, [&] { return estimate(*plan).ok(); });
    const double events = static_cast<double>((*first)->record->trace().events.size());

    // The stages by themselves, as estimate() runs them.
    const ModelConfig &model = (*first)->model;
    const std::int64_t workspace = cublasWorkspaceBytes(*plan, nullptr);
    const std::vector<double> engine =
        bench::measure<bench::ProcessorStopwatch>(runs, [&] { return training::run(*plan, model, 2, workspace).steps; });
    training::TrainingRun run = training::run(*plan, model, 2, workspace);
    const std::vector<double> allocator =
        bench::measure<bench::ProcessorStopwatch>(runs, [&] { return replay(run.trace, {}, workspace).blockBytes.size(); });
    const std::vector<double> json = bench::measure<bench::ProcessorStopwatch>(runs, [&] { return writeEstimate(**first).size(); });
    const double rest = median(whole) - median(engine) - median(allocator);

    fmt::print("{:36} {:8.2f} {:8.2f} {:9.0f} {:8.1f} {:10} {:8.1f}   {:7.2f} {:9.2f} {:9.2f} {:7.2f}\n", one.name, median(whole),
               quantile(whole, 0.95), events, 1e6 * median(whole) / events, count, static_cast<double>(bytes) / 1e6, median(engine),
               median(allocator), rest, median(json));
    return true;
}

/// 50 micro-batches by 100 sequence lengths, on all processors.
bool reportMap(const Case &one, MapDetail detail)
{
    const Result<TrainingPlan> plan = readPlan(one.plan);
    std::vector<std::int64_t> rows(50), columns(100);
    std::iota(rows.begin(), rows.end(), 1);
    for (std::size_t i = 0; i < columns.size(); ++i)
        columns[i] = 128 * static_cast<std::int64_t>(i + 1);
    std::size_t fitting = 0;
    const std::size_t before = allocations;
    const bench::Stopwatch watch;
    const bench::ProcessorStopwatch processor;
    const auto map = plan ? fitMap(*plan, "nvidia-h100-sxm5-80gb", rows, columns, detail) : plan.issue();
    const double milliseconds = watch.milliseconds(), ofProcessors = processor.milliseconds();
    if (!map) {
        fmt::print(stderr, "bench_headroom: {}: {}\n", one.name, toString(map.issue()));
        return false;
    }
    for (const auto &cell : map->cells)
        fitting += cell && cell->fits;
    fmt::print("{:36} {:9} {:8.0f} {:10.0f} {:10} {:8} {:8}\n", one.name, detail == MapDetail::Device ? "all" : "what fits", milliseconds,
               ofProcessors, allocations - before, map->executed, fitting);
    return true;
}

} // namespace

int main(int argc, char *argv[])
{
    const int runs = argc > 1 ? std::atoi(argv[1]) : 50;
    if (runs < 1) {
        fmt::print(stderr, "bench_headroom: {} is no number of runs (bench_headroom [runs])\n", argv[1]);
        return 2;
    }
    keepFreedMemory(); // as the programs do
    fmt::print("One estimate: loading, first and later steps, allocator; {} runs. Milliseconds of processor time, on one core.\n\n", runs);
    fmt::print("{:36} {:>8} {:>8} {:>9} {:>8} {:>10} {:>8}   {:>7} {:>9} {:>9} {:>7}\n", "", "median", "p95", "events", "ns/event",
               "heap calls", "heap MB", "engine", "allocator", "summary", "JSON");
    bool all = true;
    for (const Case &one : cases)
        all = report(one, runs) && all;
    fmt::print("\nWhat fits, a map of 50 x 100 cells, on all processors. Milliseconds.\n\n{:36} {:9} {:>8} {:>10} {:>10} {:>8} {:>8}\n", "",
               "", "by clock", "processor", "heap calls", "executed", "fitting");
    for (const Case &one : {cases[0], cases[1], cases[2]})
        for (const MapDetail detail : {MapDetail::WhatFits, MapDetail::Device})
            all = reportMap(one, detail) && all;
    return all ? 0 : 1;
}
