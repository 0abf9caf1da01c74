// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/rules.h"

#include <optional>

namespace headroom {

/// Rules of what Liger's kernels within layers make: norms, the halves of a gated MLP, experts. Nothing where the storage is not
/// of them.
std::optional<TensorRule> ligerRule(const autograd::StorageRecord &storage, Component component);

} // namespace headroom
