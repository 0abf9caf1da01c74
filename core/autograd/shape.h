// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/units/checked.h"

#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace headroom::autograd {

/// Sizes or strides of a tensor: up to five dimensions, in elements. Five is what grouped-query attention's expand needs.
class Dims
{
public:
    static constexpr int capacity = 5;

    Dims() = default;
    Dims(std::initializer_list<std::int64_t> values)
    {
        assert(values.size() <= capacity);
        for (std::int64_t v : values)
            m_values[static_cast<std::size_t>(m_rank++)] = v;
    }

    int rank() const { return m_rank; }
    std::int64_t operator[](int i) const { return m_values[static_cast<std::size_t>(i)]; }
    std::int64_t &operator[](int i) { return m_values[static_cast<std::size_t>(i)]; }
    std::int64_t back() const { return m_rank ? m_values[static_cast<std::size_t>(m_rank - 1)] : 1; }
    void append(std::int64_t v)
    {
        assert(m_rank < capacity);
        m_values[static_cast<std::size_t>(m_rank++)] = v;
    }
    /// Without its last dimension.
    Dims leading() const
    {
        Dims out = *this;
        --out.m_rank;
        out.m_values[static_cast<std::size_t>(out.m_rank)] = 0;
        return out;
    }
    bool operator==(const Dims &other) const
    {
        std::int64_t differences = m_rank ^ other.m_rank;
        for (std::size_t i = 0; i < m_values.size(); ++i) // without a branch or a call: sizes are compared all the time
            differences |= m_values[i] ^ other.m_values[i];
        return differences == 0;
    }

    /// Product of the sizes; throws SizeOverflow beyond 64 bits.
    std::int64_t elements() const
    {
        std::int64_t n = 1;
        for (int i = 0; i < m_rank; ++i)
            n = checkedMultiply(n, (*this)[i]);
        return n;
    }

private:
    std::array<std::int64_t, capacity> m_values{};
    int m_rank = 0;
};

/// "[2, 512, 4096]".
std::string toString(const Dims &dims);

/// Row-major strides.
Dims contiguousStrides(const Dims &sizes);

/// Whether the layout is row-major without gaps (dimensions of size 1 do not matter).
bool isContiguous(const Dims &sizes, const Dims &strides);

/// Whether some permutation of the dimensions is row-major without gaps (c10: is_non_overlapping_and_dense).
bool isDense(const Dims &sizes, const Dims &strides);

/// Broadcast of two shapes by NumPy's rules; the caller's mistake if they do not match.
Dims broadcast(const Dims &a, const Dims &b);

/// Strides with which a tensor of `oldSizes`, `oldStrides` can be seen as `newSizes` without a copy
/// (ATen/TensorUtils.cpp: computeStride); false where it cannot.
bool viewStrides(const Dims &oldSizes, const Dims &oldStrides, const Dims &newSizes, Dims &newStrides);

} // namespace headroom::autograd
