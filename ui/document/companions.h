// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/plan/training_plan.h"

#include <string_view>

namespace headroom {

/// A change that alone makes no plan brings with it what it needs: more than one GPU needs an engine, no engine means one
/// GPU and no ZeRO stage. `path` is the field that was just set in `plan`; true: something else was set too.
bool settleCompanions(TrainingPlan &plan, std::string_view path);

/// Whether a change of this field makes the field itself apply: the form offers it although it has no effect as it stands.
bool bringsWhatItNeeds(std::string_view path);

} // namespace headroom
