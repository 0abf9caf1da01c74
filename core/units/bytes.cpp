// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/units/bytes.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace headroom {

namespace {

constexpr std::array<const char *, 7> binaryNames{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
constexpr std::array<const char *, 7> decimalNames{"B", "kB", "MB", "GB", "TB", "PB", "EB"};

} // namespace

std::string formatBytes(Bytes bytes, ByteUnit unit, int decimals)
{
    const double step = unit == ByteUnit::Binary ? 1024.0 : 1000.0;
    const auto &names = unit == ByteUnit::Binary ? binaryNames : decimalNames;
    double amount = static_cast<double>(bytes.value);
    std::size_t power = 0;
    // What would be shown as 1024.00 KiB is 1.00 MiB: the rounded amount decides.
    const double half = 0.5 * std::pow(10.0, -decimals);
    while (power + 1 < names.size() && std::abs(amount) + (power == 0 ? 0.0 : half) >= step) {
        amount /= step;
        ++power;
    }
    if (power == 0)
        return fmt::format("{} B", bytes.value);
    return fmt::format("{:.{}f} {}", amount, decimals, names[power]);
}

std::string formatGiga(Bytes bytes, ByteUnit unit, int decimals)
{
    return fmt::format("{:.{}f}", unit == ByteUnit::Binary ? bytes.gib() : bytes.gb(), decimals);
}

std::string formatCount(std::int64_t count)
{
    std::string text = std::to_string(count);
    const std::size_t first = text.front() == '-' ? 1 : 0;
    for (std::size_t i = text.size(); i > first + 3;) {
        i -= 3;
        text.insert(i, 1, ',');
    }
    return text;
}

} // namespace headroom
