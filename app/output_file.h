// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Files that the programs without a window write.
#pragma once

#include "core/units/result.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace headroom {

/// Through a file beside it, so that a half-written one never bears the name.
std::optional<Issue> writeFile(const std::filesystem::path &file, std::string_view text);

/// Says before the work what would else be said after it: that the file cannot be written, or is a folder, a pipe or a device.
std::optional<Issue> checkWritable(const std::filesystem::path &file);

/// Where a file is to be written: a link is written through, not replaced.
std::string throughLink(const std::string &file);

} // namespace headroom
