// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/allocator/options.h"
#include "core/units/bytes.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace headroom {

namespace allocator {
struct Implementation;
}

/// Memory that the allocator took from the device (cudaMalloc, or a page mapped into an expandable segment) or gave back.
struct SegmentChange {
    std::uint64_t address = 0; ///< tells segments apart; a number, no pointer
    std::uint64_t bytes = 0;
    bool taken = true;
    bool operator==(const SegmentChange &) const = default;
};

/// c10's CUDACachingAllocator without a GPU: the same rounding, pools, search, splitting, merging, retries
/// (c10/cuda/CUDACachingAllocator.cpp, PyTorch 2.4; checked against PyTorch's own code). Addresses are numbers, memory a counter.
///
/// One event costs some ten nanoseconds. Whoever replays many lists keeps one allocator and calls reset() between them.
class CachingAllocator
{
public:
    /// Opaque; valid until released.
    using Block = std::uint32_t;
    static constexpr Block noBlock = UINT32_MAX;

    /// The figures of PyTorch's out-of-memory message.
    struct OutOfMemory {
        Bytes tried;               ///< the segment that was asked for: 2 MiB, 20 MiB or more, not the request
        Bytes capacity;            ///< the device's, or what the memory fraction allows of it
        Bytes free;                ///< of the device
        Bytes allocated;           ///< by PyTorch
        Bytes reservedUnallocated; ///< in segments that could not be released
    };

    /// The options must pass checkAllocatorOptions().
    explicit CachingAllocator(const AllocatorOptions &options = {});
    ~CachingAllocator();
    CachingAllocator(CachingAllocator &&) noexcept;
    CachingAllocator &operator=(CachingAllocator &&) noexcept;

    /// As if made anew, but with the memory that it already has.
    void reset(const AllocatorOptions &options);

    /// `bytes` as requested (0 gives noBlock). noBlock with outOfMemory() set where it cannot be served.
    /// A negative size is a mistake of ours. Each stream used costs some 20 KiB.
    Block allocate(std::int64_t bytes, std::uint32_t stream = 0);
    /// Releases a block; noBlock is ignored.
    void release(Block block);
    /// torch.cuda.empty_cache(): gives back all that is cached and not in use.
    void emptyCache();

    /// From now on appends what is taken from the device and given back, in order; null: no more.
    void logSegments(std::vector<SegmentChange> *log);

    std::int64_t allocated() const;                        ///< bytes of blocks in use, what they keep unsplit included
    std::int64_t reserved() const;                         ///< bytes of segments
    std::int64_t blockBytes(Block block) const;            ///< what the block takes from allocated; 0 for noBlock
    std::int64_t retries() const;                          ///< how often the whole cache was released to try again
    std::int64_t deviceCalls() const;                      ///< how often memory was taken from the device or given back to it
    const std::optional<OutOfMemory> &outOfMemory() const; ///< of the last allocate() that failed since reset()

private:
    std::unique_ptr<allocator::Implementation> d;
};

} // namespace headroom
