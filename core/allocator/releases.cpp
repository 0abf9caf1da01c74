// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// How cached memory goes back to the device: garbage collection, oversize blocks, the whole cache. All of it is rare, so that
// it looks through the blocks one by one.
#include "core/allocator/implementation.h"

#include <algorithm>

namespace headroom::allocator {

/// Gives a free block that is a whole segment back to the device.
void Implementation::releaseSegment(BlockIndex i)
{
    assert(m_blocks[i].isWholeSegment() && m_blocks[i].state == Block::State::Free);
    removeFree(i);
    logSegment(m_blocks[i].address, m_blocks[i].size, false);
    m_reserved -= m_blocks[i].size;
    ++m_deviceCalls;
    m_blocks.recycle(i);
}

/// Releases large whole segments that have not served for long, until reserved is at the limit: those whose age (searches since
/// they were freed) is the mean or more, then again among the rest. Expandable segments are passed over (PyTorch 2.4 fails there,
/// later versions pass over them).
void Implementation::collectGarbage()
{
    if (m_reserved <= m_garbageLimit || m_expandable)
        return;
    const std::uint64_t target = m_reserved - m_garbageLimit;
    const auto age = [&](BlockIndex i) { return m_searches[1] - m_blocks[i].freedAt; };

    m_scratch.clear();
    std::uint64_t totalAge = 0;
    for (BlockIndex i = 0; i < m_blocks.size(); ++i) {
        if (m_blocks[i].state == Block::State::Free && !isSmall(m_blocks[i].pool) && m_blocks[i].isWholeSegment()) {
            m_scratch.push_back(i);
            totalAge += age(i);
        }
    }
    std::uint64_t released = 0;
    while (released < target && !m_scratch.empty()) {
        const double meanAge = static_cast<double>(totalAge) / static_cast<double>(m_scratch.size());
        // At least one is as old as the mean, so that every round releases some.
        const auto younger = std::partition(m_scratch.begin(), m_scratch.end(), [&](BlockIndex i) { return age(i) >= meanAge; });
        std::for_each(m_scratch.begin(), younger, [&](BlockIndex i) {
            released += m_blocks[i].size;
            totalAge -= age(i);
            releaseSegment(i);
        });
        m_scratch.erase(m_scratch.begin(), younger);
    }
}

/// With max_split_size: releases the smallest oversize block of the stream that is as large as the request, or else the largest
/// ones until they are together. False where that is not enough. Expandable segments are passed over, as above.
bool Implementation::releaseOversize(std::uint32_t pool, std::uint64_t size)
{
    if (m_maxSplitSize == UINT64_MAX || m_expandable)
        return false;
    const std::uint64_t target = std::max(size, m_maxSplitSize);
    if (const BlockIndex enough = m_pools[pool].free.bestFit(m_blocks.data(), target); enough != noBlockIndex) {
        releaseSegment(enough);
        return true;
    }
    m_scratch.clear();
    for (BlockIndex i = 0; i < m_blocks.size(); ++i) {
        if (m_blocks[i].state == Block::State::Free && m_blocks[i].pool == pool && m_blocks[i].size >= m_maxSplitSize)
            m_scratch.push_back(i);
    }
    std::sort(m_scratch.begin(), m_scratch.end(), [&](BlockIndex a, BlockIndex b) {
        return m_blocks[a].size != m_blocks[b].size ? m_blocks[a].size > m_blocks[b].size : m_blocks[a].address > m_blocks[b].address;
    });
    std::uint64_t released = 0;
    for (auto i = m_scratch.begin(); i != m_scratch.end() && released < target; ++i) {
        released += m_blocks[*i].size;
        releaseSegment(*i);
    }
    return released >= target;
}

/// Everything that can go back: whole segments of all pools and streams, whole free pages of expandable ones.
void Implementation::releaseCache()
{
    m_scratch.clear();
    for (BlockIndex i = 0; i < m_blocks.size(); ++i) {
        if (m_blocks[i].state == Block::State::Free && (m_expandable || m_blocks[i].isWholeSegment()))
            m_scratch.push_back(i);
    }
    for (const BlockIndex i : m_scratch) {
        if (m_expandable)
            unmapWholePages(i);
        else
            releaseSegment(i);
    }
}

} // namespace headroom::allocator
