// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <stdexcept>

namespace headroom {

/// Thrown where a size does not fit 64 bits; estimate() turns it into an Issue, so that an absurd config is a clear error.
struct SizeOverflow : std::overflow_error {
    SizeOverflow()
        : std::overflow_error("a size does not fit into 64 bits")
    {}
};

inline std::int64_t checkedMultiply(std::int64_t a, std::int64_t b)
{
    std::int64_t out = 0;
    if (__builtin_mul_overflow(a, b, &out))
        throw SizeOverflow();
    return out;
}

inline std::int64_t checkedAdd(std::int64_t a, std::int64_t b)
{
    std::int64_t out = 0;
    if (__builtin_add_overflow(a, b, &out))
        throw SizeOverflow();
    return out;
}

/// a / b, rounded up, for a >= 0 and b > 0.
inline std::int64_t divideUp(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

/// `n` rounded up to a multiple of `multiple` (> 0).
inline std::int64_t roundUp(std::int64_t n, std::int64_t multiple) { return checkedAdd(n, multiple - 1) / multiple * multiple; }

} // namespace headroom
