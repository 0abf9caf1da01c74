// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-cli/commands.h"
#include "app/headroom-cli/output.h"
#include "core/report/report.h"

namespace headroom::cli {

int runReport(const ReportArguments &arguments)
{
    const std::optional<std::vector<EstimatePointer>> estimates = estimateArguments(arguments.plans);
    if (!estimates)
        return BadInput;
    std::optional<std::vector<MeasuredRun>> runs = std::vector<MeasuredRun>();
    if (!arguments.measured.empty())
        runs = compareResults(estimates->front()->plan, arguments.plans.files.front(), arguments.measured);
    if (!runs)
        return BadInput;
    Output output;
    if (arguments.format == "csv") {
        output.write(writeCsv(*estimates));
    } else if (arguments.format == "json") {
        output.write(writeJson(*estimates));
    } else {
        for (std::size_t i = 0; i < estimates->size(); ++i)
            output.write((i == 0 ? "" : "\n") + writeMarkdown(buildReport(*(*estimates)[i], arguments.plans.unit, *runs)));
    }
    return output.finish(Success);
}

} // namespace headroom::cli
