// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/units/text.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace headroom {

namespace {

/// Length of the well-formed UTF-8 sequence at the start of `text`; 0: malformed. Ranges: Unicode 15, table 3-7.
std::size_t sequenceLength(std::string_view text)
{
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const auto within = [&](std::size_t i, std::uint8_t low, std::uint8_t high) {
        return i < text.size() && byte(i) >= low && byte(i) <= high;
    };
    const std::uint8_t lead = byte(0);
    if (lead < 0x80)
        return 1;
    if (lead >= 0xC2 && lead <= 0xDF)
        return within(1, 0x80, 0xBF) ? 2 : 0;
    if (lead >= 0xE0 && lead <= 0xEF) {
        const std::uint8_t low = lead == 0xE0 ? 0xA0 : 0x80;
        const std::uint8_t high = lead == 0xED ? 0x9F : 0xBF;
        return within(1, low, high) && within(2, 0x80, 0xBF) ? 3 : 0;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        const std::uint8_t low = lead == 0xF0 ? 0x90 : 0x80;
        const std::uint8_t high = lead == 0xF4 ? 0x8F : 0xBF;
        return within(1, low, high) && within(2, 0x80, 0xBF) && within(3, 0x80, 0xBF) ? 4 : 0;
    }
    return 0;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Edits (insert, delete, replace, swap of neighbours) between two texts, case aside; '-' and '_' count as equal.
std::size_t editDistance(std::string_view a, std::string_view b)
{
    const auto same = [](char x, char y) {
        const auto fold = [](char c) { return c == '-' ? '_' : lower(c); };
        return fold(x) == fold(y);
    };
    std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    std::iota(last.begin(), last.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1)});
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        std::swap(before, last);
        std::swap(last, row);
    }
    return last[b.size()];
}

} // namespace

bool isValidUtf8(std::string_view text)
{
    while (!text.empty()) {
        const std::size_t length = sequenceLength(text);
        if (length == 0)
            return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string excerpt(std::string_view text, std::size_t most)
{
    std::string out;
    while (!text.empty()) {
        const std::size_t length = sequenceLength(text);
        if (out.size() + std::max<std::size_t>(length, 1) > most)
            return out + "...";
        const bool control = length == 1 && (static_cast<std::uint8_t>(text[0]) < 0x20 || text[0] == 0x7F);
        if (length == 0 || control)
            out += '?';
        else
            out += text.substr(0, length);
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return out;
}

std::optional<std::string_view> nearest(std::string_view text, std::span<const std::string_view> candidates)
{
    std::optional<std::string_view> best;
    std::size_t bestDistance = 0;
    for (const std::string_view candidate : candidates) {
        const std::size_t longer = std::max(text.size(), candidate.size());
        const std::size_t shorter = std::min(text.size(), candidate.size());
        const std::size_t allowed = std::max<std::size_t>(1, longer / 3);
        if (longer - shorter > allowed)
            continue;
        const std::size_t distance = editDistance(text, candidate);
        if (distance <= allowed && distance < shorter && (!best || distance < bestDistance)) {
            best = candidate;
            bestDistance = distance;
        }
    }
    if (best || text.size() < 3)
        return best;
    const auto begun =
        std::find_if(candidates.begin(), candidates.end(), [&](std::string_view candidate) { return candidate.starts_with(text); });
    return begun == candidates.end() ? best : *begun;
}

std::string orList(std::span<const std::string_view> items)
{
    std::string out;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (i > 0)
            out += i + 1 == items.size() ? " or " : ", ";
        out += items[i];
    }
    return out;
}

} // namespace headroom
