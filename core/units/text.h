// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace headroom {

/// Whether the bytes are well-formed UTF-8 (no surrogates, nothing overlong, nothing above U+10FFFF).
bool isValidUtf8(std::string_view text);

/// The text as it can be quoted in a message: at most `most` bytes (cut between characters, "..." appended), control
/// characters and malformed UTF-8 replaced by '?'.
std::string excerpt(std::string_view text, std::size_t most = 60);

/// The candidate that a slip of the keyboard separates from `text` (case aside, at most a third of the letters wrong), or else
/// one that `text` begins (three letters at least), or nothing. The earliest of equally near ones.
std::optional<std::string_view> nearest(std::string_view text, std::span<const std::string_view> candidates);

/// "a, b or c": for hints that list what is allowed.
std::string orList(std::span<const std::string_view> items);

} // namespace headroom
