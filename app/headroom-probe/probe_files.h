// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/units/result.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace headroom::probe {

/// A folder that is gone when this goes.
class TemporaryFolder
{
public:
    static Result<TemporaryFolder> make();
    TemporaryFolder(TemporaryFolder &&other) noexcept
        : m_path(std::exchange(other.m_path, {}))
    {}
    TemporaryFolder &operator=(TemporaryFolder &&) = delete;
    ~TemporaryFolder();
    const std::filesystem::path &path() const { return m_path; }

private:
    explicit TemporaryFolder(std::filesystem::path path)
        : m_path(std::move(path))
    {}
    std::filesystem::path m_path;
};

/// What could not be written where it was to go is kept elsewhere, if at all possible: it was dearly measured.
void keepElsewhere(std::string_view text);

/// Rank 0 has the file that was asked for, every other one a file beside it: a.rank3.headroom-probe.json (as the Python side
/// names them, resources/probe/headroom_probe/output.py, path_of_rank).
std::filesystem::path fileOfRank(const std::filesystem::path &file, int rank);

} // namespace headroom::probe
