// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"

#include <string>

namespace headroom {

/// Method and engine, as presets/error_bands.json names them: "lora-single", "full-zero3", "full-fsdp2".
std::string regimeOf(const TrainingPlan &plan);

/// How far predictions of this plan's regime were from published measurements: presets/error_bands.json, which
/// presets/make_error_bands.py makes and describes. Regime "unvalidated" without figures where nothing is known, and for
/// plans whose figures no GPU shows: a stack other than transformers, and runtime.allocator "rounded".
Band errorBand(const TrainingPlan &plan);

} // namespace headroom
