// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace headroom {

/// An amount of memory in bytes. A type of its own, so that no bare integer is ever taken for bytes.
struct Bytes {
    std::int64_t value = 0;

    constexpr auto operator<=>(const Bytes &) const = default;
    constexpr Bytes &operator+=(Bytes other) { value += other.value; return *this; }
    constexpr Bytes &operator-=(Bytes other) { value -= other.value; return *this; }
    friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.value + b.value}; }
    friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.value - b.value}; }
    friend constexpr Bytes operator-(Bytes a) { return {-a.value}; }
    friend constexpr Bytes operator*(Bytes a, std::int64_t n) { return {a.value * n}; }
    constexpr double gib() const { return static_cast<double>(value) / (1024.0 * 1024.0 * 1024.0); }
    constexpr double gb() const { return static_cast<double>(value) / 1e9; }
};

constexpr Bytes kib(std::int64_t n) { return {n << 10}; }
constexpr Bytes mib(std::int64_t n) { return {n << 20}; }
constexpr Bytes gib(std::int64_t n) { return {n << 30}; }

/// How sizes are written: in powers of two (KiB, MiB, GiB) or of ten (kB, MB, GB). Never mixed, always labelled.
enum class ByteUnit { Binary, Decimal };

/// "15.42 GiB", "512 B", "3.1 MB": the largest unit that leaves at least 1, `decimals` digits after the point
/// (none for plain bytes). Negative amounts keep their sign.
std::string formatBytes(Bytes bytes, ByteUnit unit = ByteUnit::Binary, int decimals = 2);

/// The number alone in GiB or GB (for axes and tables whose heading carries the unit).
std::string formatGiga(Bytes bytes, ByteUnit unit = ByteUnit::Binary, int decimals = 2);

/// "GiB" or "GB".
constexpr const char *gigaName(ByteUnit unit) { return unit == ByteUnit::Binary ? "GiB" : "GB"; }

/// "8,234,382,336": thousands grouped by commas, as the papers write parameter counts.
std::string formatCount(std::int64_t count);

} // namespace headroom
