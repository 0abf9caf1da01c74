// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/units/result.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::probe {

/// The text as one word of a shell (sh, csh and fish alike): in single quotes, each of its own single quotes as '"'"'.
std::string shellWord(std::string_view text);

/// What is wrong with an SSH host or a path for the remote shell; nothing where it may be used. A host that begins with "-" would
/// be an option of ssh; control characters and backslashes mean different things to different shells.
std::optional<Issue> checkHost(std::string_view host);
std::optional<Issue> checkRemotePath(std::string_view option, std::string_view path);

/// What is asked of the other machine.
struct RemoteRun {
    std::size_t probeBytes = 0, planBytes = 0; ///< of the two files, which come one after the other on standard input
    std::string python = "python3";
    std::vector<std::string> launcher; ///< of several ranks: what stands between Python and the probe's file; empty: one rank
    std::vector<std::string> options;  ///< of the Python side, from fixed text and numbers
};

/// The one command line for the other machine's shell. It takes probe file and plan from standard input into a fresh folder, runs
/// the probe there, writes the files that came of it to standard output (each after a line "HEADROOM-FILE name bytes"), removes the
/// folder whatever happens, and ends with the probe's status. Several ranks are asked first whether they could run. When standard
/// input ends earlier, because we were interrupted or the connection broke, the probe is asked to end, and ten seconds later made to.
std::string remoteCommand(const RemoteRun &run);

/// A file that came back.
struct RemoteFile {
    std::string name, text;
};

/// The files in what remoteCommand() wrote to standard output, in order; what a login script wrote before is passed over. A file
/// that is cut off is left out.
std::vector<RemoteFile> remoteFiles(std::string_view output);

} // namespace headroom::probe
