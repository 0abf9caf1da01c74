// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-cli/plan_arguments.h"

#include "app/headroom-cli/output.h"
#include "core/hardware/gpu.h"
#include "core/plan/fields.h"
#include "core/plan/plan_json.h"
#include "core/units/strict_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace headroom::cli {

namespace {

constexpr std::size_t longestPlan = std::size_t{16} << 20;

Result<std::string> readStandardInput()
{
    std::string text;
    char buffer[64 << 10];
    for (;;) {
        const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof buffer);
        if (got == 0)
            return text;
        if (got < 0) {
            if (errno == EINTR)
                continue;
            return Issue{{}, 0, {}, fmt::format("cannot be read: {}", std::strerror(errno)), "give the plan as a file"};
        }
        text.append(buffer, static_cast<std::size_t>(got));
        if (text.size() > longestPlan)
            return Issue{{}, 0, {}, fmt::format("is longer than {} MiB", longestPlan >> 20), "for many plans use --jsonl -"};
    }
}

/// The two sides of PATH=VALUE; nullopt where there is no "=" or no path.
std::optional<std::pair<std::string_view, std::string_view>> splitSetting(std::string_view setting)
{
    const std::size_t equals = setting.find('=');
    if (equals == 0 || equals == std::string_view::npos)
        return std::nullopt;
    return std::pair(setting.substr(0, equals), setting.substr(equals + 1));
}

Issue onCommandLine(Issue issue)
{
    issue.file = "command line";
    issue.line = 0;
    return issue;
}

/// Whether --set gives the field at this path, or a group that it belongs to, or a part of it.
bool isSet(std::string_view path, const PlanArguments &arguments)
{
    const auto within = [](std::string_view inner, std::string_view outer) {
        return inner.starts_with(outer) && (inner.size() == outer.size() || inner[outer.size()] == '.' || inner[outer.size()] == '[');
    };
    return !path.empty() && std::any_of(arguments.settings.begin(), arguments.settings.end(), [&](const std::string &setting) {
        const auto sides = splitSetting(setting);
        return sides && (within(path, sides->first) || within(sides->first, path));
    });
}

Result<EstimatePointer> estimateArgument(const std::string &file, const PlanArguments &arguments)
{
    const Result<ReadPlan> read = readArgument(file, arguments);
    if (!read)
        return read.issue();
    Result<EstimatePointer> result = estimateChecked(read->plan);
    return result ? result : placed(result.issue(), file, &read->text, arguments);
}

} // namespace

Issue placed(Issue issue, const std::string &file, const std::string *text, const PlanArguments &arguments)
{
    if (!issue.file.empty())
        return issue;
    if (text != nullptr && issue.line == 0 && isSet(issue.where, arguments))
        return onCommandLine(std::move(issue));
    issue.file = file == "-" ? "standard input" : file;
    if (text != nullptr && issue.line == 0)
        issue.line = lineOf(*text, issue.where);
    return issue;
}

Result<ReadPlan> readArgument(const std::string &file, const PlanArguments &arguments)
{
    const Result<std::string> text = file == "-" ? readStandardInput() : readTextFile(file, longestPlan);
    if (!text)
        return placed(text.issue(), file, nullptr, arguments);
    Result<TrainingPlan> plan = readPlan(*text);
    if (!plan)
        return placed(plan.issue(), file, &*text, arguments);
    if (file != "-")
        plan->folder = std::filesystem::path(file).parent_path();
    if (std::optional<Issue> issue = applyArguments(*plan, arguments))
        return placed(std::move(*issue), file, &*text, arguments);
    return ReadPlan{std::move(*plan), *text};
}

std::optional<Issue> checkArguments(const PlanArguments &arguments)
{
    if (std::count(arguments.files.begin(), arguments.files.end(), "-") > 1)
        return Issue{"command line", 0, "PLAN", "- is given twice, but there is only one standard input",
                     "give plans as files, or all of them on standard input, one a line, with --jsonl -"};
    TrainingPlan scratch;
    for (const std::string &setting : arguments.settings) {
        const auto sides = splitSetting(setting);
        if (!sides)
            return Issue{"command line", 0, "--set " + setting, "is not PATH=VALUE", "write for example --set batch.micro_batch=4"};
        if (std::optional<Issue> issue = assign(scratch, sides->first, sides->second))
            return onCommandLine(std::move(*issue));
    }
    for (const std::string &id : arguments.gpus)
        if (!findGpu(id))
            return Issue{"command line", 0, "--gpu " + id, "no GPU of the catalogue has this id", "`headroom-cli gpus` lists them"};
    return std::nullopt;
}

Result<TrainingPlan> planArgument(const std::string &file, const PlanArguments &arguments)
{
    Result<ReadPlan> read = readArgument(file, arguments);
    if (!read)
        return read.issue();
    return std::move(read->plan);
}

std::optional<Issue> applyArguments(TrainingPlan &plan, const PlanArguments &arguments)
{
    for (const std::string &setting : arguments.settings) {
        const auto sides = splitSetting(setting);
        if (!sides)
            return checkArguments(arguments);
        if (std::optional<Issue> issue = assign(plan, sides->first, sides->second))
            return onCommandLine(std::move(*issue));
    }
    for (const std::string &id : arguments.gpus)
        if (std::find(plan.gpus.begin(), plan.gpus.end(), id) == plan.gpus.end())
            plan.gpus.push_back(id);
    return std::nullopt;
}

Result<EstimatePointer> estimateChecked(const TrainingPlan &plan)
{
    if (std::vector<Issue> issues = validate(plan); !issues.empty())
        return std::move(issues.front());
    return estimate(plan);
}

std::optional<std::vector<EstimatePointer>> estimateArguments(const PlanArguments &arguments)
{
    if (const std::optional<Issue> issue = checkArguments(arguments)) {
        complain(toString(*issue));
        return std::nullopt;
    }
    std::vector<EstimatePointer> estimates;
    for (const std::string &file : arguments.files) {
        const Result<EstimatePointer> result = estimateArgument(file, arguments);
        if (result)
            estimates.push_back(*result);
        else
            complain(toString(result.issue()));
    }
    if (estimates.size() != arguments.files.size())
        return std::nullopt;
    return estimates;
}

} // namespace headroom::cli
