// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/trace.h"
#include "core/estimate/estimate.h"

namespace headroom {

/// What a tensor is, for people: where it belongs, what to call it, the rule that puts it there, and whose rule it is.
struct TensorRule {
    const char *group;  ///< "attention", "MLP", "norms" ...
    const char *label;  ///< "fp32 copy of the norm's input"
    const char *rule;   ///< one sentence
    const char *source; ///< repository, file and version, or paper and equation
};

/// `component` decides the point of view: the same operator's result is an activation where it is saved.
TensorRule ruleFor(const autograd::StorageRecord &storage, Component component);

} // namespace headroom
