// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/units/bytes.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

/// The options of PYTORCH_CUDA_ALLOC_CONF that change what is reserved.
struct AllocatorOptions {
    Bytes capacity{INT64_MAX};              ///< memory of the device that PyTorch may reserve
    std::optional<std::int64_t> maxSplitSizeMb;
    bool expandableSegments = false;
    std::string roundupPower2Divisions;     ///< the option's text: "4" or "[256:1,512:2,>:8]"; empty: not set
    double garbageCollectionThreshold = 0;  ///< 0: not set
    std::optional<double> memoryFraction;   ///< torch.cuda.set_per_process_memory_fraction
};

/// c10's CUDACachingAllocator without a GPU: the same rounding, pools, search, splitting, merging, retries
/// (c10/cuda/CUDACachingAllocator.cpp, PyTorch 2.4; ../truth/allocator). Addresses are numbers, memory a counter.
class CachingAllocator
{
public:
    /// Opaque; valid until released.
    using Block = std::uint32_t;
    static constexpr Block noBlock = UINT32_MAX;

    struct OutOfMemory {
        Bytes tried, capacity, free, allocated, reservedUnallocated;
    };

    explicit CachingAllocator(const AllocatorOptions &options = {});
    ~CachingAllocator();
    CachingAllocator(CachingAllocator &&) noexcept;
    CachingAllocator &operator=(CachingAllocator &&) noexcept;

    /// `bytes` as requested (0 gives noBlock). noBlock with outOfMemory() set where it cannot be served.
    Block allocate(std::int64_t bytes, std::uint32_t stream = 0);
    /// Releases a block; noBlock is ignored.
    void release(Block block);

    std::int64_t allocated() const;         ///< bytes of blocks in use, what they keep unsplit included
    std::int64_t reserved() const;          ///< bytes of segments
    std::int64_t blockBytes(Block block) const; ///< what the block takes from allocated
    std::int64_t retries() const;           ///< how often the whole cache was released to try again
    const std::optional<OutOfMemory> &outOfMemory() const;

private:
    struct Private;
    std::unique_ptr<Private> d;
};

} // namespace headroom
