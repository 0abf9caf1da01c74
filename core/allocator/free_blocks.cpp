// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/allocator/free_blocks.h"

#include <algorithm>

namespace headroom::allocator {

namespace AddressHeap {

BlockIndex meldChildren(Block *blocks, BlockIndex parent)
{
    // Two passes, as in Fredman et al., "The pairing heap" (1986): pairs from the left, then all into one from the right.
    BlockIndex pairs = noBlockIndex; // list through `sibling`, the last pair first
    for (BlockIndex next = blocks[parent].child; next != noBlockIndex;) {
        BlockIndex pair = next;
        const BlockIndex other = blocks[pair].sibling;
        next = noBlockIndex;
        if (other != noBlockIndex) {
            next = blocks[other].sibling;
            pair = meld(blocks, pair, other);
        }
        blocks[pair].sibling = pairs;
        pairs = pair;
    }
    BlockIndex root = pairs;
    for (BlockIndex next = blocks[root].sibling; next != noBlockIndex;) {
        const BlockIndex pair = next;
        next = blocks[pair].sibling;
        root = meld(blocks, root, pair);
    }
    blocks[root].back = blocks[root].sibling = noBlockIndex;
    return root;
}

void cut(Block *blocks, BlockIndex block)
{
    const BlockIndex back = blocks[block].back;
    BlockIndex heir = blocks[block].sibling;
    if (blocks[block].child != noBlockIndex) {
        // Everything below the block lies above its parent, so that its children, as one heap, may take its place.
        const BlockIndex child = meldChildren(blocks, block);
        blocks[child].sibling = heir;
        if (heir != noBlockIndex)
            blocks[heir].back = child;
        heir = child;
    }
    if (blocks[back].child == block)
        blocks[back].child = heir;
    else
        blocks[back].sibling = heir;
    if (heir != noBlockIndex)
        blocks[heir].back = back;
}

} // namespace AddressHeap

namespace {

/// The first size that is not below `size`.
template<typename Sizes>
auto firstFrom(Sizes &sizes, std::uint64_t size)
{
    return std::lower_bound(sizes.begin(), sizes.end(), size, [](const auto &entry, std::uint64_t value) { return entry.size < value; });
}

} // namespace

void FreeBlocks::insertAmongSizes(Block *blocks, std::size_t index, BlockIndex block)
{
    if (!m_larger)
        m_larger = std::make_unique<Sizes[]>(sharedClasses);
    Sizes &sizes = larger(index);
    const std::uint64_t size = blocks[block].size, least = blocks[m_least[index]].size;
    if (size < least) {
        sizes.insert(sizes.begin(), {least, m_least[index]});
        m_least[index] = block;
        return;
    }
    const auto at = firstFrom(sizes, size);
    if (at != sizes.end() && at->size == size)
        at->root = AddressHeap::meld(blocks, at->root, block);
    else
        sizes.insert(at, {size, block});
}

/// `heir`: what hung below the root of this size, or noBlockIndex.
void FreeBlocks::removeAmongSizes(std::size_t index, std::uint64_t size, BlockIndex heir)
{
    Sizes &sizes = larger(index);
    const auto at = firstFrom(sizes, size);
    assert(at != sizes.end() && at->size == size);
    if (heir != noBlockIndex)
        at->root = heir;
    else
        sizes.erase(at);
}

void FreeBlocks::takeNextSize(std::size_t index)
{
    Sizes &sizes = larger(index);
    m_least[index] = sizes.front().root;
    sizes.erase(sizes.begin());
}

BlockIndex FreeBlocks::bestFitAmongSizes(std::size_t index, std::uint64_t size) const
{
    if (isOnlySize(index))
        return noBlockIndex;
    const Sizes &sizes = larger(index);
    const auto at = firstFrom(sizes, size);
    return at == sizes.end() ? noBlockIndex : at->root;
}

void FreeBlocks::clear()
{
    m_used = {};
    if (m_larger)
        std::for_each(m_larger.get(), m_larger.get() + sharedClasses, [](Sizes &sizes) { sizes.clear(); });
}

} // namespace headroom::allocator
