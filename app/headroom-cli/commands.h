// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/headroom-cli/plan_arguments.h"
#include "core/measure/comparison.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::cli {

// The commands, one function each. They return the exit status; standard output and errors are theirs to write.

struct EstimateArguments {
    PlanArguments plans;
    std::string linesFile; ///< --jsonl FILE; empty: not given
    bool json = false;
    bool check = false;
};
int runEstimate(const EstimateArguments &arguments);

struct ReportArguments {
    PlanArguments plans;
    std::string format = "markdown";   ///< markdown | csv | json
    std::vector<std::string> measured; ///< --measured FILE: results of the one plan, for Markdown
};
int runReport(const ReportArguments &arguments);

struct CompareArguments {
    PlanArguments plan;               ///< exactly one file
    std::vector<std::string> results; ///< RESULT...
    std::string format = "text";      ///< text | markdown | csv | json
    std::optional<double> check;      ///< --check: 0.05 for 5%
};
int runCompare(const CompareArguments &arguments);

/// Each result beside an estimate of the plan as it took it; nullopt where something is wrong, which was complained of.
std::optional<std::vector<MeasuredRun>> compareResults(const TrainingPlan &plan, const std::string &planFile,
                                                       const std::vector<std::string> &files);

struct MapArguments {
    PlanArguments plan;                        ///< exactly one file
    std::vector<std::int64_t> microBatches;    ///< --micro-batch; empty: 1 to 16
    std::vector<std::int64_t> sequenceLengths; ///< --sequence-length; empty: powers of two
    bool json = false;
};
int runMap(const MapArguments &arguments);

/// "1..8", "512,1024" or both together; an Issue that names `option` where it is neither.
Result<std::vector<std::int64_t>> mapValues(const char *option, std::string_view text);

/// Answers allocation sequences, a line each.
int runReplayAllocator(const std::string &linesFile);

/// For developers: the engine's allocations in the columns of a PyTorch trace, to be compared with one.
struct TraceArguments {
    PlanArguments plans;
    std::string eventsFile, savedFile; ///< empty: not written
};
int runTrace(const TraceArguments &arguments);

int runPresets(bool json);
int runGpus(bool json, ByteUnit unit);

} // namespace headroom::cli
