// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/allocator/blocks.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
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
/// Few sizes occur often. Those up to 1 MiB (nearly all of the small pool) each have a class of their own, larger ones share
/// theirs with the sizes up to 3 % larger, as in Masmano et al., "TLSF: a new dynamic memory allocator for real-time systems"
/// (2004); one bitmap finds the next class that is not empty. Blocks of one size hang together as a heap. Every operation costs
/// a few nanoseconds for what training does, and nothing is allocated once the buffers have grown.
class FreeBlocks
{
public:
    void insert(Block *blocks, BlockIndex block)
    {
        Block &b = blocks[block];
        b.child = b.sibling = b.back = noBlockIndex;
        const std::size_t index = classOf(b.size);
        if (!m_used.isSet(index)) {
            if (!m_least)
                m_least = std::make_unique_for_overwrite<BlockIndex[]>(Bitmap::size);
            m_used.set(index);
            m_least[index] = block;
            return;
        }
        BlockIndex &least = m_least[index];
        if (blocks[least].size == b.size)
            least = AddressHeap::meld(blocks, least, block);
        else
            insertAmongSizes(blocks, index, block);
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
        const BlockIndex heir = b.child == noBlockIndex ? noBlockIndex : AddressHeap::meldChildren(blocks, block);
        const std::size_t index = classOf(size);
        if (m_least[index] != block)
            removeAmongSizes(index, size, heir);
        else if (heir != noBlockIndex)
            m_least[index] = heir;
        else if (isOnlySize(index))
            m_used.unset(index);
        else
            takeNextSize(index);
    }

    /// remove() of `gone`, which had `goneSize` bytes, and insert() of `come`, at one go: what a split leaves of a block takes its
    /// place, and so does what a block grows to. The two may be the same block.
    void replace(Block *blocks, BlockIndex gone, std::uint64_t goneSize, BlockIndex come)
    {
        Block &b = blocks[come];
        const std::size_t index = classOf(goneSize);
        // Often the only block of its class, then and now.
        if (blocks[gone].back == noBlockIndex && blocks[gone].child == noBlockIndex && index == classOf(b.size) && m_least[index] == gone &&
            isOnlySize(index)) {
            b.child = b.sibling = b.back = noBlockIndex;
            m_least[index] = come;
            return;
        }
        remove(blocks, gone, goneSize);
        insert(blocks, come);
    }

    /// The smallest block of at least `size` bytes, of those of one size the one with the lowest address; or noBlockIndex.
    BlockIndex bestFit(const Block *blocks, std::uint64_t size) const
    {
        const std::size_t index = classOf(size);
        std::size_t found = m_used.firstFrom(index);
        if (found == index && index >= slots && blocks[m_least[index]].size < size) {
            if (const BlockIndex block = bestFitAmongSizes(index, size); block != noBlockIndex)
                return block;
            found = m_used.firstFrom(index + 1);
        }
        return found == none ? noBlockIndex : m_least[found];
    }

    /// Forgets the blocks and keeps the buffers.
    void clear();

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
    static constexpr std::size_t slots = 2048;                 ///< classes of one size
    static constexpr std::uint64_t largestSlot = slots * unit; // 1 MiB
    static constexpr unsigned classBits = 5;                   // 32 classes from one power of two to the next
    static constexpr unsigned fractionBits = std::numeric_limits<double>::digits - 1;
    static constexpr std::uint64_t bitsOfLargestSlot = std::bit_cast<std::uint64_t>(static_cast<double>(largestSlot));
    static constexpr std::size_t sharedClasses = (63 - std::bit_width(largestSlot) + 1) << classBits;
    static_assert(slots + sharedClasses < Bitmap::size); // one beyond the last may be asked for

    static std::size_t classOf(std::uint64_t size)
    {
        assert(size > 0 && size % unit == 0);
        if (size <= largestSlot)
            return static_cast<std::size_t>(size / unit - 1);
        // A double's exponent and the first bits of its fraction; where a size is rounded (beyond 2^53), it stays in order.
        const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<std::int64_t>(size)));
        return slots + static_cast<std::size_t>((bits - bitsOfLargestSlot) >> (fractionBits - classBits));
    }

    Sizes &larger(std::size_t index) const { return m_larger[index - slots]; }
    bool isOnlySize(std::size_t index) const { return index < slots || !m_larger || larger(index).empty(); }
    void insertAmongSizes(Block *blocks, std::size_t index, BlockIndex block);
    void removeAmongSizes(std::size_t index, std::uint64_t size, BlockIndex heir);
    void takeNextSize(std::size_t index);
    BlockIndex bestFitAmongSizes(std::size_t index, std::uint64_t size) const;

    Bitmap m_used;                         ///< classes in which there are free blocks
    std::unique_ptr<BlockIndex[]> m_least; ///< by class: root of its smallest size, meaningful where the class is used
    std::unique_ptr<Sizes[]> m_larger;     ///< by shared class: its other sizes; made when first needed
};

} // namespace headroom::allocator
