// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/units/result.h"

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

/// What the allocator makes of a request's size before it looks for memory (c10/cuda/CUDACachingAllocator.cpp, PyTorch 2.4:
/// round_size, get_pool, get_allocation_size). Sizes are bytes.
namespace headroom::allocator {

inline constexpr std::uint64_t minBlock = 512;            ///< every block is a multiple of it
inline constexpr std::uint64_t largestSmall = 1 << 20;    ///< rounded requests up to here come from the small pool
inline constexpr std::uint64_t smallSegment = 2 << 20;    ///< segment, or expandable page, of the small pool
inline constexpr std::uint64_t largeSegment = 20 << 20;   ///< segment for rounded requests below ownSegmentFrom; page of the large pool
inline constexpr std::uint64_t ownSegmentFrom = 10 << 20; ///< from here on a segment is the request, rounded to segmentStep
inline constexpr std::uint64_t segmentStep = 2 << 20;
inline constexpr std::uint64_t tooLarge = std::uint64_t{1} << 60; ///< PyTorch refuses requests of 1 EiB and more out of hand

/// roundup_power2_divisions: into how many steps the space between two powers of two is divided, by the size's own power of two.
class RoundupDivisions
{
public:
    /// "" (none), "4" (everywhere) or "[256:1,512:2,>:8]" (from 256 MiB, from 512 MiB, and the rest). As in PyTorch 2.4, '>'
    /// also replaces the last interval named, and the first one named applies to all below it. The Issue names the option.
    static Result<RoundupDivisions> parse(std::string_view text);

    /// 0 or a power of two. `size` > 0.
    std::uint32_t at(std::uint64_t size) const
    {
        const int log2 = std::bit_width(size) - 1;
        return m_table[static_cast<std::size_t>(log2 < 20 ? 0 : log2 > 35 ? 15 : log2 - 20)];
    }
    bool any() const { return m_any; }

private:
    std::array<std::uint32_t, 16> m_table{}; ///< from 1 MiB (and all below) to 32 GiB (and all above)
    bool m_any = false;
};

/// The block that a request of 1 to tooLarge - 1 bytes takes.
inline std::uint64_t roundRequest(std::uint64_t bytes, const RoundupDivisions &divisions)
{
    if (divisions.any() && bytes >= minBlock) {
        const std::uint64_t parts = divisions.at(bytes);
        if (parts > 1 && bytes > minBlock * parts) {
            const std::uint64_t step = std::bit_floor(bytes) / parts;
            return (bytes + step - 1) & ~(step - 1);
        }
    }
    return (bytes + minBlock - 1) & ~(minBlock - 1);
}

/// The segment that is taken for a rounded request that no free block can serve.
inline std::uint64_t segmentSize(std::uint64_t rounded)
{
    if (rounded <= largestSmall)
        return smallSegment;
    if (rounded < ownSegmentFrom)
        return largeSegment;
    return (rounded + segmentStep - 1) & ~(segmentStep - 1);
}

} // namespace headroom::allocator
