// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/allocator/blocks.h"
#include "core/allocator/caching_allocator.h"
#include "core/allocator/free_blocks.h"
#include "core/allocator/size_rules.h"

#include <array>
#include <cassert>
#include <cstdint>
#include <optional>
#include <vector>

namespace headroom::allocator {

/// What a CachingAllocator is made of. The pools are kept apart by stream, so that a search never meets another stream's blocks:
/// pool 2 s holds the small blocks of the s-th stream seen, pool 2 s + 1 the large ones.
struct Implementation {
    struct Pool {
        FreeBlocks free;
        std::vector<BlockIndex> unmapped; ///< by address
    };

    void configure(const AllocatorOptions &options);

    // caching_allocator.cpp
    std::uint32_t poolOf(std::uint32_t stream, bool large)
    {
        if (stream != m_lastStream || m_streams.empty())
            selectStream(stream);
        return m_lastIndex * 2 + (large ? 1 : 0);
    }
    void selectStream(std::uint32_t stream);
    static bool isSmall(std::uint32_t pool) { return pool % 2 == 0; }
    Pool &poolOfBlock(BlockIndex i) { return m_pools[m_blocks[i].pool]; }

    void addFree(BlockIndex i);
    void replaceFree(BlockIndex gone, std::uint64_t goneSize, BlockIndex come);
    void removeFree(BlockIndex i) { poolOfBlock(i).free.remove(m_blocks.data(), i); }
    BlockIndex findBestFit(std::uint32_t pool, std::uint64_t size);
    BlockIndex takeNewSegment(std::uint32_t pool, std::uint64_t size);
    BlockIndex takeWithReleases(std::uint32_t pool, std::uint64_t size);
    bool shouldSplit(std::uint64_t blockSize, std::uint64_t size, bool small) const;
    void setOutOfMemory(std::uint64_t tried);

    // releases.cpp
    void releaseSegment(BlockIndex i);
    void collectGarbage();
    bool releaseOversize(std::uint32_t pool, std::uint64_t size);
    void releaseCache();

    // expandable_segments.cpp
    BlockIndex preferBlocksThatCannotGrow(Pool &pool, BlockIndex found);
    BlockIndex takeByGrowing(std::uint32_t pool, std::uint64_t size);
    BlockIndex findRoomToGrow(std::uint32_t pool, std::uint64_t size);
    bool map(BlockIndex i, std::uint64_t size);
    void unmapWholePages(BlockIndex i);
    void addUnmapped(BlockIndex i);
    void removeUnmapped(BlockIndex i);
    std::uint64_t unmappedBehind(BlockIndex i) const;
    static std::uint64_t pageSize(std::uint32_t pool) { return isSmall(pool) ? smallSegment : largeSegment; }

    // Options
    std::uint64_t m_capacity = 0;
    std::uint64_t m_allowed = 0;      ///< by the memory fraction
    std::uint64_t m_maxSplitSize = 0; ///< UINT64_MAX: not set
    std::uint64_t m_garbageLimit = 0; ///< reserved bytes above which garbage is collected
    bool m_hasFraction = false;
    bool m_collectsGarbage = false;
    bool m_expandable = false;
    RoundupDivisions m_divisions;

    // State
    BlockStore m_blocks;
    std::vector<Pool> m_pools; ///< may be more than two a stream: buffers of an earlier life
    std::vector<std::uint32_t> m_streams;
    std::uint32_t m_lastStream = 0, m_lastIndex = 0; ///< the stream last asked for and its place in m_streams
    std::uint64_t m_nextAddress = 0;
    std::array<std::uint32_t, 2> m_searches{}; ///< of all small and of all large pools; counted where garbage is collected
    std::uint64_t m_allocated = 0, m_reserved = 0;
    std::int64_t m_retries = 0, m_deviceCalls = 0;
    std::optional<CachingAllocator::OutOfMemory> m_outOfMemory;
    std::vector<BlockIndex> m_scratch;

    void logSegment(std::uint64_t address, std::uint64_t bytes, bool taken)
    {
        if (m_segmentLog != nullptr)
            m_segmentLog->push_back({address, bytes, taken});
    }
    void logPages(std::uint64_t address, std::uint64_t bytes, std::uint64_t page, bool taken)
    {
        for (std::uint64_t at = 0; m_segmentLog != nullptr && at < bytes; at += page)
            logSegment(address + at, page, taken);
    }
    std::vector<SegmentChange> *m_segmentLog = nullptr;
};

} // namespace headroom::allocator
