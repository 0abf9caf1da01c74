// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/network/modules.h"

namespace headroom::network {

/// PEFT 0.21's DoRA (peft/tuners/lora/dora.py): a trained magnitude for each output of an adapted Linear or embedding.
/// No function here is to be called within a stopped recomputation.

/// update_layer(): the magnitude starts as the norm of the base's rows, which takes the base's weight, dequantised where it
/// is quantised, and the adapter's product of the same size.
Tensor initialMagnitude(Tape &tape, const Linear &module);

/// forward(): what is added to the base's result. The norm of base plus adapter is computed anew at every call, by sending
/// an identity matrix of the input's width through the adapter. `baseResult`: what the base returned for `x`; undefined
/// where `x` was dropped out and the product with the base is taken again.
Tensor doraUpdate(const Linear &module, const Tensor &x, const Tensor &baseResult);

/// The same for an embedding (DoraEmbeddingLayer): a magnitude for each of the model's dimensions.
Tensor initialMagnitude(Tape &tape, const Embedding &module);

/// What an embedding's DoRA adds, and what it multiplies the rows that were found by (DoraEmbeddingLayer.forward).
struct DoraRows {
    Tensor scale, update;
};
DoraRows doraRows(const Embedding &module, const Tensor &indices);

} // namespace headroom::network
