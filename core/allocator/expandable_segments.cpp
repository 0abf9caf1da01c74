// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// expandable_segments:True. A pool has one segment, address space for more than the device's memory; pages of it are mapped as
// needed and unmapped when memory is short. Its blocks are in use, free (mapped) or unmapped; neighbours of one kind are merged.
#include "core/allocator/implementation.h"

#include <algorithm>
#include <numeric>

namespace headroom::allocator {

namespace {

using State = Block::State;

std::uint64_t roundUpTo(std::uint64_t n, std::uint64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

} // namespace

std::uint64_t Implementation::unmappedBehind(BlockIndex i) const
{
    const BlockIndex next = m_blocks[i].next;
    return next != noBlockIndex && m_blocks[next].state == State::Unmapped ? m_blocks[next].size : 0;
}

/// A block with unmapped space behind it can grow, and counts as large as it can become. So the search goes on from it, in the
/// order of fit, while the next block counts as smaller.
BlockIndex Implementation::preferBlocksThatCannotGrow(Pool &pool, BlockIndex found)
{
    std::uint64_t unmapped = unmappedBehind(found);
    if (unmapped == 0)
        return found;
    // The successor of a block in the index is what is the best fit for its size without it.
    m_scratch.clear();
    for (;;) {
        pool.free.remove(m_blocks.data(), found);
        m_scratch.push_back(found);
        const BlockIndex next = pool.free.bestFit(m_blocks.data(), m_blocks[found].size);
        if (next == noBlockIndex)
            break;
        const std::uint64_t nextUnmapped = unmappedBehind(next);
        if (m_blocks[next].size + nextUnmapped >= m_blocks[found].size + unmapped)
            break;
        found = next;
        unmapped = nextUnmapped;
        if (unmapped == 0)
            break;
    }
    for (const BlockIndex i : m_scratch)
        pool.free.insert(m_blocks.data(), i);
    return found;
}

void Implementation::addUnmapped(BlockIndex i)
{
    m_blocks[i].state = State::Unmapped;
    std::vector<BlockIndex> &unmapped = poolOfBlock(i).unmapped;
    const auto at = std::lower_bound(unmapped.begin(), unmapped.end(), m_blocks[i].address,
                                     [&](BlockIndex j, std::uint64_t address) { return m_blocks[j].address < address; });
    unmapped.insert(at, i);
}

void Implementation::removeUnmapped(BlockIndex i)
{
    std::vector<BlockIndex> &unmapped = poolOfBlock(i).unmapped;
    const auto at = std::lower_bound(unmapped.begin(), unmapped.end(), m_blocks[i].address,
                                     [&](BlockIndex j, std::uint64_t address) { return m_blocks[j].address < address; });
    assert(at != unmapped.end() && *at == i);
    unmapped.erase(at);
}

/// The lowest block at which free and unmapped space for `size` bytes begins; that of a new segment where there is none.
BlockIndex Implementation::findRoomToGrow(std::uint32_t pool, std::uint64_t size)
{
    for (BlockIndex i : m_pools[pool].unmapped) {
        if (const BlockIndex previous = m_blocks[i].previous; previous != noBlockIndex && m_blocks[previous].state == State::Free)
            i = previous;
        std::uint64_t room = 0;
        for (BlockIndex j = i; room < size && j != noBlockIndex && m_blocks[j].state != State::InUse; j = m_blocks[j].next)
            room += m_blocks[j].size;
        if (room >= size)
            return i;
    }
    // 9/8 of the device, so that memory can move within the segment. Above 64 PiB more address space makes no difference.
    const std::uint64_t capacity = std::min(m_capacity, std::uint64_t{1} << 56);
    const std::uint64_t space = roundUpTo(capacity + capacity / 8, pageSize(pool));
    // Pages are aligned, as the addresses of blocks tell where a page begins.
    m_nextAddress = roundUpTo(m_nextAddress, largeSegment);
    const BlockIndex segment = m_blocks.make(m_nextAddress, space, pool, State::Unmapped);
    m_nextAddress += space;
    addUnmapped(segment);
    return segment;
}

/// Maps pages from the beginning of an unmapped block, at least `size` bytes, and merges the result with its free neighbours. The
/// block stays the same one and is free then. False, and nothing changed, where the device has too little memory.
bool Implementation::map(BlockIndex i, std::uint64_t size)
{
    assert(m_blocks[i].state == State::Unmapped && size <= m_blocks[i].size);
    const std::uint64_t bytes = roundUpTo(size, pageSize(m_blocks[i].pool));
    if (bytes == 0 || bytes > m_capacity - m_reserved)
        return false;
    removeUnmapped(i);
    logPages(m_blocks[i].address, bytes, pageSize(m_blocks[i].pool), true);
    if (bytes < m_blocks[i].size)
        addUnmapped(m_blocks.splitAt(i, bytes));
    const BlockIndex next = m_blocks[i].next;
    if (next != noBlockIndex && m_blocks[next].state == State::Free) {
        removeFree(next);
        m_blocks.absorbNext(i);
    }
    // Callers go on with `i`: it takes the place of the one before it.
    const BlockIndex previous = m_blocks[i].previous;
    if (previous != noBlockIndex && m_blocks[previous].state == State::Free) {
        removeFree(previous);
        m_blocks.absorbIntoNext(previous);
    }
    addFree(i);
    m_reserved += bytes;
    ++m_deviceCalls;
    return true;
}

/// Room for `size` bytes by mapping what is missing; not in the pool then. Where memory ends half-way, what has been mapped stays.
BlockIndex Implementation::takeByGrowing(std::uint32_t pool, std::uint64_t size)
{
    BlockIndex i = findRoomToGrow(pool, size);
    if (m_blocks[i].state == State::Unmapped && !map(i, std::min(m_blocks[i].size, size)))
        return noBlockIndex;
    while (m_blocks[i].size < size) {
        const BlockIndex next = m_blocks[i].next;
        if (next == noBlockIndex || !map(next, std::min(size - m_blocks[i].size, m_blocks[next].size)))
            return noBlockIndex;
        i = next;
    }
    removeFree(i);
    return i;
}

/// Gives the pages that lie wholly in a free block back to the device. A segment without any page is given up.
void Implementation::unmapWholePages(BlockIndex i)
{
    const std::uint64_t page = pageSize(m_blocks[i].pool);
    const std::uint64_t address = m_blocks[i].address;
    const std::uint64_t begin = roundUpTo(address, page);
    const std::uint64_t end = (address + m_blocks[i].size) / page * page;
    if (begin >= end)
        return;
    removeFree(i);
    if (end < address + m_blocks[i].size)
        addFree(m_blocks.splitAt(i, end - address));
    if (begin > address) {
        const BlockIndex pages = m_blocks.splitAt(i, begin - address);
        addFree(i);
        i = pages;
    }
    logPages(begin, end - begin, page, false);
    m_reserved -= end - begin;
    ++m_deviceCalls;
    const BlockIndex next = m_blocks[i].next;
    if (next != noBlockIndex && m_blocks[next].state == State::Unmapped) {
        removeUnmapped(next);
        m_blocks.absorbNext(i);
    }
    const BlockIndex previous = m_blocks[i].previous;
    if (previous != noBlockIndex && m_blocks[previous].state == State::Unmapped) {
        removeUnmapped(previous);
        m_blocks.absorbIntoNext(previous);
    }
    if (m_blocks[i].isWholeSegment())
        m_blocks.recycle(i);
    else
        addUnmapped(i);
}

} // namespace headroom::allocator
