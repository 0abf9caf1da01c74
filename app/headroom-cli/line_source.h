// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/units/result.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace headroom::cli {

/// Lines of a file, a pipe or standard input, one at a time and as they arrive. However long a line is, no more than
/// `longestLine` of it is kept in memory; reading ends with an error() where a line or the whole is beyond all sense.
class LineSource
{
public:
    static constexpr std::size_t longestLine = std::size_t{16} << 20;
    /// A line of this length will have no end: something that is no text is being read.
    static constexpr std::size_t endlessLine = std::size_t{256} << 20;
    /// Of all lines together.
    static constexpr std::size_t mostBytes = std::size_t{16} << 30;

    /// `file`: a path, or "-" for standard input. Folders and devices other than terminals are an Issue.
    static Result<LineSource> open(const std::string &file);
    LineSource(LineSource &&other) noexcept;
    LineSource &operator=(LineSource &&other) noexcept;
    ~LineSource();

    struct Line {
        int number = 0;       ///< 1-based
        std::string text;     ///< without its line feed
        bool tooLong = false; ///< text was dropped: the line is longer than longestLine
    };

    /// The next line; nullopt at the end, or where reading was given up (see error()). An endless line still comes, as too long.
    std::optional<Line> next();
    /// Set where reading was given up before the end.
    const std::optional<Issue> &error() const { return m_error; }

private:
    LineSource(std::string name, int descriptor);
    bool fill();
    void giveUp(std::string what, std::string hint);
    void close();

    std::string m_name;
    int m_descriptor = -1;
    std::vector<char> m_buffer;
    std::size_t m_begin = 0, m_end = 0; ///< the part of m_buffer not yet handed out
    std::size_t m_read = 0;             ///< bytes, of all lines
    int m_lines = 0;
    std::optional<Issue> m_error;
};

} // namespace headroom::cli
