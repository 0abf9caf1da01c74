// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-cli/commands.h"
#include "app/headroom-cli/output.h"
#include "core/estimate/trace_writer.h"

#include <fmt/format.h>

#include <fstream>

namespace headroom::cli {

namespace {

bool writeFile(const std::string &file, const std::string &text)
{
    if (file.empty())
        return true;
    std::ofstream out(file, std::ios::binary);
    if (out << text << std::flush)
        return true;
    complain(fmt::format("{}: cannot be written; check the folder and its permissions", file));
    return false;
}

} // namespace

int runTrace(const TraceArguments &arguments)
{
    const auto estimates = estimateArguments(arguments.plans);
    if (!estimates)
        return BadInput;
    const Estimate &estimate = *estimates->front();
    return writeFile(arguments.eventsFile, writeTraceEvents(estimate)) && writeFile(arguments.savedFile, writeTraceSaved(estimate))
               ? Success
               : OutputFailed;
}

} // namespace headroom::cli
