// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/solve/fit_map.h"

#include "core/allocator/size_rules.h"
#include "core/estimate/execution.h"
#include "core/estimate/outside.h"
#include "core/plan/fields.h"
#include "core/units/cancelled.h"
#include "core/units/checked.h"
#include "core/units/text.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headroom {

namespace {

using autograd::Trace;
using Cell = FitMap::Cell;

/// The highest reserved of the first and of the last step.
std::int64_t highestReserved(const Trace &trace, const Replay &replay)
{
    const std::uint32_t last = training::lastStep(trace);
    std::uint32_t first = last, second = last; // where the first step begins and ends
    for (const autograd::Mark &mark : trace.marks) {
        if (mark.phase != autograd::TracePhase::Forward || mark.microBatch != 0)
            continue;
        if (mark.step == 0)
            first = mark.event;
        else if (mark.step == 1)
            second = std::min(second, mark.event);
    }
    return std::max(replay.reserved.highest(first, second), replay.reserved.highest(last, static_cast<std::uint32_t>(trace.events.size())));
}

/// The highest reserved before the first step.
std::int64_t reservedLoading(const Trace &trace, const Replay &replay)
{
    return replay.reserved.highest(0, trace.marks.empty() ? 0 : trace.marks.front().event);
}

/// What is asked for at once, at most, in multiples of 512 bytes: no allocator can do with less.
std::int64_t leastAllocated(const Trace &trace, std::int64_t workspaceBytes)
{
    std::int64_t live = 0, most = 0;
    for (const autograd::Event event : trace.events) {
        const std::int64_t bytes = requestedBytes(trace.storages[event.storage], workspaceBytes);
        const std::int64_t rounded = roundUp(bytes, static_cast<std::int64_t>(allocator::minBlock));
        live += event.release ? -rounded : rounded;
        most = std::max(most, live);
    }
    return most;
}

/// Whether two runs do the same, but for the sizes of what they do it with.
bool sameEvents(const training::TrainingRun &a, const training::TrainingRun &b)
{
    const Trace &x = a.trace, &y = b.trace;
    const auto sameEvent = [](autograd::Event e, autograd::Event f) { return e.storage == f.storage && e.release == f.release; };
    const auto sameMark = [](const autograd::Mark &m, const autograd::Mark &n) {
        return m.event == n.event && m.phase == n.phase && m.step == n.step && m.microBatch == n.microBatch;
    };
    const auto sameStorage = [](const autograd::StorageRecord &s, const autograd::StorageRecord &t) {
        return s.stream == t.stream && std::string_view(s.op) == t.op;
    };
    const auto sameReplacement = [](const training::Replacement &r, const training::Replacement &s) {
        return r.taken == s.taken && r.left == s.left;
    };
    return std::equal(x.events.begin(), x.events.end(), y.events.begin(), y.events.end(), sameEvent) &&
           std::equal(x.marks.begin(), x.marks.end(), y.marks.begin(), y.marks.end(), sameMark) &&
           std::equal(x.storages.begin(), x.storages.end(), y.storages.begin(), y.storages.end(), sameStorage) &&
           x.cacheReleases == y.cacheReleases && a.lastStepReplaces.has_value() == b.lastStepReplaces.has_value() &&
           (!a.lastStepReplaces || std::equal(a.lastStepReplaces->begin(), a.lastStepReplaces->end(), b.lastStepReplaces->begin(),
                                              b.lastStepReplaces->end(), sameReplacement));
}

/// The sizes of a run as lines over the micro-batch.
class SizeLines
{
public:
    /// False where the runs, one for each of the rows, do not lie on lines.
    bool draw(const std::vector<std::int64_t> &rows, const std::vector<SharedRun> &runs)
    {
        const auto &first = runs.front()->trace.storages, &last = runs.back()->trace.storages;
        const std::int64_t from = rows.front(), distance = rows.back() - from;
        m_from = from;
        m_lines.resize(first.size());
        for (std::size_t i = 1; i < runs.size(); ++i)
            if (!sameEvents(*runs.front(), *runs[i]))
                return false;
        for (std::size_t s = 0; s < first.size(); ++s) {
            const std::int64_t difference = last[s].bytes - first[s].bytes;
            if (difference % distance != 0)
                return false;
            m_lines[s] = {first[s].bytes, difference / distance};
            for (std::size_t i = 1; i + 1 < runs.size(); ++i)
                if (runs[i]->trace.storages[s].bytes != at(s, rows[i]))
                    return false;
        }
        return true;
    }

    void setSizes(Trace &trace, std::int64_t row) const
    {
        for (std::size_t s = 0; s < m_lines.size(); ++s)
            trace.storages[s].bytes = at(s, row);
    }

private:
    struct Line {
        std::int64_t bytes, slope;
    };
    std::int64_t at(std::size_t s, std::int64_t row) const { return m_lines[s].bytes + m_lines[s].slope * (row - m_from); }

    std::int64_t m_from = 0;
    std::vector<Line> m_lines; ///< by storage
};

/// Fills the cells of one length after the other.
class Mapper
{
public:
    Mapper(const TrainingPlan &plan, const ModelConfig &model, const Gpu &gpu, FitMap &map, MapDetail detail, const std::stop_token &cancel)
        : m_plan(plan)
        , m_model(model)
        , m_gpu(gpu)
        , m_map(map)
        , m_detail(detail)
        , m_cancel(cancel)
        , m_outside(total(outsideOfPyTorch(plan, &gpu)))
        , m_workspace(cublasWorkspaceBytes(plan, &gpu))
        , m_refusals(map.cells.size())
    {}

    void fill(std::size_t column)
    {
        const std::size_t rows = m_map.microBatches.size();
        // One sequence alone is often done otherwise than several.
        execute(0, column);
        if (rows < 2)
            return;
        const SharedRun first = execute(1, column);
        if (rows > 2)
            fillBetween(column, {1, first}, {rows - 1, execute(rows - 1, column)});
    }

    /// Of the first cell that has one.
    std::optional<Issue> firstRefusal() const
    {
        const auto at = std::find_if(m_refusals.begin(), m_refusals.end(), [](const auto &refusal) { return refusal.has_value(); });
        return at == m_refusals.end() ? std::nullopt : *at;
    }

    std::size_t executed() const { return m_executed; }

private:
    struct Executed {
        std::size_t row;
        SharedRun run; ///< null where it cannot be estimated
    };

    /// The rows between two that are executed: read off lines, or by halves where there are none.
    void fillBetween(std::size_t column, const Executed &first, const Executed &last)
    {
        const std::size_t between = last.row - first.row - 1;
        if (between == 0)
            return;
        const Executed second{first.row + 1, execute(first.row + 1, column)};
        if (between == 1)
            return;
        const std::size_t middle = (second.row + last.row) / 2;
        const Executed half{middle, execute(middle, column)};
        SizeLines lines;
        if (!draw(lines, {first, second, half, last})) {
            fillBetween(column, second, half);
            fillBetween(column, half, last);
            return;
        }
        training::TrainingRun run = *first.run;
        for (std::size_t row = second.row + 1; row < last.row; ++row) {
            if (row == half.row)
                continue;
            lines.setSizes(run.trace, m_map.microBatches[row]);
            cellOf(row, column) = measure(run);
        }
    }

    bool draw(SizeLines &lines, std::initializer_list<Executed> executed) const
    {
        std::vector<std::int64_t> rows;
        std::vector<SharedRun> runs;
        for (const Executed &one : executed) {
            if (!one.run)
                return false;
            rows.push_back(m_map.microBatches[one.row]);
            runs.push_back(one.run);
        }
        return lines.draw(rows, runs);
    }

    /// Fills the cell too.
    SharedRun execute(std::size_t row, std::size_t column)
    {
        SharedRun run = tryToRun(row, column);
        if (run) {
            cellOf(row, column) = measure(*run);
            ++m_executed;
        }
        return run;
    }

    std::size_t indexOf(std::size_t row, std::size_t column) const { return row * m_map.sequenceLengths.size() + column; }
    std::optional<Cell> &cellOf(std::size_t row, std::size_t column) { return m_map.cells[indexOf(row, column)]; }

    /// Null, and the refusal kept, where the plan cannot be estimated so.
    SharedRun tryToRun(std::size_t row, std::size_t column)
    {
        TrainingPlan plan = m_plan;
        plan.batch.microBatch = m_map.microBatches[row];
        plan.batch.sequenceLength = m_map.sequenceLengths[column];
        std::optional<Issue> &refusal = m_refusals[indexOf(row, column)];
        if (std::vector<Issue> issues = validate(plan); !issues.empty()) {
            refusal = std::move(issues.front());
        } else if (std::optional<Issue> unsupported = training::unsupported(plan, m_model)) {
            refusal = std::move(unsupported);
        } else {
            try {
                return Executor{plan, m_model, m_workspace, m_cancel}.run();
            } catch (const SizeOverflow &) {
                refusal = runTooLarge();
            } catch (const std::bad_alloc &) {
                refusal = estimateTooLarge();
            }
        }
        return {};
    }

    /// What withinGpu() finds, but for all that is not asked for here.
    Cell measure(const training::TrainingRun &run) const
    {
        const auto &again = run.lastStepReplaces;
        const auto replayed = [&](const AllocatorOptions &options) {
            return replay(run.trace, options, m_workspace, m_cancel, again ? &*again : nullptr);
        };
        const Bytes most = m_gpu.capacity - m_outside;
        const auto least = [&] { return Bytes{leastAllocated(run.trace, m_workspace)}; };
        if (m_detail == MapDetail::WhatFits)
            if (const Bytes atLeast = least(); atLeast > most)
                return {atLeast + m_outside, false, true};
        AllocatorOptions options = allocatorOptions(m_plan);
        const Replay everything = replayed(options);
        const Bytes steps = Bytes{highestReserved(run.trace, everything)} + m_outside;
        const Bytes unlimited = std::max(steps, Bytes{reservedLoading(run.trace, everything)} + m_outside);
        if (unlimited <= m_gpu.capacity)
            return {steps, true};
        if (most.value > 0 && least() <= most) {
            options.capacity = most;
            const Replay limited = replayed(options);
            if (!limited.outOfMemory)
                return {Bytes{highestReserved(run.trace, limited)} + m_outside, true};
        }
        return {unlimited, false};
    }

    const TrainingPlan &m_plan;
    const ModelConfig &m_model;
    const Gpu &m_gpu;
    FitMap &m_map;
    MapDetail m_detail;
    const std::stop_token &m_cancel;
    Bytes m_outside;
    std::int64_t m_workspace;
    std::vector<std::optional<Issue>> m_refusals; ///< by cell
    std::atomic<std::size_t> m_executed = 0;
};

/// On all processors; what one throws is thrown again when all have ended.
void fillAll(Mapper &mapper, std::size_t columns)
{
    std::atomic<std::size_t> next = 0;
    const auto work = [&](std::exception_ptr &failure) {
        try {
            for (std::size_t column = next++; column < columns; column = next++)
                mapper.fill(column);
        } catch (...) {
            failure = std::current_exception();
            next = columns;
        }
    };
    const std::size_t threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, columns);
    std::vector<std::exception_ptr> failures(threads);
    {
        std::vector<std::jthread> others;
        try {
            for (std::size_t i = 1; i < threads; ++i)
                others.emplace_back([&, i] { work(failures[i]); });
        } catch (const std::system_error &) {
            // no thread is to be had: the others do it all
        }
        work(failures.front());
    }
    for (const std::exception_ptr &failure : failures)
        if (failure)
            std::rethrow_exception(failure);
}

/// Ascending, each once; an Issue where one is not a value of the field, or there is none.
std::optional<Issue> order(std::vector<std::int64_t> &values, const TrainingPlan &plan, std::string_view path)
{
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    if (values.empty())
        return Issue{{}, 0, std::string(path), "a map needs at least one value", "give one or more"};
    TrainingPlan probe = plan;
    for (const std::int64_t value : values)
        if (std::optional<Issue> issue = setField(probe, *findField(path), value))
            return issue;
    return std::nullopt;
}

} // namespace

Result<FitMap> fitMap(const TrainingPlan &plan, std::string_view gpuId, std::vector<std::int64_t> microBatches,
                      std::vector<std::int64_t> sequenceLengths, MapDetail detail, std::stop_token cancel)
{
    const Gpu *gpu = findGpu(gpuId);
    if (!gpu)
        return Issue{{}, 0, "gpus", fmt::format("no GPU is called \"{}\"", excerpt(gpuId)), "headroom-cli gpus lists them"};
    for (const auto &[values, path] : {std::pair{&microBatches, "batch.micro_batch"}, std::pair{&sequenceLengths, "batch.sequence_length"}})
        if (std::optional<Issue> issue = order(*values, plan, path))
            return *issue;
    if (microBatches.size() > mostCells / sequenceLengths.size())
        return Issue{{},
                     0,
                     "batch",
                     fmt::format("a map of {} x {} cells is too large", microBatches.size(), sequenceLengths.size()),
                     fmt::format("at most {} cells are worked out", mostCells)};
    TrainingPlan onGpu = plan;
    onGpu.gpus = {gpu->id};
    const Result<ModelConfig> model = resolveModel(onGpu);
    if (!model)
        return model.issue();

    FitMap map{gpu->id, gpu->capacity, std::move(microBatches), std::move(sequenceLengths), {}, {}, 0};
    try {
        map.cells.resize(map.microBatches.size() * map.sequenceLengths.size());
        Mapper mapper(onGpu, *model, *gpu, map, detail, cancel);
        fillAll(mapper, map.sequenceLengths.size());
        map.refusal = mapper.firstRefusal();
        map.executed = mapper.executed();
    } catch (const std::bad_alloc &) {
        return estimateTooLarge();
    } catch (const Cancelled &) {
        return Issue{{}, 0, {}, "cancelled", {}};
    }
    if (map.refusal && std::none_of(map.cells.begin(), map.cells.end(), [](const auto &cell) { return cell.has_value(); }))
        return *map.refusal;
    return map;
}

std::string writeFitMap(const FitMap &map)
{
    std::string device, fits;
    for (std::size_t row = 0; row < map.microBatches.size(); ++row) {
        device += row == 0 ? "[" : ",[";
        fits += row == 0 ? "[" : ",[";
        for (std::size_t column = 0; column < map.sequenceLengths.size(); ++column) {
            const std::optional<Cell> &cell = map.at(row, column);
            const char *comma = column == 0 ? "" : ",";
            device += cell ? fmt::format("{}{}", comma, cell->device.value) : fmt::format("{}null", comma);
            fits += fmt::format("{}{}", comma, !cell ? "null" : cell->fits ? "true" : "false");
        }
        device += "]";
        fits += "]";
    }
    return fmt::format(R"({{"gpu":"{}","micro_batch":[{}],"sequence_length":[{}],"device":[{}],"fits":[{}]}})", map.gpu,
                       fmt::join(map.microBatches, ","), fmt::join(map.sequenceLengths, ","), device, fits);
}

} // namespace headroom
