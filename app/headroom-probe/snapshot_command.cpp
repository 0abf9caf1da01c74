// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-probe/child_process.h"
#include "app/headroom-probe/commands.h"
#include "app/headroom-probe/messages.h"
#include "app/headroom-probe/probe_files.h"
#include "app/headroom-probe/python_side.h"
#include "app/output_file.h"
#include "core/measure/memory_timeline.h"
#include "core/units/strict_json.h"
#include "core/units/text.h"

#include <fmt/format.h>

namespace headroom::probe {

// A pickle is a program: this one is never read here, but by the Python side's reader, which knows plain data alone.
int runSnapshot(const SnapshotArguments &arguments)
{
    const std::string output = throughLink(arguments.output);
    if (std::optional<Issue> issue = checkWritable(output)) {
        complain(toString(*issue));
        return NotAvailable;
    }
    std::error_code ignored;
    if (std::filesystem::equivalent(arguments.snapshot, output, ignored)) {
        complain(fmt::format("{}: is the snapshot itself (name another file for its timeline)", arguments.output));
        return BadInput;
    }
    const Result<std::filesystem::path> probeFile = findPythonSide(arguments.probeFile);
    const Result<TemporaryFolder> folder = TemporaryFolder::make();
    for (const Issue *issue : {probeFile ? nullptr : &probeFile.issue(), folder ? nullptr : &folder.issue()})
        if (issue != nullptr) {
            complain(toString(*issue));
            return NotAvailable;
        }
    const std::string timelineFile = folder->path() / "timeline.json";
    std::vector<std::string> command = {arguments.python, *probeFile, "snapshot"};
    if (arguments.device >= 0)
        command.insert(command.end(), {"--device", std::to_string(arguments.device)});
    command.insert(command.end(), {"--output", timelineFile, "--", arguments.snapshot});
    ChildOptions options;
    options.errorLine = showLines({{timelineFile, arguments.output}});
    report(fmt::format("converting {}", std::filesystem::path(arguments.snapshot).filename().string()));
    const Result<ChildEnd> end = runChild(command, options);
    if (!end) {
        complain(fmt::format("{} (name a Python 3.10 or newer with --python; it needs no PyTorch)", toString(end.issue())));
        return NotAvailable;
    }
    const bool isThere = std::filesystem::is_regular_file(timelineFile, ignored);
    if (const int status = conclude(*end, arguments.python, isThere); status != Success)
        return status;
    const Result<std::string> text = readTextFile(timelineFile, largestSnapshot);
    const Result<MemoryTimeline> timeline = text ? readMemoryTimeline(*text) : Result<MemoryTimeline>(text.issue());
    if (!timeline) {
        complain(fmt::format("what the probe wrote is no timeline: {}", toString(timeline.issue())));
        return NotAvailable;
    }
    if (std::optional<Issue> issue = writeFile(output, *text)) {
        complain(toString(*issue));
        return NotAvailable;
    }
    print(fmt::format("{}: GPU {}, {} events; {} allocated and {} reserved at most\n", excerpt(arguments.output, 1000), timeline->device,
                      timeline->events, formatBytes(timeline->allocatedMost), formatBytes(timeline->reservedMost)));
    return Success;
}

} // namespace headroom::probe
