// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"

#include <optional>
#include <stop_token>
#include <string>

namespace headroom {

/// What checkpointing saves: the saved activations of the same plan without it, less those of the plan, each storage rounded up
/// to 512 bytes. A step is executed once more for that, so it is asked for where it is shown and not with every estimate.
/// Nothing where nothing is checkpointed, or where the engine does not execute the plan without checkpointing.
std::optional<Bytes> bytesSavedByCheckpointing(const Estimate &estimate, std::stop_token cancel = {});

/// "Without checkpointing it would be 1.2 GiB more", said after what is kept for backward. Less it would be where a checkpoint
/// keeps inputs that nothing else does.
std::string savedSentence(Bytes saved, ByteUnit unit);

/// "Checkpointing runs 12.3 TFLOPs of a step's forward passes again, 33 % of them": what it costs. Empty where nothing is
/// checkpointed.
std::string recomputationSentence(const Estimate &estimate);

/// "Of bmm and softmax no result is kept: ...": of the operators whose results are to be kept, those without any. Empty
/// where all have some.
std::string unkeptOperatorsSentence(const Estimate &estimate);

/// "1.2 TFLOPs"
std::string formatFlops(double flops);

} // namespace headroom
