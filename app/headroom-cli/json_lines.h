// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/headroom-cli/output.h"
#include "core/units/result.h"

#include <functional>
#include <string>
#include <string_view>

namespace headroom::cli {

/// Answers one line with one line of JSON (without its line feed), or says what is wrong with it. Called from several
/// threads at once.
using LineAnswer = std::function<Result<std::string>(std::string_view line)>;

/// Reads `file` ("-": standard input) line by line and writes an answer for each that is not blank, in their order, as soon
/// as it is known; a line that cannot be answered is answered with `{"error": {...}}`. All cores work at it; the memory that
/// waiting lines take is bounded.
/// Returns BadInput where the file could not be read (to its end), Success otherwise; whether all could be written is `output`'s to say.
int answerLines(const std::string &file, const LineAnswer &answer, Output &output);

/// `{"error": {"line", "where", "what", "hint"}}`.
std::string errorLine(const Issue &issue);

} // namespace headroom::cli
