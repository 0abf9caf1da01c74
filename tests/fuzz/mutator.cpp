// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "mutator.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace headroom {

namespace {

constexpr std::array<std::string_view, 30> extremeValues = {"0",
                                                            "-1",
                                                            "1",
                                                            "2",
                                                            "0.5",
                                                            "4.0",
                                                            "-0",
                                                            "1e30",
                                                            "1e999",
                                                            "1e-320",
                                                            "65536",
                                                            "1000000000",
                                                            "2147483648",
                                                            "9223372036854775807",
                                                            "9223372036854775808",
                                                            "-9223372036854775808",
                                                            "18446744073709551616",
                                                            "null",
                                                            "true",
                                                            "\"\"",
                                                            "\"x\"",
                                                            "\"\\ud800\"",
                                                            "\"\\u0000\"",
                                                            "\"\xff\"",
                                                            "[]",
                                                            "{}",
                                                            "[[]]",
                                                            "[1, \"a\"]",
                                                            "{\"a\": 1}",
                                                            "NaN"};

constexpr std::string_view ends = ",:{}[]\" \n";

} // namespace

std::string Mutator::mutate(const std::vector<std::string> &texts)
{
    std::string text = texts[below(texts.size())];
    const std::string &other = texts[below(texts.size())];
    for (std::size_t left = 1 + below(4); left > 0; --left)
        mutateOnce(text, other);
    return text;
}

void Mutator::mutateOnce(std::string &text, const std::string &other)
{
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = std::min(below(24), text.size() - at);
    switch (below(9)) {
    case 0: // a bit
        if (at < text.size())
            text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
    case 1: text.insert(at, 1, static_cast<char>(below(256))); break;
    case 2: text.erase(at, length); break;
    case 3: text.insert(at, text.substr(at, length)); break;
    case 4: text.insert(at, other, below(other.size() + 1), below(48)); break;
    case 5: text.resize(at); break;
    case 6: text.insert(at, std::string(1 + below(80), "[{"[below(2)])); break;
    default: replaceValue(text); break;
    }
}

void Mutator::replaceValue(std::string &text)
{
    const std::size_t colon = text.find(':', below(text.size() + 1));
    if (colon == std::string::npos)
        return;
    const std::size_t from = std::min(text.find_first_not_of(" \n", colon + 1), text.size());
    const std::size_t to = std::min(text.find_first_of(ends, std::min(from + 1, text.size())), text.size());
    text.replace(from, to - from, extremeValues[below(extremeValues.size())]);
}

} // namespace headroom
