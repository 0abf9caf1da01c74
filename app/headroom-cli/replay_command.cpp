// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-cli/commands.h"
#include "app/headroom-cli/json_lines.h"
#include "core/allocator/replay.h"

namespace headroom::cli {

int runReplayAllocator(const std::string &linesFile)
{
    Output output;
    return output.finish(answerLines(linesFile, replayAllocatorLine, output));
}

} // namespace headroom::cli
