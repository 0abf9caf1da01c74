// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/tensor.h"

#include <cstdint>
#include <vector>

namespace headroom::training::deepspeed {

/// How ZeRO-1 and ZeRO-2 divide one parameter group: its parameters laid end to end, padded to a multiple of 2 x ranks
/// elements and cut into equal partitions (stage_1_and_2.py: initialize_gradient_partition, get_partition_info).
class Partitioning
{
public:
    /// The part of a parameter that one rank owns, in elements.
    struct Slice {
        std::int64_t rank = 0, offset = 0, elements = 0;
    };

    Partitioning(const std::vector<autograd::Tensor> &parameters, std::int64_t ranks);

    std::int64_t elements() const { return m_begin.back(); }
    std::int64_t padding() const { return m_partition * m_ranks - elements(); }
    std::int64_t partitionSize() const { return m_partition; }

    /// A parameter's slices, by rank.
    std::vector<Slice> slices(std::size_t parameter) const;
    /// Whether any of the parameter is in the rank's partition.
    bool touches(std::size_t parameter, std::int64_t rank) const;
    /// What of the parameter is in the rank's partition.
    std::int64_t elementsIn(std::size_t parameter, std::int64_t rank) const;
    /// Elements of all parameters that the rank's partition touches, whole.
    std::int64_t touchedElements(std::int64_t rank) const;

private:
    std::int64_t m_ranks, m_partition;
    std::vector<std::int64_t> m_begin; ///< of each parameter; the last entry is the end of all
};

} // namespace headroom::training::deepspeed
