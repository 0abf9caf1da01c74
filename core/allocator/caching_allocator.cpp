// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/allocator/caching_allocator.h"

#include "core/allocator/implementation.h"

#include <algorithm>
#include <cassert>

namespace headroom::allocator {

void Implementation::configure(const AllocatorOptions &options)
{
    assert(!checkAllocatorOptions(options));
    m_capacity = static_cast<std::uint64_t>(std::max<std::int64_t>(options.capacity.value, 0));
    m_hasFraction = options.memoryFraction.has_value();
    m_allowed = static_cast<std::uint64_t>(options.memoryFraction.value_or(0) * static_cast<double>(m_capacity));
    m_collectsGarbage = m_hasFraction && options.garbageCollectionThreshold > 0;
    m_garbageLimit = static_cast<std::uint64_t>(options.garbageCollectionThreshold * static_cast<double>(m_allowed));
    // Above 2^40 MiB nothing is ever split, as without the option.
    constexpr std::int64_t mostMib = std::int64_t{1} << 40;
    m_maxSplitSize = options.maxSplitSizeMb ? static_cast<std::uint64_t>(std::min(*options.maxSplitSizeMb, mostMib)) << 20 : UINT64_MAX;
    m_expandable = options.expandableSegments;
    const auto divisions = RoundupDivisions::parse(options.roundupPower2Divisions);
    m_divisions = divisions ? *divisions : RoundupDivisions();

    m_blocks.clear();
    for (Pool &pool : m_pools) {
        pool.free.clear();
        pool.unmapped.clear();
    }
    m_streams.clear();
    m_nextAddress = 0;
    m_searches = {};
    m_allocated = m_reserved = 0;
    m_retries = 0;
    m_deviceCalls = 0;
    m_outOfMemory.reset();
    selectStream(0);
}

void Implementation::selectStream(std::uint32_t stream)
{
    const auto at = std::find(m_streams.begin(), m_streams.end(), stream);
    m_lastStream = stream;
    m_lastIndex = static_cast<std::uint32_t>(at - m_streams.begin());
    if (at == m_streams.end()) {
        m_streams.push_back(stream);
        m_pools.resize(std::max(m_pools.size(), m_streams.size() * 2));
    }
}

/// One try to get memory from the device; the block is not in the pool.
BlockIndex Implementation::takeNewSegment(std::uint32_t pool, std::uint64_t size)
{
    const std::uint64_t segment = segmentSize(size);
    // With expandable segments too, the fraction is checked against a whole segment.
    if (m_hasFraction && m_reserved + segment > m_allowed)
        return noBlockIndex;
    if (m_expandable)
        return takeByGrowing(pool, size);
    if (segment > m_capacity - m_reserved)
        return noBlockIndex;
    const BlockIndex block = m_blocks.make(m_nextAddress, segment, pool, Block::State::Free);
    logSegment(m_nextAddress, segment, true);
    m_nextAddress += segment;
    m_reserved += segment;
    ++m_deviceCalls;
    return block;
}

/// What follows when no free block serves: garbage collection, the device, the device after ever larger releases.
BlockIndex Implementation::takeWithReleases(std::uint32_t pool, std::uint64_t size)
{
    if (m_collectsGarbage)
        collectGarbage();
    BlockIndex block = takeNewSegment(pool, size);
    if (block == noBlockIndex && releaseOversize(pool, size))
        block = takeNewSegment(pool, size);
    if (block == noBlockIndex) {
        releaseCache();
        ++m_retries;
        block = takeNewSegment(pool, size);
    }
    if (block == noBlockIndex)
        setOutOfMemory(segmentSize(size));
    return block;
}

void Implementation::setOutOfMemory(std::uint64_t tried)
{
    const auto bytes = [](std::uint64_t value) { return Bytes{static_cast<std::int64_t>(value)}; };
    m_outOfMemory = CachingAllocator::OutOfMemory{bytes(tried), bytes(m_hasFraction ? m_allowed : m_capacity),
                                                  bytes(m_capacity - m_reserved), bytes(m_allocated), bytes(m_reserved - m_allocated)};
}

} // namespace headroom::allocator

namespace headroom {

using allocator::BlockIndex;
using allocator::noBlockIndex;

CachingAllocator::CachingAllocator(const AllocatorOptions &options)
    : d(std::make_unique<allocator::Implementation>())
{
    d->configure(options);
}

CachingAllocator::~CachingAllocator() = default;
CachingAllocator::CachingAllocator(CachingAllocator &&) noexcept = default;
CachingAllocator &CachingAllocator::operator=(CachingAllocator &&) noexcept = default;

void CachingAllocator::reset(const AllocatorOptions &options) { d->configure(options); }

CachingAllocator::Block CachingAllocator::allocate(std::int64_t bytes, std::uint32_t stream) { return d->allocate(bytes, stream); }

void CachingAllocator::emptyCache() { d->releaseCache(); }

void CachingAllocator::release(Block block) { d->release(block); }

void CachingAllocator::logSegments(std::vector<SegmentChange> *log) { d->m_segmentLog = log; }

std::int64_t CachingAllocator::allocated() const { return static_cast<std::int64_t>(d->m_allocated); }

std::int64_t CachingAllocator::reserved() const { return static_cast<std::int64_t>(d->m_reserved); }

std::int64_t CachingAllocator::blockBytes(Block block) const
{
    return block == noBlock ? 0 : static_cast<std::int64_t>(d->m_blocks[block].size);
}

std::int64_t CachingAllocator::retries() const { return d->m_retries; }

std::int64_t CachingAllocator::deviceCalls() const { return d->m_deviceCalls; }

const std::optional<CachingAllocator::OutOfMemory> &CachingAllocator::outOfMemory() const { return d->m_outOfMemory; }

} // namespace headroom
