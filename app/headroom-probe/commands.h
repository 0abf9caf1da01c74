// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/units/bytes.h"

#include <string>

namespace headroom::probe {

// The commands, one function each. They return the exit status.

struct RunArguments {
    std::string plan, output;
    bool dryRun = false;
    int steps = 3;
    std::string python = "python3";
    std::string host;      ///< --ssh; empty: this machine
    std::string snapshot;  ///< empty: none
    std::string probeFile; ///< --probe; empty: the one that came with this program
};
int runRun(const RunArguments &arguments);

int runGpus(bool json, ByteUnit unit);

struct FitsArguments {
    std::string plan;
    int gpu = 0;
    bool json = false;
    ByteUnit unit = ByteUnit::Binary;
};
int runFits(const FitsArguments &arguments);

} // namespace headroom::probe
