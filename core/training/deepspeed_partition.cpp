// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/training/deepspeed_partition.h"

#include "core/units/checked.h"

#include <algorithm>

namespace headroom::training::deepspeed {

Partitioning::Partitioning(const std::vector<autograd::Tensor> &parameters, std::int64_t ranks)
    : m_ranks(ranks)
{
    m_begin.reserve(parameters.size() + 1);
    m_begin.push_back(0);
    for (const autograd::Tensor &parameter : parameters)
        m_begin.push_back(checkedAdd(m_begin.back(), parameter.sizes().elements()));
    m_partition = roundUp(elements(), checkedMultiply(2, ranks)) / ranks;
}

std::vector<Partitioning::Slice> Partitioning::slices(std::size_t parameter) const
{
    std::vector<Slice> out;
    const std::int64_t from = m_begin[parameter], to = m_begin[parameter + 1];
    for (std::int64_t at = from; at < to;) {
        const std::int64_t rank = at / m_partition;
        const std::int64_t end = std::min(to, (rank + 1) * m_partition);
        out.push_back({rank, at - from, end - at});
        at = end;
    }
    return out;
}

std::int64_t Partitioning::elementsIn(std::size_t parameter, std::int64_t rank) const
{
    const std::int64_t from = std::max(m_begin[parameter], rank * m_partition);
    const std::int64_t to = std::min(m_begin[parameter + 1], (rank + 1) * m_partition);
    return std::max<std::int64_t>(0, to - from);
}

bool Partitioning::touches(std::size_t parameter, std::int64_t rank) const { return elementsIn(parameter, rank) > 0; }

std::int64_t Partitioning::touchedElements(std::int64_t rank) const
{
    // The first parameter that ends behind the partition's start, to the last that begins before its end.
    const std::int64_t start = rank * m_partition, end = start + m_partition;
    const auto first = std::upper_bound(m_begin.begin() + 1, m_begin.end(), start);
    const auto last = std::lower_bound(m_begin.begin(), m_begin.end() - 1, end);
    return first == m_begin.end() ? 0 : *last - *(first - 1);
}

} // namespace headroom::training::deepspeed
