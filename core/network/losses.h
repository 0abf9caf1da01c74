// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/network/modules.h"

namespace headroom::network {

/// Tokens that a chunked loss divides into so many chunks; the number of tokens must be a multiple of it.
inline constexpr std::int64_t lossChunks = 8;

/// Output head and cross-entropy an eighth of the tokens at a time, each with its backward at once, as torchtitan's
/// ChunkedLossWrapper does (torchtitan/components/loss.py): the logits of a chunk are all that ever exists, and the
/// gradient of the hidden states is summed up in fp32. `hidden` is [B, S, h]; scalar result.
Tensor chunkedLoss(const Linear &head, const Tensor &hidden, const Tensor &labels);

/// Liger's LigerFusedLinearCrossEntropyFunction 0.8.5: forward makes the gradients of hidden states and head weight as it
/// goes over chunks of tokens, as many as make a chunk's logits about `budget` times as large as the hidden states.
Tensor fusedLinearLoss(const Linear &head, const Tensor &hidden, const Tensor &labels, const GpuProperties &gpu, std::int64_t budget);

} // namespace headroom::network
