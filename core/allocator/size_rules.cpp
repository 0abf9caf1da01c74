// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/allocator/size_rules.h"

#include "core/units/text.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace headroom::allocator {

namespace {

/// Takes the option's text apart. White space is skipped, as PyTorch does.
class Reader
{
public:
    explicit Reader(std::string_view text)
        : m_rest(text)
    {}

    bool atEnd()
    {
        skipSpace();
        return m_rest.empty();
    }

    bool take(char c)
    {
        skipSpace();
        if (m_rest.empty() || m_rest.front() != c)
            return false;
        m_rest.remove_prefix(1);
        return true;
    }

    std::optional<std::uint32_t> number()
    {
        skipSpace();
        std::uint32_t value = 0;
        const auto [end, error] = std::from_chars(m_rest.data(), m_rest.data() + m_rest.size(), value);
        if (error != std::errc())
            return std::nullopt;
        m_rest.remove_prefix(static_cast<std::size_t>(end - m_rest.data()));
        return value;
    }

private:
    void skipSpace() { m_rest.remove_prefix(std::min(m_rest.find_first_not_of(" \t"), m_rest.size())); }

    std::string_view m_rest;
};

} // namespace

Result<RoundupDivisions> RoundupDivisions::parse(std::string_view text)
{
    const auto issue = [&](std::string_view what) {
        return Issue{{},
                     0,
                     "roundup_power2_divisions",
                     fmt::format("\"{}\": {}", excerpt(text), what),
                     "write a power of two (\"4\"), or intervals in MiB with their divisions (\"[256:1,512:2,>:8]\")"};
    };
    // Beyond 2^30 PyTorch's own reader (an int) gives up.
    constexpr std::uint32_t mostDivisions = 1u << 30;

    RoundupDivisions divisions;
    auto &table = divisions.m_table;
    Reader reader(text);
    if (reader.atEnd())
        return divisions;
    if (reader.take('[')) {
        std::size_t last = 0;
        bool first = true;
        while (!reader.take(']')) {
            const bool rest = reader.take('>');
            // 0 and UINT32_MAX, which stand for a missing number, are no powers of two.
            const std::uint32_t interval = rest ? 0 : reader.number().value_or(0);
            if (!rest && !std::has_single_bit(interval))
                return issue("an interval is a power of two, or '>'");
            if (!reader.take(':'))
                return issue("':' is expected after an interval");
            const std::uint32_t parts = reader.number().value_or(UINT32_MAX);
            if (parts > mostDivisions || (parts != 0 && !std::has_single_bit(parts)))
                return issue("divisions are a power of two, or 0 for none");
            if (rest) {
                std::fill(table.begin() + static_cast<std::ptrdiff_t>(last), table.end(), parts);
            } else {
                last = std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(interval)) - 1, table.size() - 1);
                if (first)
                    std::fill(table.begin(), table.begin() + static_cast<std::ptrdiff_t>(last), parts);
                first = false;
                table[last] = parts;
            }
            if (reader.take(']'))
                break;
            if (!reader.take(','))
                return issue("',' or ']' is expected after divisions");
        }
    } else {
        const std::uint32_t parts = reader.number().value_or(UINT32_MAX);
        if (parts > mostDivisions || !std::has_single_bit(parts))
            return issue("divisions are a power of two");
        table.fill(parts);
    }
    if (!reader.atEnd())
        return issue("nothing may follow");
    divisions.m_any = std::any_of(table.begin(), table.end(), [](std::uint32_t parts) { return parts > 1; });
    return divisions;
}

} // namespace headroom::allocator
