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
/// Few sizes occur often. Those up to 2 MiB (nearly all of the small pool) each have a slot, larger ones share a class with the
/// sizes up to 3 % larger, as in Masmano et al., "TLSF: a new dynamic memory allocator for real-time systems" (2004); bitmaps
/// find the next slot or class that is not empty. Blocks of one size hang together as a heap. Every operation costs a few
/// nanoseconds for what training does, and nothing is allocated once the buffers have grown.
class FreeBlocks
{
public:
    void insert(Block *blocks, BlockIndex block)
    {
        Block &b = blocks[block];
        b.child = b.sibling = b.back = noBlockIndex;
        if (b.size <= largestTabled) {
            const std::size_t slot = slotOf(b.size);
            if (!m_slots.isSet(slot)) {
                if (!m_table)
                    m_table = std::make_unique_for_overwrite<BlockIndex[]>(slots);
                m_slots.set(slot);
                m_table[slot] = block;
            } else {
                m_table[slot] = AddressHeap::meld(blocks, m_table[slot], block);
            }
            return;
        }
        const std::size_t index = classOf(b.size);
        if (!m_classes.isSet(index)) {
            if (!m_sizes)
                m_sizes = std::make_unique<Sizes[]>(classes);
            m_classes.set(index);
            m_sizes[index].push_back({b.size, block});
            return;
        }
        Sizes &sizes = m_sizes[index];
        const auto at = firstFrom(sizes, b.size);
        if (at != sizes.end() && at->size == b.size)
            at->root = AddressHeap::meld(blocks, at->root, block);
        else
            sizes.insert(at, {b.size, block});
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
            assert(m_slots.isSet(slot) && m_table[slot] == block);
            if (root == noBlockIndex)
                m_slots.unset(slot);
            else
                m_table[slot] = root;
            return;
        }
        const std::size_t index = classOf(size);
        Sizes &sizes = m_sizes[index];
        const auto at = firstFrom(sizes, size);
        assert(at != sizes.end() && at->root == block);
        if (root != noBlockIndex) {
            at->root = root;
            return;
        }
        sizes.erase(at);
        if (sizes.empty())
            m_classes.unset(index);
    }

    /// remove() of `gone`, which had `goneSize` bytes, and insert() of `come`, at one go: what a split leaves of a block takes its
    /// place, and so does what a block grows to. The two may be the same block.
    void replace(Block *blocks, BlockIndex gone, std::uint64_t goneSize, BlockIndex come)
    {
        const std::uint64_t size = blocks[come].size;
        const bool alone = blocks[gone].back == noBlockIndex && blocks[gone].child == noBlockIndex;
        if (alone && goneSize > largestTabled && size > largestTabled && classOf(goneSize) == classOf(size)) {
            // Often the only size of its class, then and now.
            if (Sizes &sizes = m_sizes[classOf(size)]; sizes.size() == 1) {
                assert(sizes.front().root == gone);
                blocks[come].child = blocks[come].sibling = blocks[come].back = noBlockIndex;
                sizes.front() = {size, come};
                return;
            }
        }
        remove(blocks, gone, goneSize);
        insert(blocks, come);
    }

    /// The smallest block of at least `size` bytes, of those of one size the one with the lowest address; or noBlockIndex.
    BlockIndex bestFit(std::uint64_t size) const
    {
        std::size_t index = 0; // of the first class that will do whole
        if (size <= largestTabled) {
            const std::size_t slot = m_slots.firstFrom(slotOf(size));
            if (slot != none)
                return m_table[slot];
        } else {
            index = classOf(size);
            if (m_classes.isSet(index)) {
                const auto at = firstFrom(m_sizes[index], size);
                if (at != m_sizes[index].end())
                    return at->root;
            }
            ++index;
        }
        index = m_classes.firstFrom(index);
        return index == none ? noBlockIndex : m_sizes[index].front().root;
    }

    /// Forgets the blocks and keeps the buffers.
    void clear()
    {
        m_slots = {};
        for (std::size_t index = m_classes.firstFrom(0); index != none; index = m_classes.firstFrom(index))
            m_sizes[index].clear(), m_classes.unset(index);
    }

private:
    static constexpr std::size_t none = SIZE_MAX;

    /// A set of numbers below 4096.
    class Bitmap
    {
    public:
        static constexpr std::size_t size = std::size_t{64} * 64;

        bool isSet(std::size_t i) const { return (m_words[i / 64] >> (i % 64) & 1) != 0; }
        void set(std::size_t i)
        {
            m_words[i / 64] |= std::uint64_t{1} << (i % 64);
            m_used |= std::uint64_t{1} << (i / 64);
        }
        void unset(std::size_t i)
        {
            m_words[i / 64] &= ~(std::uint64_t{1} << (i % 64));
            if (m_words[i / 64] == 0)
                m_used &= ~(std::uint64_t{1} << (i / 64));
        }
        /// The least number in the set that is not below `i`; or none.
        std::size_t firstFrom(std::size_t i) const
        {
            std::size_t word = i / 64;
            std::uint64_t bits = m_words[word] & (~std::uint64_t{0} << (i % 64));
            if (bits == 0) {
                // The shift is by 1 to 64: in two steps, because 64 at once is undefined.
                const std::uint64_t words = m_used & ((~std::uint64_t{0} << word) << 1);
                if (words == 0)
                    return none;
                word = static_cast<std::size_t>(std::countr_zero(words));
                bits = m_words[word];
            }
            return word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
        }

    private:
        std::array<std::uint64_t, 64> m_words{};
        std::uint64_t m_used = 0; ///< bit per word that is not 0
    };

    /// Blocks of one size.
    struct SizeEntry {
        std::uint64_t size;
        BlockIndex root;
    };
    using Sizes = std::vector<SizeEntry>; ///< of one class, ascending

    static constexpr std::uint64_t unit = 512;
    static constexpr std::size_t slots = Bitmap::size;
    static constexpr std::uint64_t largestTabled = slots * unit; // 2 MiB
    static constexpr int classBits = 5;                          // 32 classes from one power of two to the next
    static constexpr int firstPower = std::bit_width(largestTabled) - 1;
    static constexpr std::size_t classes = std::size_t(64 - firstPower) << classBits;
    static_assert(classes < Bitmap::size); // one beyond the last may be asked for

    static std::size_t slotOf(std::uint64_t size)
    {
        assert(size > 0 && size % unit == 0 && size <= largestTabled);
        return static_cast<std::size_t>(size / unit - 1);
    }
    static std::size_t classOf(std::uint64_t size)
    {
        assert(size >= largestTabled);
        const int power = std::bit_width(size) - 1;
        const std::uint64_t part = (size >> (power - classBits)) & ((std::uint64_t{1} << classBits) - 1);
        return (static_cast<std::size_t>(power - firstPower) << classBits) + static_cast<std::size_t>(part);
    }

    /// The first size that is not below `size`.
    template<typename Vector>
    static auto firstFrom(Vector &sizes, std::uint64_t size) -> decltype(sizes.begin())
    {
        // Two or three sizes as a rule; thousands only where somebody makes them so.
        constexpr std::size_t few = 8;
        if (sizes.size() > few)
            return std::lower_bound(sizes.begin(), sizes.end(), size,
                                    [](const SizeEntry &entry, std::uint64_t value) { return entry.size < value; });
        auto at = sizes.begin();
        while (at != sizes.end() && at->size < size)
            ++at;
        return at;
    }

    Bitmap m_slots;                        ///< sizes up to largestTabled of which there are free blocks
    std::unique_ptr<BlockIndex[]> m_table; ///< root by slot, meaningful where the slot is set; made when first needed
    Bitmap m_classes;                      ///< classes of larger sizes in which there are free blocks
    std::unique_ptr<Sizes[]> m_sizes;      ///< by class; made when first needed
};

} // namespace headroom::allocator
