// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/allocator/free_blocks.h"

namespace headroom::allocator::AddressHeap {

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

} // namespace headroom::allocator::AddressHeap
