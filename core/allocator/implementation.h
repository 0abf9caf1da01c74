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

/// What a CachingAllocator is made of; the replay of whole traces (core/estimate/replay.cpp) drives it itself, to have it inlined. The
/// pools are kept apart by stream, so that a search never meets another stream's blocks: pool 2 s holds the small blocks of the s-th stream
/// seen, pool 2 s + 1 the large ones.
struct Implementation {
    struct Pool {
        FreeBlocks free;
        std::vector<BlockIndex> unmapped; ///< by address
    };

    void configure(const AllocatorOptions &options);

    BlockIndex allocate(std::int64_t bytes, std::uint32_t stream);
    void release(BlockIndex block);

    /// Whether a request's block is the best fit for its size and nothing else: no option tells one free block from another.
    bool isPlainBestFit() const { return !m_expandable && !m_collectsGarbage && m_maxSplitSize == UINT64_MAX; }

    std::uint64_t rounded(std::int64_t bytes) const { return roundRequest(static_cast<std::uint64_t>(bytes), m_divisions); }

    // caching_allocator.cpp
    std::uint32_t poolOf(std::uint32_t stream, bool large)
    {
        if (stream != m_lastStream)
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
    std::uint64_t m_foundSize = 0; ///< of the free block that the last request was cut from, or that it took whole
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

// What every allocation and release runs through stands here, to be compiled into them.

inline void Implementation::addFree(BlockIndex i)
{
    Block &block = m_blocks[i];
    block.state = Block::State::Free;
    if (m_collectsGarbage)
        block.freedAt = m_searches[block.pool % 2];
    m_pools[block.pool].free.insert(m_blocks.data(), i);
}

/// The free block `gone`, which had `goneSize` bytes, is none any more; `come`, of its pool, is one instead.
inline void Implementation::replaceFree(BlockIndex gone, std::uint64_t goneSize, BlockIndex come)
{
    Block &block = m_blocks[come];
    block.state = Block::State::Free;
    if (m_collectsGarbage)
        block.freedAt = m_searches[block.pool % 2];
    m_pools[block.pool].free.replace(m_blocks.data(), gone, goneSize, come);
}

/// A free block, which stays one.
inline BlockIndex Implementation::findBestFit(std::uint32_t pool, std::uint64_t size)
{
    if (m_collectsGarbage)
        ++m_searches[pool % 2];
    BlockIndex found = m_pools[pool].free.bestFit(m_blocks.data(), size);
    if (found == noBlockIndex)
        return noBlockIndex;
    if (m_expandable)
        found = preferBlocksThatCannotGrow(m_pools[pool], found);
    // Oversize blocks are kept for oversize requests of about their size.
    const std::uint64_t foundSize = m_blocks[found].size;
    if (foundSize >= m_maxSplitSize && (size < m_maxSplitSize || foundSize >= size + largeSegment))
        return noBlockIndex;
    return found;
}

inline bool Implementation::shouldSplit(std::uint64_t blockSize, std::uint64_t size, bool small) const
{
    const std::uint64_t rest = blockSize - size;
    if (small || m_expandable)
        return rest >= minBlock;
    return rest > largestSmall && size < m_maxSplitSize;
}

[[gnu::always_inline]] inline BlockIndex Implementation::allocate(std::int64_t bytes, std::uint32_t stream)
{
    assert(bytes >= 0);
    if (static_cast<std::uint64_t>(bytes) - 1 >= tooLarge - 1) { // 0, or too large
        if (bytes > 0)
            setOutOfMemory(static_cast<std::uint64_t>(bytes));
        return noBlockIndex;
    }
    const std::uint64_t size = rounded(bytes);
    const bool small = size <= largestSmall;
    const std::uint32_t pool = poolOf(stream, !small);
    BlockIndex block = findBestFit(pool, size);
    const bool isFree = block != noBlockIndex; // and not new
    if (!isFree) {
        block = takeWithReleases(pool, size);
        if (block == noBlockIndex)
            return noBlockIndex;
    }
    const std::uint64_t foundSize = m_foundSize = m_blocks[block].size;
    if (shouldSplit(foundSize, size, small)) {
        const BlockIndex rest = m_blocks.splitAt(block, size);
        if (isFree)
            replaceFree(block, foundSize, rest);
        else
            addFree(rest);
    } else if (isFree) {
        removeFree(block);
    }
    m_blocks[block].state = Block::State::InUse;
    m_allocated += m_blocks[block].size;
    return block;
}

[[gnu::always_inline]] inline void Implementation::release(BlockIndex block)
{
    if (block == noBlockIndex)
        return;
    assert(block < m_blocks.size() && m_blocks[block].state == Block::State::InUse);
    m_allocated -= m_blocks[block].size;
    const BlockIndex previous = m_blocks[block].previous;
    const BlockIndex next = m_blocks[block].next;
    const auto isFree = [&](BlockIndex i) { return i != noBlockIndex && m_blocks[i].state == Block::State::Free; };
    const bool joinsNext = isFree(next);
    const std::uint64_t nextSize = joinsNext ? m_blocks[next].size : 0;
    if (isFree(previous)) {
        const std::uint64_t previousSize = m_blocks[previous].size;
        if (joinsNext) {
            removeFree(next);
            m_blocks.absorbNext(block);
        }
        m_blocks.absorbNext(previous);
        replaceFree(previous, previousSize, previous);
    } else if (joinsNext) {
        m_blocks.absorbNext(block);
        replaceFree(next, nextSize, block);
    } else {
        addFree(block);
    }
}

} // namespace headroom::allocator
