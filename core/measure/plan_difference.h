// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/plan/training_plan.h"

#include <string>
#include <vector>

namespace headroom {

/// A field in which a plan that ran differs from another plan.
struct PlanDifference {
    std::string path;  ///< "batch.micro_batch", "model", "selective"
    std::string label; ///< "Micro-batch"
    std::string ran;   ///< for people: "1 sequence"
    std::string given; ///< what the other plan says
    bool operator==(const PlanDifference &) const = default;
};

/// Where what `ran` was another run than what `given` describes, in the order of the format. Names and the GPUs that a plan is
/// judged on decide nothing of a run; a preset and the same model's config.json are one model. Fields that have no effect in both
/// plans are passed over.
std::vector<PlanDifference> planDifferences(const TrainingPlan &ran, const TrainingPlan &given);

/// "Micro-batch (1 sequence there, 2 sequences here), Checkpointing (...)": in one line.
std::string differencesText(const std::vector<PlanDifference> &differences);

} // namespace headroom
