// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-cli/plan_arguments.h"

#include "app/headroom-cli/output.h"
#include "core/hardware/gpu.h"
#include "core/plan/fields.h"
#include "core/plan/plan_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
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

Result<TrainingPlan> readFileOrInput(const std::string &file)
{
    if (file != "-")
        return readPlanFile(file);
    Result<std::string> text = readStandardInput();
    return text ? readPlan(*text) : Result<TrainingPlan>(text.issue());
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

} // namespace

std::optional<Issue> checkArguments(const PlanArguments &arguments)
{
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

Result<TrainingPlan> readPlanArgument(const std::string &file, const PlanArguments &arguments)
{
    Result<TrainingPlan> plan = readFileOrInput(file);
    if (!plan) {
        Issue issue = plan.issue();
        if (issue.file.empty())
            issue.file = file == "-" ? "standard input" : file;
        return issue;
    }
    if (std::optional<Issue> issue = applyArguments(*plan, arguments))
        return std::move(*issue);
    return plan;
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
        const auto refuse = [&file](Issue issue) {
            if (issue.file.empty())
                issue.file = file == "-" ? "standard input" : file;
            complain(toString(issue));
        };
        const Result<TrainingPlan> plan = readPlanArgument(file, arguments);
        if (!plan) {
            refuse(plan.issue());
            continue;
        }
        const Result<EstimatePointer> result = estimateChecked(*plan);
        if (result)
            estimates.push_back(*result);
        else
            refuse(result.issue());
    }
    if (estimates.size() != arguments.files.size())
        return std::nullopt;
    return estimates;
}

} // namespace headroom::cli
