// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string_view>

namespace headroom::probe {

/// What the program tells the shell.
enum ExitStatus : int {
    Success = 0,
    Failed = 1,        ///< the plan does not fit now, or the run broke off
    BadInput = 2,      ///< the command line or the plan is wrong, or the probe does not run such a plan
    NotAvailable = 3,  ///< a library, the GPU, Python or the other machine is missing, or a file cannot be written
    Interrupted = 130, ///< Ctrl-C; nothing was written
};

/// A line on standard error with the program's name before it; control characters and malformed UTF-8 are replaced.
void complain(std::string_view text);

/// A line on standard error that says how far the run is.
void report(std::string_view text);

/// Text for standard output. False where it could not be written; then it was complained of.
bool print(std::string_view text);

} // namespace headroom::probe
