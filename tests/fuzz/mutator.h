// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <random>
#include <string>
#include <vector>

namespace headroom {

/// Makes broken JSON out of good: flips bytes, cuts, repeats and moves pieces, swaps values for extreme ones, nests.
/// The same seed gives the same inputs on every machine.
class Mutator
{
public:
    explicit Mutator(unsigned seed)
        : m_random(seed)
    {}

    /// One to a few mutations of one of the texts; pieces may come from another of them.
    std::string mutate(const std::vector<std::string> &texts);

    /// A number from 0 to `bound` - 1. (The distributions of <random> differ from library to library.)
    std::size_t below(std::size_t bound) { return bound == 0 ? 0 : m_random() % bound; }

private:
    void mutateOnce(std::string &text, const std::string &other);
    void replaceValue(std::string &text);

    std::mt19937 m_random;
};

} // namespace headroom
