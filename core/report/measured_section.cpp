// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/report/measured.h"

#include "core/measure/comparison.h"
#include "core/plan/plan_json.h"
#include "core/report/sections.h"
#include "core/units/strict_json.h"
#include "core/units/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom {

namespace {

std::string amount(const ComparisonRow &row, std::int64_t value, ByteUnit unit)
{
    return row.count ? formatCount(value) : formatBytes({value}, unit);
}

/// A row of the report's one page: what is compared first of all, of every run.
bool isMain(const ComparisonRow &row)
{
    return row.total || row.group == ComparisonGroup::Steady || row.group == ComparisonGroup::Activations;
}

} // namespace

ReportTable comparisonTable(const Comparison &comparison, ByteUnit unit)
{
    ReportTable table{{}, {"Figure", "", "Predicted", "Measured", "Error"}, {false, false, true, true, true}, {}};
    std::optional<ComparisonGroup> group;
    for (const ComparisonRow &row : comparison.rows) {
        const bool begins = group != row.group;
        group = row.group;
        table.rows.push_back({begins ? capitalised(title(row.group)) : "", row.label, amount(row, row.predicted, unit),
                              amount(row, row.measured, unit), formatError(row.error)});
    }
    return table;
}

std::string comparisonSummary(const Comparison &comparison)
{
    std::string text;
    for (const auto &[figure, label] :
         {std::pair("peak.allocated", "allocated"), std::pair("peak.reserved", "reserved"), std::pair("peak.device", "device")}) {
        const std::string_view wanted = figure;
        const auto row =
            std::find_if(comparison.rows.begin(), comparison.rows.end(), [&](const ComparisonRow &r) { return r.figure == wanted; });
        if (row != comparison.rows.end())
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", label, formatError(row->error));
    }
    return text.empty() ? std::string() : fmt::format("Predicted against measured, later steps: {}.", text);
}

ReportSection measuredSection(std::span<const MeasuredRun> runs, ByteUnit unit)
{
    ReportSection section;
    section.heading = "Predicted and measured";
    section.paragraphs.emplace_back("What the probe measured when it ran this plan, beside what was predicted. The error is predicted "
                                    "minus measured, as a share of measured.");
    for (const MeasuredRun &run : runs) {
        ReportTable table = comparisonTable(run.comparison, unit);
        table.title = run.title;
        // One page: phases only where there is a single run.
        if (runs.size() > 1) {
            table.rows.clear();
            std::optional<ComparisonGroup> group;
            for (const ComparisonRow &row : run.comparison.rows) {
                if (!isMain(row))
                    continue;
                const bool begins = group != row.group;
                group = row.group;
                table.rows.push_back({begins ? capitalised(title(row.group)) : "", row.label, amount(row, row.predicted, unit),
                                      amount(row, row.measured, unit), formatError(row.error)});
            }
        }
        std::string about;
        if (!run.comparison.differences.empty())
            about =
                fmt::format("{}: the plan that ran differs from this one in {}.", run.title, differencesText(run.comparison.differences));
        if (!about.empty())
            section.paragraphs.push_back(std::move(about));
        if (!run.comparison.ending.empty())
            section.paragraphs.push_back(fmt::format("{}: {}", run.title, run.comparison.ending));
        section.tables.push_back(std::move(table));
    }
    return section;
}

std::string writeComparisonCsv(std::span<const MeasuredRun> runs)
{
    std::string out = "result,figure,predicted,measured,error\r\n";
    for (const MeasuredRun &run : runs)
        for (const ComparisonRow &row : run.comparison.rows)
            out += fmt::format("{},{},{},{},{}\r\n", csvField(run.title), csvField(row.figure), row.predicted, row.measured,
                               row.error ? fmt::format("{:.6g}", *row.error) : "");
    return out;
}

std::string writeComparisonJson(std::span<const MeasuredRun> runs)
{
    const bool several = runs.size() > 1;
    JsonValue::Array rows, results;
    for (const MeasuredRun &run : runs) {
        for (const ComparisonRow &row : run.comparison.rows) {
            JsonValue::Object object;
            if (several)
                object.push_back({"result", 0, {run.title, 0}});
            object.push_back({"figure", 0, {row.figure, 0}});
            object.push_back({"predicted", 0, {row.predicted, 0}});
            object.push_back({"measured", 0, {row.measured, 0}});
            object.push_back({"error", 0, row.error ? JsonValue{*row.error, 0} : JsonValue()});
            rows.push_back({std::move(object), 0});
        }
        const auto list = [](auto &&from, auto &&write) {
            JsonValue::Array array;
            for (const auto &item : from)
                array.push_back(write(item));
            return JsonValue{std::move(array), 0};
        };
        JsonValue::Object about;
        about.push_back({"result", 0, {run.title, 0}});
        about.push_back({"differences", 0, list(run.comparison.differences, [](const PlanDifference &difference) {
                             return JsonValue{JsonValue::Object{{"field", 0, {difference.path, 0}},
                                                                {"ran", 0, {difference.ran, 0}},
                                                                {"given", 0, {difference.given, 0}}},
                                              0};
                         })});
        about.push_back({"notes", 0, list(run.comparison.notes, [](const std::string &note) { return JsonValue{note, 0}; })});
        about.push_back({"ending", 0, run.comparison.ending.empty() ? JsonValue() : JsonValue{run.comparison.ending, 0}});
        results.push_back({std::move(about), 0});
    }
    return writeJson({JsonValue::Object{{"rows", 0, {std::move(rows), 0}}, {"results", 0, {std::move(results), 0}}}, 0}, 2) + '\n';
}

} // namespace headroom
