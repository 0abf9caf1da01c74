// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/rules.h"

namespace headroom {

/// Whether a sharding engine made this storage.
bool madeByEngine(const autograd::StorageRecord &storage);

/// ruleFor() of what DeepSpeed allocates.
TensorRule deepSpeedRule(const autograd::StorageRecord &storage, Component component);

} // namespace headroom
