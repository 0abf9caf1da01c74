// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/trace.h"

#include <optional>

namespace headroom::training {

/// Layers that are executed when a deeper model's trace is made from a shallower one's: three at either end keep their
/// own events, the third stands for all between.
inline constexpr int executedLayers = 6;

/// The trace of a model of `layers` equal layers, made from the trace of one of `executedLayers`.
///
/// In a trace each layer owns a stretch of events in every pass over the layers (forward, backward, the optimizer's loops).
/// Where the stretches of the third and the fourth layer are equal, all that they allocate, and release of their own, of
/// their neighbours' and of what all share, then a layer between them finds the same state and does the same: PyTorch
/// knows nothing of a layer's number. That equality is checked event by event; an empty optional says that it does not
/// hold, and the model is then executed whole (tests/core/test_training.cpp compares both ways).
///
/// Where only every n-th layer is like the one before, `period` is n, and groups of n layers take the place of layers: the
/// trace is of executedLayers groups and of what is left over, which the last group takes in.
std::optional<autograd::Trace> repeatLayers(const autograd::Trace &trace, int layers, int period = 1);

} // namespace headroom::training
