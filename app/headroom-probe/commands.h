// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/units/bytes.h"

#include <cstddef>
#include <string>

namespace headroom::probe {

/// The largest snapshot of PyTorch that is converted, and brought back from another machine with the results of all ranks
/// (resources/probe/headroom_probe/snapshot.py: MOST_BYTES).
inline constexpr std::size_t largestSnapshot = std::size_t{1} << 30;

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

struct SnapshotArguments {
    std::string snapshot, output;
    int device = -1; ///< negative: the busiest
    std::string python = "python3";
    std::string probeFile; ///< --probe; empty: the one that came with this program
};
int runSnapshot(const SnapshotArguments &arguments);

int runGpus(bool json, ByteUnit unit);

struct FitsArguments {
    std::string plan;
    int gpu = 0;
    bool json = false;
    ByteUnit unit = ByteUnit::Binary;
};
int runFits(const FitsArguments &arguments);

} // namespace headroom::probe
