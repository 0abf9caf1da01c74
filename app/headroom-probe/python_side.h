// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/headroom-probe/child_process.h"
#include "core/units/result.h"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::probe {

/// The Python side of the probe: the one that was named, or the one that lies in share/headroom beside the folder of this
/// program. An Issue where it is missing.
Result<std::filesystem::path> findPythonSide(const std::string &given);

/// Its text, for another machine.
Result<std::string> readPythonSide(const std::filesystem::path &file);

/// A file of ours that the Python side was given, and what the user calls it.
struct FileName {
    std::string ours, theirs;
    bool isPlan = false; ///< its lines are not those of the user's file
};

/// Shows lines of the Python side as progress: {"step", "phase", "text"} as its text, anything else as it is; our files' names are
/// put back into the user's. `isSeveral`: torchrun stands between; what it says of itself (that a rank ended, and where in its own
/// code it noticed) is left out.
std::function<void(std::string_view)> showLines(std::vector<FileName> names, bool isSeveral = false);

/// What our exit status is, and what is said, when the Python side has ended. `hasWritten`: there is what it was to write.
int conclude(const ChildEnd &end, const std::string &program, bool hasWritten);

} // namespace headroom::probe
