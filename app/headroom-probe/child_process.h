// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/units/result.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::probe {

/// What a child came to.
struct ChildEnd {
    int status = 0;           ///< exit status; meaningless where `signal` is set
    int signal = 0;           ///< that killed it; 0: none
    bool interrupted = false; ///< we were asked to end meanwhile
};

struct ChildOptions {
    std::string_view input;                          ///< written to its standard input, which then stays open until the child ends
    bool ownGroup = true;                            ///< a process group of its own: Ctrl-C of the terminal reaches us alone
    bool endByInput = false;                         ///< asked to end by closing its standard input, not by a signal
    std::function<void(std::string_view)> output;    ///< pieces of its standard output; null: it goes to our standard error
    std::function<void(std::string_view)> errorLine; ///< lines of its standard error
};

/// Starts a program with its arguments, never through a shell, and waits for it. `arguments[0]` is looked for in PATH where it has
/// no slash. An Issue where it could not be started. SIGINT, SIGTERM and SIGHUP that we get meanwhile are passed on (SIGTERM, to
/// the whole group where it has its own), a second one kills; so does the child's not ending within some seconds.
Result<ChildEnd> runChild(const std::vector<std::string> &arguments, const ChildOptions &options);

} // namespace headroom::probe
