// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-cli/commands.h"
#include "app/headroom-cli/output.h"
#include "app/output_file.h"
#include "core/estimate/trace_writer.h"

#include <fmt/format.h>

#include <filesystem>

namespace headroom::cli {

namespace {

/// What is wrong with a file that is to be written: it is one that is read, or cannot be written at all.
std::optional<Issue> wrongWith(const std::string &option, const std::string &file, const std::vector<std::string> &others)
{
    if (file.empty())
        return std::nullopt;
    std::error_code ignored;
    for (const std::string &other : others)
        if (file == other || std::filesystem::equivalent(file, other, ignored))
            return Issue{file, 0, option, "is another file of this command line", "name a file of its own"};
    return checkWritable(file);
}

bool write(const std::string &file, const std::string &text)
{
    if (file.empty())
        return true;
    if (const std::optional<Issue> issue = writeFile(throughLink(file), text)) {
        complain(toString(*issue));
        return false;
    }
    return true;
}

} // namespace

int runTrace(const TraceArguments &arguments)
{
    const auto estimates = estimateArguments(arguments.plans);
    if (!estimates)
        return BadInput;
    const Estimate &estimate = *estimates->front();
    std::vector<std::string> others = arguments.plans.files;
    if (!estimate.plan.model.configPath.empty())
        others.push_back((estimate.plan.folder / estimate.plan.model.configPath).string());
    std::optional<Issue> issue = wrongWith("--events", arguments.eventsFile, others);
    others.push_back(arguments.eventsFile);
    if (!issue)
        issue = wrongWith("--saved", arguments.savedFile, others);
    if (issue) {
        complain(toString(*issue));
        return issue->where.empty() ? OutputFailed : BadInput;
    }
    return write(arguments.eventsFile, writeTraceEvents(estimate)) && write(arguments.savedFile, writeTraceSaved(estimate)) ? Success
                                                                                                                            : OutputFailed;
}

} // namespace headroom::cli
