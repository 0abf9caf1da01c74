// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <compare>
#include <string_view>

namespace headroom {

/// A library's version, as far as its memory rules tell versions apart.
struct Version {
    int major = 0, minor = 0;

    constexpr auto operator<=>(const Version &) const = default;
};

/// "2.13", "4.57.6", "5" -> major and minor. What cannot be read is taken for the newest there is.
constexpr Version parseVersion(std::string_view text)
{
    Version version;
    std::size_t i = 0;
    const auto number = [&](int &out) {
        const std::size_t begin = i;
        for (out = 0; i < text.size() && text[i] >= '0' && text[i] <= '9' && out < 100000; ++i)
            out = out * 10 + (text[i] - '0');
        return i > begin;
    };
    if (!number(version.major))
        return {99999, 0};
    if (i < text.size() && text[i] == '.') {
        ++i;
        number(version.minor);
    }
    return version;
}

} // namespace headroom
