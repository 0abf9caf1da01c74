// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/measure/memory_timeline.h"

#include "core/measure/file_group.h"
#include "core/measure/probe_result.h"

#include <array>
#include <fstream>

namespace headroom {

using namespace measure;

namespace {

// What the Python side writes at most (resources/probe/headroom_probe/snapshot.py: MOST_POINTS, MOST_SEGMENTS): three numbers a
// point, five values and their object a segment.
constexpr std::size_t mostPoints = 100'000;
constexpr std::size_t mostSegments = 100'000;
constexpr JsonLimits limits{std::size_t{64} << 20, 8, 3 * mostPoints + 6 * mostSegments + 100};
constexpr double mostEvents = 1e12;
constexpr std::string_view mendBySnapshot = "is it as the probe wrote it? Convert the snapshot again";

const JsonValue::Array &listOf(const Group &group, std::string_view key, std::size_t most)
{
    const JsonValue &value = group.required(key);
    const auto *list = value.array();
    if (list == nullptr)
        fail(value.line, group.path(key), fmt::format("must be a list, not {}", value.typeName()), std::string(mendBySnapshot));
    if (list->size() > most)
        fail(value.line, group.path(key), fmt::format("has more than {} entries", most), "convert the snapshot with this Headroom's probe");
    return *list;
}

std::int64_t wholeAt(const JsonValue::Array &list, std::size_t i, std::string_view key, double most)
{
    const std::optional<std::int64_t> number = list[i].wholeNumber();
    if (!number || *number < 0 || static_cast<double>(*number) > most)
        fail(list[i].line, fmt::format("{}[{}]", key, i), "is no whole number that a run can have", std::string(mendBySnapshot));
    return *number;
}

struct Both {
    Bytes allocated, reserved;
};

Both bothOf(const Group &group, std::string_view key)
{
    const Group both(group.required(key), std::string(key), {"allocated", "reserved"});
    return {both.bytes("allocated"), both.bytes("reserved")};
}

void checkFormat(const JsonValue &document)
{
    const JsonValue *format = document.find("headroom_memory_timeline");
    if (format == nullptr)
        fail(document.line, "headroom_memory_timeline", "missing",
             document.find("headroom_probe") != nullptr
                 ? "this is a result of the probe; a timeline is what it makes of a memory snapshot"
                 : "headroom-probe snapshot PICKLE --output FILE makes a timeline of a memory snapshot of PyTorch");
    const std::optional<std::int64_t> number = format->wholeNumber();
    if (!number || *number < 1)
        fail(format->line, "headroom_memory_timeline", "must be the number of the format of timelines",
             fmt::format("write {}", memoryTimelineFormat));
    if (*number > memoryTimelineFormat)
        fail(format->line, "headroom_memory_timeline",
             fmt::format("timeline format {} is newer than this program, which reads up to {}", *number, memoryTimelineFormat),
             "update Headroom");
}

MemoryTimeline readDocument(const JsonValue &document)
{
    if (document.object() == nullptr)
        fail(document.line, {}, fmt::format("a memory timeline is an object, not {}", document.typeName()),
             "a memory timeline begins with {\"headroom_memory_timeline\": 1, ...");
    checkFormat(document);
    const Group group(document, {},
                      {"headroom_memory_timeline", "device", "events", "began_us", "at_start", "at_end", "peak", "out_of_memory", "time_us",
                       "allocated", "reserved", "segments"});
    MemoryTimeline timeline;
    timeline.device = static_cast<int>(group.whole(group.required("device"), "device", 0, 1023));
    timeline.events = group.whole(group.required("events"), "events", 0, mostEvents);
    timeline.beganAt = group.whole(group.required("began_us"), "began_us", 0, mostMicroseconds);
    timeline.timesOutOfMemory = group.whole(group.required("out_of_memory"), "out_of_memory", 0, mostEvents);
    const Both before = bothOf(group, "at_start");
    timeline.allocatedBefore = before.allocated;
    timeline.reservedBefore = before.reserved;
    bothOf(group, "at_end");
    const Both peak = bothOf(group, "peak");
    timeline.allocatedMost = peak.allocated;
    timeline.reservedMost = peak.reserved;
    listOf(group, "segments", mostSegments);
    const JsonValue::Array &times = listOf(group, "time_us", mostPoints);
    const JsonValue::Array &allocated = listOf(group, "allocated", mostPoints), &reserved = listOf(group, "reserved", mostPoints);
    if (allocated.size() != times.size() || reserved.size() != times.size())
        fail(document.line, "time_us",
             fmt::format("has {} entries, allocated {} and reserved {}", times.size(), allocated.size(), reserved.size()),
             std::string(mendBySnapshot));
    if (static_cast<std::int64_t>(times.size()) > timeline.events)
        fail(document.line, "events", fmt::format("are {}, fewer than the {} that are listed", timeline.events, times.size()),
             std::string(mendBySnapshot));
    timeline.points.reserve(times.size());
    for (std::size_t i = 0; i < times.size(); ++i)
        timeline.points.push_back({wholeAt(times, i, "time_us", mostMicroseconds), Bytes{wholeAt(allocated, i, "allocated", mostBytes)},
                                   Bytes{wholeAt(reserved, i, "reserved", mostBytes)}});
    return timeline;
}

} // namespace

Result<MemoryTimeline> readMemoryTimeline(std::string_view text) { return readText(text, limits, readDocument); }

Result<MemoryTimeline> readMemoryTimelineFile(const std::filesystem::path &file)
{
    return readFile(file, limits.bytes, readMemoryTimeline);
}

MeasuredFile measuredFileOf(const std::filesystem::path &file)
{
    const std::string name = file.filename().string();
    if (isProbeFileName(name))
        return MeasuredFile::Result;
    if (name.ends_with(".headroom-timeline.json"))
        return MeasuredFile::Timeline;
    if (name.ends_with(".pickle") || name.ends_with(".pkl"))
        return MeasuredFile::Snapshot;
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(file, ignored))
        return MeasuredFile::Other;
    std::array<char, 64> beginning{};
    std::ifstream stream(file, std::ios::binary);
    stream.read(beginning.data(), beginning.size());
    std::string text;
    for (std::streamsize i = 0; i < stream.gcount(); ++i)
        if (const char c = beginning[static_cast<std::size_t>(i)]; c != ' ' && c != '\n' && c != '\r' && c != '\t')
            text += c;
    // Protocols 2 and up begin with PROTO and their number (pickletools: opcode 0x80).
    if (text.size() > 1 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5)
        return MeasuredFile::Snapshot;
    if (text.starts_with(R"({"headroom_memory_timeline")"))
        return MeasuredFile::Timeline;
    return text.starts_with(R"({"headroom_probe")") ? MeasuredFile::Result : MeasuredFile::Other;
}

} // namespace headroom
