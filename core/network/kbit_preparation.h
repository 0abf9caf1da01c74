// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/network/visitor.h"

#include <functional>

namespace headroom::network {

/// PEFT 0.21's prepare_model_for_kbit_training(): every 16-bit parameter that is not quantised (norms, biases, embedding,
/// output head) becomes fp32, one after the other, the old one released as the new one is there; then the cache is given
/// back. Frozen they are already. A model whose weights are GPTQ's it leaves as it is.
void prepareForKbitTraining(Tape &tape, const std::function<void(ModuleVisitor &)> &visit);

} // namespace headroom::network
