// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace headroom {

/// What both programs tell the shell.
enum ExitStatus : int {
    Success = 0,
    DoesNotFit = 1,   ///< --check was given, and a plan does not fit some named GPU or a prediction is further off
    BadInput = 2,     ///< the command line or a file is wrong; standard error says where and how to mend it
    OutputFailed = 3, ///< standard output or the file to write could not be written
};

} // namespace headroom
