// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-cli/commands.h"
#include "app/headroom-cli/estimate_text.h"
#include "app/headroom-cli/json_lines.h"
#include "app/headroom-cli/output.h"
#include "core/estimate/checkpointing_cost.h"
#include "core/plan/plan_json.h"

#include <algorithm>
#include <atomic>
#include <filesystem>

namespace headroom::cli {

namespace {

bool fitsEverywhere(const Estimate &estimate)
{
    return std::all_of(estimate.gpus.begin(), estimate.gpus.end(), [](const GpuEstimate &gpu) { return gpu.fits; });
}

int estimateLines(const EstimateArguments &arguments)
{
    if (const std::optional<Issue> issue = checkArguments(arguments.plans)) {
        complain(toString(*issue));
        return BadInput;
    }
    std::filesystem::path folder; // where config_path is looked for: beside the file, as for a plan's own
    if (arguments.linesFile != "-")
        folder = std::filesystem::path(arguments.linesFile).parent_path();
    std::atomic<bool> allFit = true;
    const LineAnswer answer = [&](std::string_view line) -> Result<std::string> {
        Result<TrainingPlan> plan = readPlan(line);
        if (!plan)
            return plan.issue();
        plan->folder = folder;
        if (std::optional<Issue> issue = applyArguments(*plan, arguments.plans))
            return std::move(*issue);
        const Result<EstimatePointer> result = estimateChecked(*plan);
        if (!result)
            return result.issue();
        if (!fitsEverywhere(**result))
            allFit = false;
        return writeEstimate(**result);
    };
    Output output;
    const int status = answerLines(arguments.linesFile, answer, output);
    return output.finish(status == Success && arguments.check && !allFit ? DoesNotFit : status);
}

std::string jsonText(const std::vector<EstimatePointer> &estimates)
{
    if (estimates.size() == 1)
        return writeEstimate(*estimates.front(), true, bytesSavedByCheckpointing(*estimates.front())) + '\n';
    std::string text = "[";
    for (std::size_t i = 0; i < estimates.size(); ++i)
        text += (i == 0 ? "\n" : ",\n") + writeEstimate(*estimates[i], false, bytesSavedByCheckpointing(*estimates[i]));
    return text + "\n]\n";
}

} // namespace

int runEstimate(const EstimateArguments &arguments)
{
    if (!arguments.linesFile.empty())
        return estimateLines(arguments);
    const std::optional<std::vector<EstimatePointer>> estimates = estimateArguments(arguments.plans);
    if (!estimates)
        return BadInput;

    Output output;
    if (arguments.json) {
        output.write(jsonText(*estimates));
    } else {
        for (std::size_t i = 0; i < estimates->size(); ++i)
            output.write((i == 0 ? "" : "\n\n") + formatEstimate(*(*estimates)[i], arguments.plans.unit));
    }
    const bool allFit =
        std::all_of(estimates->begin(), estimates->end(), [](const EstimatePointer &estimate) { return fitsEverywhere(*estimate); });
    return output.finish(arguments.check && !allFit ? DoesNotFit : Success);
}

} // namespace headroom::cli
