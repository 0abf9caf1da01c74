// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cassert>
#include <cstdint>
#include <vector>

namespace headroom::allocator {

/// Blocks live in one vector and know each other by index: half a pointer, and no allocation per event.
using BlockIndex = std::uint32_t;
inline constexpr BlockIndex noBlockIndex = UINT32_MAX;

/// A stretch of a segment. Neighbours touch; those of two segments never know each other.
struct Block {
    enum class State : std::uint8_t {
        InUse,    ///< given to a caller
        Free,     ///< cached: in its pool's index of free blocks
        Unmapped, ///< address space of an expandable segment without memory behind it
        Recycled, ///< not a block: waits to become one
    };

    std::uint64_t address = 0;
    std::uint64_t size = 0;
    BlockIndex previous = noBlockIndex, next = noBlockIndex; ///< neighbours in the segment
    BlockIndex child = noBlockIndex;                         ///< this and the next two: links of AddressHeap, while Free
    BlockIndex sibling = noBlockIndex;
    BlockIndex back = noBlockIndex;
    std::uint32_t freedAt = 0; ///< the pool's count of searches when the block became free
    std::uint32_t pool = 0;    ///< index of its pool (of one stream)
    State state = State::Recycled;

    bool isWholeSegment() const { return previous == noBlockIndex && next == noBlockIndex; }
};

/// All blocks, and those that wait for another life.
class BlockStore
{
public:
    Block &operator[](BlockIndex i) { return m_blocks[i]; }
    const Block &operator[](BlockIndex i) const { return m_blocks[i]; }
    Block *data() { return m_blocks.data(); }
    BlockIndex size() const { return static_cast<BlockIndex>(m_blocks.size()); }

    /// A block without neighbours. References to other blocks may become invalid, indices do not.
    BlockIndex make(std::uint64_t address, std::uint64_t size, std::uint32_t pool, Block::State state)
    {
        BlockIndex i = m_recycled;
        if (i != noBlockIndex) {
            m_recycled = m_blocks[i].next;
        } else {
            assert(m_blocks.size() < noBlockIndex);
            i = static_cast<BlockIndex>(m_blocks.size());
            m_blocks.emplace_back();
        }
        Block &block = m_blocks[i];
        block.address = address;
        block.size = size;
        block.previous = block.next = noBlockIndex;
        block.pool = pool;
        block.state = state;
        return i;
    }

    void recycle(BlockIndex i)
    {
        m_blocks[i].state = Block::State::Recycled;
        m_blocks[i].next = m_recycled;
        m_recycled = i;
    }

    /// Cuts the block at `size` bytes; the new block behind it has the same pool and state.
    BlockIndex splitAt(BlockIndex i, std::uint64_t size)
    {
        const BlockIndex rest = make(m_blocks[i].address + size, m_blocks[i].size - size, m_blocks[i].pool, m_blocks[i].state);
        Block &front = m_blocks[i];
        Block &tail = m_blocks[rest];
        tail.previous = i;
        tail.next = front.next;
        if (front.next != noBlockIndex)
            m_blocks[front.next].previous = rest;
        front.next = rest;
        front.size = size;
        return rest;
    }

    /// Joins the block behind `i` to `i`; that one is no more.
    void absorbNext(BlockIndex i)
    {
        Block &front = m_blocks[i];
        const BlockIndex gone = front.next;
        front.size += m_blocks[gone].size;
        front.next = m_blocks[gone].next;
        if (front.next != noBlockIndex)
            m_blocks[front.next].previous = i;
        recycle(gone);
    }

    /// Joins the block `gone` to the one behind it, which stays the same block; `gone` is no more.
    void absorbIntoNext(BlockIndex gone)
    {
        Block &back = m_blocks[m_blocks[gone].next];
        back.address = m_blocks[gone].address;
        back.size += m_blocks[gone].size;
        back.previous = m_blocks[gone].previous;
        if (back.previous != noBlockIndex)
            m_blocks[back.previous].next = m_blocks[gone].next;
        recycle(gone);
    }

    void clear()
    {
        m_blocks.clear();
        m_recycled = noBlockIndex;
    }

private:
    std::vector<Block> m_blocks;
    BlockIndex m_recycled = noBlockIndex; ///< list through Block::next
};

} // namespace headroom::allocator
