// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/trace.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace headroom::training {

/// The event with which the trace's last step begins; the number of events where it has no step.
std::uint32_t lastStep(const autograd::Trace &trace);

/// A storage that a step found and released, and its like that the step left.
struct Replacement {
    autograd::StorageId taken = autograd::noStorage, left = autograd::noStorage;
};

/// What the last step replaces; nothing where it leaves more, less or other than it takes away. Where it replaces all that it
/// takes, the next step is the same, storage for storage, and it can be replayed once more as it stands, with each `left` in
/// its `taken`'s place.
std::optional<std::vector<Replacement>> replacements(const autograd::Trace &trace);

/// Appends the last step once more, with storages of its own. That is what executing it again would give where a step
/// leaves nothing behind and takes nothing away, but for what the step before left and it replaces by its like
/// (tests/core/test_training.cpp compares the two). False, and nothing is changed, where it is not so.
bool repeatLastStep(autograd::Trace &trace);

/// Puts `times` copies of the last step's only micro-batch before it, with storages of their own. That is what executing them
/// would give where the micro-batch does what the last one of the step before did, leaves nothing behind and takes nothing
/// away (tests/core/test_deepspeed.cpp compares the two). False, and nothing is changed, where it is not so.
bool repeatMicroBatch(autograd::Trace &trace, int times);

} // namespace headroom::training
