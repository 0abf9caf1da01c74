// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/units/bytes.h"
#include "core/units/result.h"

#include <cstdint>
#include <optional>
#include <string>

namespace headroom {

/// The options of PYTORCH_CUDA_ALLOC_CONF that change what is reserved, and the device's size.
struct AllocatorOptions {
    Bytes capacity{INT64_MAX};                  ///< memory of the device that PyTorch may reserve, at least 0
    std::optional<std::int64_t> maxSplitSizeMb; ///< in MiB, above 20
    bool expandableSegments = false;
    std::string roundupPower2Divisions;    ///< the option's text: "4" or "[256:1,512:2,>:8]"; empty: not set
    double garbageCollectionThreshold = 0; ///< of what memoryFraction allows, below 1; 0: not set
    std::optional<double> memoryFraction;  ///< torch.cuda.set_per_process_memory_fraction, 0 to 1

    bool operator==(const AllocatorOptions &) const = default;
};

/// What PyTorch 2.4 would refuse, by the option's name (`where`): divisions that are no power of two, a max_split_size_mb of
/// 20 or less, a threshold or fraction out of range (c10/cuda/CUDAAllocatorConfig.cpp, torch/cuda/memory.py).
std::optional<Issue> checkAllocatorOptions(const AllocatorOptions &options);

} // namespace headroom
