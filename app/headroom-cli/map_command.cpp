// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-cli/commands.h"
#include "app/headroom-cli/output.h"
#include "app/headroom-cli/text_table.h"
#include "core/hardware/gpu.h"
#include "core/solve/fit_map.h"
#include "core/units/text.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

namespace headroom::cli {

namespace {

constexpr std::int64_t defaultMicroBatches = 16; ///< 1 to so many
constexpr std::int64_t shortestLength = 512, longestLength = 32768;

std::optional<std::int64_t> wholeNumber(std::string_view text)
{
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Powers of two, up to what the model was made for.
std::vector<std::int64_t> defaultLengths(const ModelConfig &model)
{
    const std::int64_t most = model.maxPositions > 0 ? std::min(model.maxPositions, longestLength) : longestLength;
    std::vector<std::int64_t> lengths;
    for (std::int64_t length = shortestLength; length <= most; length *= 2)
        lengths.push_back(length);
    if (lengths.empty())
        lengths.push_back(most);
    return lengths;
}

std::string mapText(const FitMap &map, ByteUnit unit)
{
    const Gpu &gpu = *findGpu(map.gpu);
    ReportTable table;
    table.headings = {"Micro-batch"};
    table.numeric = {true};
    for (const std::int64_t length : map.sequenceLengths) {
        table.headings.push_back(formatCount(length));
        table.numeric.push_back(true);
    }
    for (std::size_t row = 0; row < map.microBatches.size(); ++row) {
        std::vector<std::string> cells{formatCount(map.microBatches[row])};
        for (std::size_t column = 0; column < map.sequenceLengths.size(); ++column) {
            const std::optional<FitMap::Cell> &cell = map.at(row, column);
            const std::string amount = cell ? formatGiga(cell->device, unit, 1) : "-";
            cells.push_back(cell && !cell->fits ? fmt::format("({})", amount) : amount + ' ');
        }
        table.rows.push_back(std::move(cells));
    }
    std::string text =
        fmt::format("{}: {}\nDevice memory in {}, by micro-batch and sequence length (tokens); in parentheses: does not fit\n\n",
                    gpu.title(), formatBytes(map.capacity, unit), gigaName(unit));
    text += formatTable(table);
    if (map.refusal)
        text += "\n- cannot be estimated: " + toString(*map.refusal) + '\n';
    return text;
}

Issue onCommandLine(const char *option, std::string what, std::string hint)
{
    return {"command line", 0, option, std::move(what), std::move(hint)};
}

/// The GPU that the map is for: the one of --gpu, or the plan's first.
Result<std::string> gpuOf(const TrainingPlan &plan, const PlanArguments &arguments)
{
    if (arguments.gpus.size() > 1)
        return onCommandLine("--gpu", "a map is for one GPU", "give --gpu once");
    if (!arguments.gpus.empty())
        return std::string(arguments.gpus.front());
    if (plan.gpus.empty())
        return onCommandLine("--gpu", "the plan names no GPU", "give --gpu ID; headroom-cli gpus lists them");
    return std::string(plan.gpus.front());
}

} // namespace

Result<std::vector<std::int64_t>> mapValues(const char *option, std::string_view text)
{
    const auto wrong = [&](std::string_view part) {
        return onCommandLine(option, fmt::format("\"{}\" is no whole number and no range", excerpt(part)),
                             "write for example 1..8 or 1,2,4");
    };
    std::vector<std::int64_t> values;
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t comma = std::min(text.find(',', from), text.size());
        const std::string_view part = text.substr(from, comma - from);
        from = comma + 1;
        const std::size_t dots = part.find("..");
        const auto first = wholeNumber(part.substr(0, dots));
        const auto last = dots == std::string_view::npos ? first : wholeNumber(part.substr(dots + 2));
        if (!first || !last)
            return wrong(part);
        if (*first > *last || *first < 1)
            return onCommandLine(option, fmt::format("\"{}\" has no values", excerpt(part)), "write the smaller number first, from 1 on");
        if (static_cast<std::uint64_t>(*last - *first) >= mostCells - values.size())
            return onCommandLine(option, "too many values", fmt::format("at most {} cells are worked out", mostCells));
        for (std::int64_t value = *first; value <= *last; ++value)
            values.push_back(value);
    }
    return values;
}

int runMap(const MapArguments &arguments)
{
    const auto fail = [](const Issue &issue) {
        complain(toString(issue));
        return BadInput;
    };
    if (const std::optional<Issue> issue = checkArguments(arguments.plan))
        return fail(*issue);
    const std::string &file = arguments.plan.files.front();
    const Result<ReadPlan> read = readArgument(file, arguments.plan);
    if (!read)
        return fail(read.issue());
    const Result<std::string> gpu = gpuOf(read->plan, arguments.plan);
    if (!gpu)
        return fail(gpu.issue());
    const auto inPlan = [&](const Issue &issue) { return placed(issue, file, &read->text, arguments.plan); };

    std::vector<std::int64_t> microBatches = arguments.microBatches, lengths = arguments.sequenceLengths;
    if (microBatches.empty()) {
        microBatches.resize(defaultMicroBatches);
        std::iota(microBatches.begin(), microBatches.end(), 1);
    }
    if (lengths.empty()) {
        const Result<ModelConfig> model = resolveModel(read->plan);
        if (!model)
            return fail(inPlan(model.issue()));
        lengths = defaultLengths(*model);
    }
    const Result<FitMap> map = fitMap(read->plan, *gpu, std::move(microBatches), std::move(lengths));
    if (!map) {
        const Issue &issue = map.issue();
        if (issue.where == "batch.micro_batch" && !arguments.microBatches.empty())
            return fail(onCommandLine("--micro-batch", issue.what, issue.hint));
        if (issue.where == "batch.sequence_length" && !arguments.sequenceLengths.empty())
            return fail(onCommandLine("--sequence-length", issue.what, issue.hint));
        return fail(inPlan(issue));
    }
    Output output;
    output.write(arguments.json ? writeFitMap(*map) + '\n' : mapText(*map, arguments.plan.unit));
    return output.finish(Success);
}

} // namespace headroom::cli
