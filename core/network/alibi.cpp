// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/network/alibi.h"

#include "core/autograd/tape.h"

#include <algorithm>
#include <bit>

namespace headroom::network {

using namespace autograd;

AlibiSlopes alibiSlopes(Tape &tape, std::int64_t heads)
{
    // for as many heads as the largest power of two within them; the others' slopes lie between those
    const auto regular = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
    AlibiSlopes out;
    out.base = tape.empty({}, DType::Float32, "aten.full.default");
    out.powers = tape.empty({regular}, DType::Int32, "aten.arange.start");
    out.slopes = tape.empty({regular}, DType::Float32, "aten.pow.Tensor_Tensor");
    if (regular == heads)
        return out;
    const std::int64_t others = heads - regular;
    out.extraBase = tape.empty({}, DType::Float32, "aten.full.default");
    out.extraPowers = tape.empty({others}, DType::Int32, "aten.arange.start_step");
    const Tensor between = tape.empty({others}, DType::Float32, "aten.pow.Tensor_Tensor");
    out.slopes = tape.empty({heads}, DType::Float32, "aten.cat.default");
    return out;
}

} // namespace headroom::network
