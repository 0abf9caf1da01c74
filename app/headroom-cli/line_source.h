// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/units/result.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace headroom::cli {

/// Lines of a file or of standard input, one at a time and as they arrive. However long a line is, no more than
/// `longestLine` of it is kept in memory.
class LineSource
{
public:
    static constexpr std::size_t longestLine = std::size_t{16} << 20;

    /// `file`: a path, or "-" for standard input.
    static Result<LineSource> open(const std::string &file);
    LineSource(LineSource &&other) noexcept;
    LineSource &operator=(LineSource &&other) noexcept;
    ~LineSource();

    struct Line {
        int number = 0;       ///< 1-based
        std::string text;     ///< without its line feed
        bool tooLong = false; ///< text was dropped: the line is longer than longestLine
    };

    /// The next line; nullopt at the end, or where reading failed (see error()).
    std::optional<Line> next();
    /// Set where reading failed before the end.
    const std::optional<Issue> &error() const { return m_error; }

private:
    LineSource(std::string name, int descriptor);
    bool fill();
    void close();

    std::string m_name;
    int m_descriptor = -1;
    std::vector<char> m_buffer;
    std::size_t m_begin = 0, m_end = 0; ///< the part of m_buffer not yet handed out
    int m_lines = 0;
    std::optional<Issue> m_error;
};

} // namespace headroom::cli
