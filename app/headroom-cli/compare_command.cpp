// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-cli/commands.h"
#include "app/headroom-cli/output.h"
#include "app/headroom-cli/text_table.h"
#include "core/measure/comparison.h"
#include "core/measure/probe_result.h"
#include "core/plan/plan_json.h"
#include "core/report/measured.h"
#include "core/units/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace headroom::cli {

namespace {

struct Compared {
    std::vector<MeasuredRun> runs;
    std::string planTitle;
};

} // namespace

std::optional<std::vector<MeasuredRun>> compareResults(const TrainingPlan &plan, const std::string &planFile,
                                                       const std::vector<std::string> &files)
{
    std::vector<ProbeResult> results;
    for (const std::string &file : files) {
        Result<ProbeResult> result = readProbeFile(file);
        if (result)
            results.push_back(std::move(*result));
        else
            complain(toString(result.issue()));
    }
    if (results.size() != files.size())
        return std::nullopt;
    std::vector<MeasuredRun> runs;
    for (std::size_t i = 0; i < results.size(); ++i) {
        const Result<EstimatePointer> predicted = estimateChecked(planToCompare(plan, results[i]).plan);
        if (!predicted) {
            Issue issue = predicted.issue();
            if (issue.file.empty())
                issue.file = planFile;
            complain(toString(issue));
            return std::nullopt;
        }
        runs.push_back({files[i], compare(**predicted, plan, results[i])});
    }
    return runs;
}

namespace {

/// The plan with --set and --gpu carried out, beside every result; what is wrong is complained of.
std::optional<Compared> compareFiles(const CompareArguments &arguments)
{
    if (const std::optional<Issue> issue = checkArguments(arguments.plan)) {
        complain(toString(*issue));
        return std::nullopt;
    }
    const Result<TrainingPlan> plan = planArgument(arguments.plan.files.front(), arguments.plan);
    if (!plan) {
        complain(toString(plan.issue()));
        return std::nullopt;
    }
    std::optional<std::vector<MeasuredRun>> runs = compareResults(*plan, arguments.plan.files.front(), arguments.results);
    if (!runs)
        return std::nullopt;
    return Compared{std::move(*runs), planTitle(*plan)};
}

std::string textOf(const MeasuredRun &run, ByteUnit unit)
{
    std::string out = formatTable(comparisonTable(run.comparison, unit));
    if (run.comparison.rows.empty())
        out = "Nothing was measured that could be laid beside the estimate.\n";
    if (!run.comparison.ending.empty())
        out += '\n' + wrapped(run.comparison.ending, {}) + '\n';
    if (!run.comparison.differences.empty())
        out += '\n' + wrapped("The plan that ran differs from this one: " + differencesText(run.comparison.differences) + '.', {}) + '\n';
    if (!run.comparison.notes.empty())
        out += "\nNotes\n";
    for (const std::string &note : run.comparison.notes)
        out += "  " + wrapped(note, "    ") + '\n';
    return out;
}

std::string markdownOf(const Compared &compared, ByteUnit unit)
{
    Report report;
    report.title = compared.planTitle;
    for (const MeasuredRun &run : compared.runs) {
        ReportSection section;
        section.heading = run.title;
        if (!run.comparison.ending.empty())
            section.paragraphs.push_back(run.comparison.ending);
        if (!run.comparison.differences.empty())
            section.paragraphs.push_back("The plan that ran differs from this one: " + differencesText(run.comparison.differences) + '.');
        for (const std::string &note : run.comparison.notes)
            section.paragraphs.push_back(note);
        section.tables.push_back(comparisonTable(run.comparison, unit));
        report.sections.push_back(std::move(section));
    }
    return writeMarkdown(report);
}

/// Whether some total is further off than the limit. Says which on standard error; a result without totals passes nothing.
bool isBeyond(const Compared &compared, double limit)
{
    bool beyond = false;
    for (const MeasuredRun &run : compared.runs) {
        if (!run.comparison.worstTotal()) {
            complain(fmt::format("{}: no total of a step was measured: nothing to check", run.title));
            beyond = true;
        }
        for (const ComparisonRow &row : run.comparison.rows)
            if (row.total && !(row.error && std::abs(*row.error) <= limit)) {
                complain(fmt::format("{}: {} is off by {}, beyond {:g} %", run.title, row.figure, formatError(row.error), limit * 100));
                beyond = true;
            }
    }
    return beyond;
}

} // namespace

int runCompare(const CompareArguments &arguments)
{
    const std::optional<Compared> compared = compareFiles(arguments);
    if (!compared)
        return BadInput;
    Output output;
    const ByteUnit unit = arguments.plan.unit;
    if (arguments.format == "json") {
        output.write(writeComparisonJson(compared->runs));
    } else if (arguments.format == "csv") {
        output.write(writeComparisonCsv(compared->runs));
    } else if (arguments.format == "markdown") {
        output.write(markdownOf(*compared, unit));
    } else {
        output.write(compared->planTitle + '\n');
        for (const MeasuredRun &run : compared->runs)
            output.write('\n' + (compared->runs.size() > 1 ? run.title + '\n' : std::string()) + textOf(run, unit));
    }
    const bool failed = arguments.check && isBeyond(*compared, *arguments.check);
    return output.finish(failed ? DoesNotFit : Success);
}

} // namespace headroom::cli
