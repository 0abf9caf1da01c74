// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/node.h"
#include "core/plan/training_plan.h"

#include <cstdint>
#include <memory>

/// What a plan's checkpointing means for the layers of transformers.
namespace headroom::network {

/// Whether layers are checkpointed at all, some or every one, and not only what lies within them.
bool checkpointsLayers(Checkpointing checkpointing, const Selective &selective);

/// Whether this one is. Every n-th is as transformers 5.24 counts: the first, and so on in steps of n
/// (modeling_utils.py: _set_gradient_checkpointing, every_n_layers). torchtitan begins with the n-th.
bool isCheckpointed(Checkpointing checkpointing, const Selective &selective, std::int64_t layer);

/// Which results one call of a checkpointed layer keeps: those of the operators that the plan names
/// (choices::savedOperators), or of torchtitan's list. Null where it keeps none.
std::unique_ptr<autograd::KeptResultPolicy> makeKeptResultPolicy(const Selective &selective);

} // namespace headroom::network
