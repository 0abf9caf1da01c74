// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/units/bytes.h"

#include <span>
#include <string>
#include <string_view>

namespace headroom {

/// Where a GPU's capacity figure comes from, best first.
enum class CapacitySource { NvidiaSmi, TorchTotal, Marketing };

/// A GPU of the catalogue (presets/gpus.json, embedded at build time).
struct Gpu {
    std::string id;                 ///< "nvidia-rtx-4090-24gb"
    std::string name;               ///< "RTX 4090"
    std::string vendor;             ///< "NVIDIA", "AMD"
    std::string architecture;       ///< "Ada Lovelace"
    int computeMajor = 0;           ///< compute capability; 0: not an NVIDIA GPU
    int computeMinor = 0;
    int multiprocessors = 0;        ///< 0: unknown
    int marketingGb = 0;            ///< as sold
    Bytes capacity;                 ///< what nvidia-smi shows as total; else the largest torch total + 500 MiB; else marketing GB x 2^30
    CapacitySource capacitySource = CapacitySource::Marketing;
    Bytes torchTotal;               ///< the lowest total that torch has been seen to report on Linux; 0: unknown
    std::string source;             ///< where the capacity figure was read

    /// "RTX 4090 24 GB".
    std::string title() const;
};

/// All GPUs, in the order of the file.
std::span<const Gpu> gpus();

/// The GPU with this id, or null.
const Gpu *findGpu(std::string_view id);

} // namespace headroom
