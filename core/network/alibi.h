// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/tensor.h"

#include <cstdint>

namespace headroom::network {

/// What attention with linear biases computes a head's slope from: `slopes` [H] in fp32, and the variables that live beside it
/// until the function that made them returns (transformers 5.24, models/bloom/modeling_bloom.py: _get_alibi_slopes,
/// models/falcon/modeling_falcon.py: build_alibi_tensor). https://arxiv.org/abs/2108.12409
struct AlibiSlopes {
    autograd::Tensor base, powers, slopes, extraBase, extraPowers;
};
AlibiSlopes alibiSlopes(autograd::Tape &tape, std::int64_t heads);

} // namespace headroom::network
