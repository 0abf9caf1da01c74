// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"
#include "core/units/bytes.h"

#include <optional>
#include <string>
#include <vector>

namespace headroom::cli {

/// What every command that takes plans understands.
struct PlanArguments {
    std::vector<std::string> files;    ///< PLAN...; "-": standard input
    std::vector<std::string> settings; ///< --set PATH=VALUE
    std::vector<std::string> gpus;     ///< --gpu ID
    ByteUnit unit = ByteUnit::Binary;  ///< --unit
};

/// Carries out --set and --gpu. An Issue where one is wrong; the plan may then be half changed.
std::optional<Issue> applyArguments(TrainingPlan &plan, const PlanArguments &arguments);

/// Checks PLAN..., --set and --gpu by themselves, so that a slip in them is said once and not for every plan.
std::optional<Issue> checkArguments(const PlanArguments &arguments);

/// The plan of one PLAN with --set and --gpu carried out. What is wrong with it is placed in its file or on the command line.
Result<TrainingPlan> planArgument(const std::string &file, const PlanArguments &arguments);

/// What one PLAN says, --set and --gpu carried out, and the text that says it.
struct ReadPlan {
    TrainingPlan plan;
    std::string text;
};
Result<ReadPlan> readArgument(const std::string &file, const PlanArguments &arguments);

/// An issue of a plan that was given as `file`, placed in that file or on the command line, wherever it was given.
/// `text`: the plan's, null where it could not be read.
Issue placed(Issue issue, const std::string &file, const std::string *text, const PlanArguments &arguments);

using EstimatePointer = std::shared_ptr<const Estimate>;

/// The estimates of all plans. Where some are wrong all of those are complained of on standard error, and nullopt comes back.
std::optional<std::vector<EstimatePointer>> estimateArguments(const PlanArguments &arguments);

/// What is wrong with the plan as a whole, or its estimate.
Result<EstimatePointer> estimateChecked(const TrainingPlan &plan);

} // namespace headroom::cli
