// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/trace.h"

#include <array>
#include <optional>

namespace headroom::training {

/// How many groups of layers (see below) the shallower model may have that a deeper model's trace is made from; the first that do
/// are taken.
inline constexpr std::array groupsToExecute{4, 6};

/// The layer of such a model that stands for those it lacks.
constexpr int middleLayer(int executed) { return executed / 2 - 1; }

/// The trace of a model of `layers` equal layers, made from the trace of one of `executed`, which is even: half of them at
/// either end keep their own events, and of the two in the middle the lower one stands for all between.
///
/// In a trace each layer owns a stretch of events in every pass over the layers (forward, backward, the optimizer's loops).
/// Where the stretches of the two layers in the middle are equal, all that they allocate, and release of their own, of
/// their neighbours' and of what all share, then a layer between them finds the same state and does the same: PyTorch
/// knows nothing of a layer's number. (That its configuration gives every layer the same to do is the caller's to know:
/// ModelConfig::uniformLayers().) That equality is checked event by event; an empty optional says that it does not
/// hold, or that a layer refers to one so far away that it may be counted from either end: then more layers are needed, or the
/// whole model (tests/core/test_training.cpp and test_traces.cpp compare both ways).
///
/// Where only every n-th layer is like the one before, `period` is n, and groups of n layers take the place of layers: the
/// trace is of `executed` groups and of what is left over, which the last group takes in.
std::optional<autograd::Trace> repeatLayers(const autograd::Trace &trace, int executed, int layers, int period = 1);

} // namespace headroom::training
