// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/allocator/blocks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace headroom::allocator {

/// Free blocks of one size, the lowest address first: a pairing heap whose links are in the blocks themselves.
/// A heap is its root's index, whose `back` and `sibling` are noBlockIndex.
namespace AddressHeap {

/// Both roots; gives the root of the two.
inline BlockIndex meld(Block *blocks, BlockIndex a, BlockIndex b)
{
    if (blocks[b].address < blocks[a].address)
        std::swap(a, b);
    const BlockIndex eldest = blocks[a].child;
    blocks[b].back = a;
    blocks[b].sibling = eldest;
    if (eldest != noBlockIndex)
        blocks[eldest].back = b;
    blocks[a].child = b;
    return a;
}

/// One heap of what hangs below `parent`, which has children; a root.
BlockIndex meldChildren(Block *blocks, BlockIndex parent);

/// Takes a block that is not the root out of its heap.
void cut(Block *blocks, BlockIndex block);

} // namespace AddressHeap

/// The free blocks of one pool and stream, in the order of best fit: by size, then address.
///
/// Few sizes occur often. Those up to 2 MiB (nearly all of the small pool) are found through a bitmap, larger ones through a
/// sorted vector of the sizes there are; blocks of one size hang together as a heap. Every operation costs a few nanoseconds for
/// what training does, and nothing is allocated once the buffers have grown.
class FreeBlocks
{
public:
    void insert(Block *blocks, BlockIndex block)
    {
        Block &b = blocks[block];
        b.child = b.sibling = b.back = noBlockIndex;
        if (b.size <= largestTabled) {
            const std::size_t slot = slotOf(b.size);
            if (!isSet(slot)) {
                if (!m_table)
                    m_table = std::make_unique_for_overwrite<BlockIndex[]>(slots);
                set(slot);
                m_table[slot] = block;
            } else {
                m_table[slot] = AddressHeap::meld(blocks, m_table[slot], block);
            }
            return;
        }
        const auto at = m_sizes.begin() + lowerBound(b.size);
        if (at != m_sizes.end() && at->size == b.size)
            at->root = AddressHeap::meld(blocks, at->root, block);
        else
            m_sizes.insert(at, {b.size, block});
    }

    void remove(Block *blocks, BlockIndex block) { remove(blocks, block, blocks[block].size); }

    /// `size`: what the block had when it was inserted.
    void remove(Block *blocks, BlockIndex block, std::uint64_t size)
    {
        const Block &b = blocks[block];
        if (b.back != noBlockIndex) {
            AddressHeap::cut(blocks, block);
            return;
        }
        const BlockIndex root = b.child == noBlockIndex ? noBlockIndex : AddressHeap::meldChildren(blocks, block);
        if (size <= largestTabled) {
            const std::size_t slot = slotOf(size);
            assert(isSet(slot) && m_table[slot] == block);
            if (root == noBlockIndex)
                unset(slot);
            else
                m_table[slot] = root;
            return;
        }
        const auto at = m_sizes.begin() + lowerBound(size);
        assert(at != m_sizes.end() && at->root == block);
        if (root == noBlockIndex)
            m_sizes.erase(at);
        else
            at->root = root;
    }

    /// remove() of `gone`, which had `goneSize` bytes, and insert() of `come`, at one go: what a split leaves of a block takes its
    /// place, and so does what a block grows to. The two may be the same block.
    void replace(Block *blocks, BlockIndex gone, std::uint64_t goneSize, BlockIndex come)
    {
        const std::uint64_t size = blocks[come].size;
        const bool alone = blocks[gone].back == noBlockIndex && blocks[gone].child == noBlockIndex;
        if (!alone || goneSize <= largestTabled || size <= largestTabled) {
            remove(blocks, gone, goneSize);
            insert(blocks, come);
            return;
        }
        const auto from = m_sizes.begin() + lowerBound(goneSize);
        auto to = m_sizes.begin() + lowerBound(size);
        assert(from != m_sizes.end() && from->size == goneSize && from->root == gone);
        blocks[come].child = blocks[come].sibling = blocks[come].back = noBlockIndex;
        if (to != from && to != m_sizes.end() && to->size == size) {
            to->root = AddressHeap::meld(blocks, to->root, come);
            m_sizes.erase(from);
            return;
        }
        // The sizes between the two make room.
        if (to <= from) {
            std::move_backward(to, from, from + 1);
        } else {
            std::move(from + 1, to, from);
            --to;
        }
        *to = {size, come};
    }

    /// The smallest block of at least `size` bytes, of those of one size the one with the lowest address; or noBlockIndex.
    BlockIndex bestFit(std::uint64_t size) const
    {
        if (size <= largestTabled) {
            const std::size_t slot = slotOf(size);
            std::size_t word = slot / 64;
            std::uint64_t bits = m_used[word] & (~std::uint64_t{0} << (slot % 64));
            if (bits == 0) {
                // The shift is by 1 to 64: in two steps, because 64 at once is undefined.
                const std::uint64_t words = m_usedWords & ((~std::uint64_t{0} << word) << 1);
                if (words == 0)
                    return m_sizes.empty() ? noBlockIndex : m_sizes.front().root;
                word = static_cast<std::size_t>(std::countr_zero(words));
                bits = m_used[word];
            }
            return m_table[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
        }
        const auto at = m_sizes.begin() + lowerBound(size);
        return at == m_sizes.end() ? noBlockIndex : at->root;
    }

    /// Forgets the blocks and keeps the buffers.
    void clear()
    {
        m_used.fill(0);
        m_usedWords = 0;
        m_sizes.clear();
    }

private:
    static constexpr std::uint64_t unit = 512;
    static constexpr std::size_t slots = std::size_t{64} * 64;
    static constexpr std::uint64_t largestTabled = slots * unit;

    struct SizeEntry {
        std::uint64_t size;
        BlockIndex root;
    };

    static std::size_t slotOf(std::uint64_t size)
    {
        assert(size > 0 && size % unit == 0 && size <= largestTabled);
        return static_cast<std::size_t>(size / unit - 1);
    }
    bool isSet(std::size_t slot) const { return (m_used[slot / 64] >> (slot % 64) & 1) != 0; }
    void set(std::size_t slot)
    {
        m_used[slot / 64] |= std::uint64_t{1} << (slot % 64);
        m_usedWords |= std::uint64_t{1} << (slot / 64);
    }
    void unset(std::size_t slot)
    {
        m_used[slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
        if (m_used[slot / 64] == 0)
            m_usedWords &= ~(std::uint64_t{1} << (slot / 64));
    }

    /// Position of the first size that is not below `size`. Without branches that depend on the data: they would be mispredicted.
    std::ptrdiff_t lowerBound(std::uint64_t size) const
    {
        const SizeEntry *first = m_sizes.data();
        std::size_t n = m_sizes.size();
        while (n > 1) {
            const std::size_t half = n / 2;
            first += first[half - 1].size < size ? half : 0;
            n -= half;
        }
        return first - m_sizes.data() + (n == 1 && first->size < size ? 1 : 0);
    }

    std::array<std::uint64_t, 64> m_used{}; ///< bit per slot: there are free blocks of this size
    std::uint64_t m_usedWords = 0;          ///< bit per word of m_used that is not 0
    std::unique_ptr<BlockIndex[]> m_table;  ///< root by slot, meaningful where the slot's bit is set; made when first needed
    std::vector<SizeEntry> m_sizes;         ///< larger sizes, ascending
};

} // namespace headroom::allocator
