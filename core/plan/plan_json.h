// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/plan/training_plan.h"
#include "core/units/result.h"

#include <string>
#include <string_view>

namespace headroom {

/// Newest plan format that this program reads and the one it writes.
inline constexpr int planFormat = 1;

/// Reads one plan. Unknown and duplicate keys, wrong types, values out of range, a newer format number, invalid UTF-8
/// and nesting deeper than 64 are an Issue with the field's path, the line and how to mend it. Never throws.
Result<TrainingPlan> readPlan(std::string_view json);

/// Reads a file (at most 16 MiB); the Issue carries the file's name. Sets `folder`.
Result<TrainingPlan> readPlanFile(const std::filesystem::path &file);

/// The line of a plan's text in which the value at this path stands ("gpus[1]", "model.config.hidden_size"), or where it is left
/// out, the innermost group around it; 0 where there is none. For issues found after reading, which know the path alone.
int lineOf(std::string_view json, std::string_view path);

enum class PlanStyle {
    Short,    ///< only what differs from the defaults (and the format number and the model)
    Complete, ///< every field
};

/// The plan as JSON text (2-space indent where `indent`, else one line). readPlan() of it gives an equal plan.
std::string writePlan(const TrainingPlan &plan, PlanStyle style = PlanStyle::Short, bool indent = true);

/// `--set batch.micro_batch=4`: sets one field by its path. The value is JSON; text that is not JSON is taken as a string.
/// Lists and objects are given whole (method.targets, selective, gpus, model.config).
std::optional<Issue> assign(TrainingPlan &plan, std::string_view path, std::string_view value);

} // namespace headroom
