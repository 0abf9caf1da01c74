// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"
#include "core/measure/comparison.h"

#include <QString>

#include <array>
#include <optional>
#include <string>

namespace headroom {

/// What a run measured, for charts to mark: highest figures of the first or of later steps.
struct MeasuredStep {
    std::optional<Bytes> allocated, reserved, device;
    std::array<std::optional<Bytes>, phaseCount> phases{}; ///< allocated
    bool isEmpty() const { return !allocated && !reserved && !device; }
    bool operator==(const MeasuredStep &) const = default;
};

struct MeasuredMarks {
    QString run;       ///< its name
    std::string gpuId; ///< of the bar that it belongs to; empty: the first one
    MeasuredStep first, later;
    bool operator==(const MeasuredMarks &) const = default;
    const MeasuredStep &of(Estimate::Step step) const { return step == Estimate::Step::First ? first : later; }
};

MeasuredMarks measuredMarks(const QString &run, const Comparison &comparison, const ProbeResult &result);

} // namespace headroom
