// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/autograd/shape.h"

#include <algorithm>

namespace headroom::autograd {

std::string toString(const Dims &dims)
{
    std::string out = "[";
    for (int i = 0; i < dims.rank(); ++i) {
        if (i)
            out += ", ";
        out += std::to_string(dims[i]);
    }
    return out + "]";
}

Dims contiguousStrides(const Dims &sizes)
{
    Dims strides = sizes;
    std::int64_t next = 1;
    for (int i = sizes.rank() - 1; i >= 0; --i) {
        strides[i] = next;
        next = checkedMultiply(next, std::max<std::int64_t>(sizes[i], 1));
    }
    return strides;
}

bool isContiguous(const Dims &sizes, const Dims &strides)
{
    std::int64_t next = 1;
    for (int i = sizes.rank() - 1; i >= 0; --i) {
        if (sizes[i] == 1)
            continue;
        if (strides[i] != next)
            return false;
        next *= sizes[i];
    }
    return true;
}

bool isDense(const Dims &sizes, const Dims &strides)
{
    // From the fastest dimension on, each stride is the product of the sizes before it.
    std::int64_t next = 1;
    std::array<bool, Dims::capacity> used{};
    for (int n = 0; n < sizes.rank(); ++n) {
        int fastest = -1;
        for (int i = 0; i < sizes.rank(); ++i)
            if (!used[static_cast<std::size_t>(i)] && sizes[i] != 1 && (fastest < 0 || strides[i] < strides[fastest]))
                fastest = i;
        if (fastest < 0)
            break;
        if (strides[fastest] != next)
            return false;
        used[static_cast<std::size_t>(fastest)] = true;
        next *= sizes[fastest];
    }
    return true;
}

Dims broadcast(const Dims &a, const Dims &b)
{
    const int rank = std::max(a.rank(), b.rank());
    Dims out;
    for (int i = 0; i < rank; ++i) {
        const int ia = i - (rank - a.rank()), ib = i - (rank - b.rank());
        const std::int64_t sa = ia < 0 ? 1 : a[ia], sb = ib < 0 ? 1 : b[ib];
        assert(sa == sb || sa == 1 || sb == 1);
        out.append(sa == 1 ? sb : sa);
    }
    return out;
}

bool viewStrides(const Dims &oldSizes, const Dims &oldStrides, const Dims &newSizes, Dims &newStrides)
{
    newStrides = newSizes;
    if (oldSizes.elements() == 0) {
        newStrides = contiguousStrides(newSizes);
        return true;
    }
    // Chunks of old dimensions that lie side by side in memory are matched with runs of new ones, from the last on.
    int view = newSizes.rank() - 1;
    std::int64_t baseStride = oldSizes.rank() ? oldStrides[oldSizes.rank() - 1] : 1;
    std::int64_t chunk = 1, viewElements = 1;
    for (int d = oldSizes.rank() - 1; d >= 0; --d) {
        chunk *= oldSizes[d];
        const bool chunkEnds = d == 0 || (oldSizes[d - 1] != 1 && oldStrides[d - 1] != chunk * baseStride);
        if (!chunkEnds)
            continue;
        while (view >= 0 && (viewElements < chunk || newSizes[view] == 1)) {
            newStrides[view] = viewElements * baseStride;
            viewElements *= newSizes[view];
            --view;
        }
        if (viewElements != chunk)
            return false;
        if (d > 0) {
            baseStride = oldStrides[d - 1];
            chunk = 1;
            viewElements = 1;
        }
    }
    for (; view >= 0; --view) // scalars seen as [1, 1]
        newStrides[view] = viewElements;
    return true;
}

} // namespace headroom::autograd
