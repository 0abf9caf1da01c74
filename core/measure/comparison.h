// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"
#include "core/measure/plan_difference.h"
#include "core/measure/probe_result.h"

#include <optional>
#include <string>
#include <vector>

namespace headroom {

struct Gpu;

/// What a row of a comparison belongs to. Totals are those of the first step and of later steps.
enum class ComparisonGroup : std::uint8_t { Parameters, Steady, Activations, FirstStep, LaterSteps };

/// One figure, predicted and measured.
struct ComparisonRow {
    ComparisonGroup group = ComparisonGroup::LaterSteps;
    std::string figure; ///< as the estimate format names it: "peak.allocated", "phases.backward.reserved", "first_step.device"
    std::string label;  ///< for people, within its group: "allocated", "backward, reserved"
    bool count = false; ///< a number of parameters; bytes otherwise
    bool total = false; ///< a step's allocated, reserved or device
    std::int64_t predicted = 0, measured = 0;
    std::optional<double> error; ///< (predicted - measured) / measured; unset where nothing was measured and something predicted
    bool operator==(const ComparisonRow &) const = default;
};

/// A run's figures beside an estimate's. Figures that the run does not have make no row: a dry run knows nothing of reserved and
/// device memory, and a run that died has only what came before.
struct Comparison {
    std::vector<ComparisonRow> rows;
    std::vector<PlanDifference> differences; ///< where the plan that ran is not the estimate's
    std::vector<std::string> notes;          ///< one sentence each: what to know when reading the rows
    std::string ending;                      ///< where the run died, and what the estimate says there; empty: it did not

    /// The largest |error| among the totals; unset where there is none.
    std::optional<double> worstTotal() const;
};

/// A run beside the estimate, with the name that tells it apart from others.
struct MeasuredRun {
    std::string title;
    Comparison comparison;
};

/// A plan to be estimated for a comparison, and in which way it was changed for it.
struct PlanToCompare {
    TrainingPlan plan;
    std::vector<std::string> notes;
};

/// The plan as the run took it: a dry run counts each storage rounded up to 512 bytes and has no cuBLAS workspaces
/// (runtime.allocator, runtime.cublas_workspace_bytes), a run on a GPU is estimated for that GPU where the catalogue has it.
PlanToCompare planToCompare(const TrainingPlan &given, const ProbeResult &result);

/// The GPU of the catalogue that the driver calls this: same compute capability, a capacity within 3 %, and the name's number
/// ("4090", "A100") in the driver's name; null where there is none.
const Gpu *gpuOfProbe(const ProbeGpu &gpu);

/// `estimate` is that of planToCompare(). `given`: the plan as it was given, whose differences from the run are listed.
Comparison compare(const Estimate &estimate, const TrainingPlan &given, const ProbeResult &result);

/// "parameters", "between steps", "saved for backward", "first step", "later steps".
std::string_view title(ComparisonGroup group);

/// "+1.23 %", "-0.04 %", "0 %"; "-" where it is unset.
std::string formatError(const std::optional<double> &error);

} // namespace headroom
