// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/units/dtype.h"

#include <cstdint>

namespace headroom::network {

/// What kernels ask about a GPU before they choose. The default is an A100, which stands for GPUs that are not known.
struct GpuProperties {
    int multiprocessors = 108;
    int computeMajor = 8, computeMinor = 0;
    bool operator==(const GpuProperties &) const = default;
};

/// Whether bitsandbytes 0.50 multiplies `tokens` rows with a 4-bit weight of [out, in] in its fused kernel, which needs no
/// temporary, instead of dequantising the whole weight for cuBLAS. The thresholds are those of
/// bitsandbytes/backends/cuda/ops.py: gemm_4bit, _gemm_4bit_use_custom_cuda (0.50.2), with blocks of 64 weights.
bool fusedGemm4bit(const GpuProperties &gpu, DType dtype, std::int64_t tokens, std::int64_t out, std::int64_t in);

} // namespace headroom::network
