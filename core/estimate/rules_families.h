// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/rules.h"

#include <optional>

namespace headroom {

/// Rules for what only some model families allocate: routed experts, LayerNorms, MLPs without a gate, joined projections,
/// dropout on what a module returns. `group`: the part of the model that the module belongs to. Nothing where none applies.
std::optional<TensorRule> familyRule(const autograd::StorageRecord &storage, const char *group);

/// The same for weights.
std::optional<TensorRule> familyWeightRule(const autograd::StorageRecord &storage, const char *group);

} // namespace headroom
