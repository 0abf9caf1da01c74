// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/rules.h"

#include <optional>

namespace headroom {

/// Rules of what quantisation, adapters' variants, optimizers other than Adam, and the losses that need no logits make;
/// nothing where the storage is not of them. `group`: the part of the model that it belongs to.
std::optional<TensorRule> methodRule(const autograd::StorageRecord &storage, Component component, const char *group);

} // namespace headroom
