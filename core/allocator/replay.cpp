// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/allocator/replay.h"

#include "core/allocator/caching_allocator.h"
#include "core/allocator/size_rules.h"
#include "core/units/strict_json.h"
#include "core/units/text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

namespace headroom {

namespace {

/// Events are the bulk of a line: five values each.
constexpr JsonLimits limits{std::size_t{64} << 20, 8, 4'000'000};
/// A stream costs the allocator some 20 KiB. PyTorch itself makes at most 32 a priority and device.
constexpr std::size_t mostStreams = 1024;

struct ReplayEvent {
    bool allocates = false;
    std::int64_t id = 0;
    std::int64_t bytes = 0;
    std::uint32_t stream = 0;
};

Issue issueAt(const JsonValue &value, std::string where, std::string what, std::string hint)
{
    return {{}, value.line, std::move(where), std::move(what), std::move(hint)};
}

constexpr std::array<std::string_view, 6> optionNames{
    "capacity_bytes", "max_split_size_mb", "expandable_segments", "roundup_power2_divisions", "garbage_collection_threshold",
    "memory_fraction"};

std::optional<Issue> readOption(AllocatorOptions &options, const std::string &name, const JsonValue &value)
{
    const auto mismatch = [&](std::string_view wanted) {
        return issueAt(value, "config." + name, fmt::format("{} where {} is expected", value.typeName(), wanted),
                       fmt::format("write {}, or null", wanted));
    };
    if (value.isNull())
        return std::nullopt;
    if (name == "capacity_bytes" || name == "max_split_size_mb") {
        const auto number = value.wholeNumber();
        if (!number)
            return mismatch("a whole number");
        if (name == "capacity_bytes")
            options.capacity = {*number};
        else
            options.maxSplitSizeMb = *number;
    } else if (name == "expandable_segments") {
        if (!value.boolean())
            return mismatch("true or false");
        options.expandableSegments = *value.boolean();
    } else if (name == "roundup_power2_divisions") {
        if (!value.string())
            return mismatch("the option's text");
        options.roundupPower2Divisions = *value.string();
    } else {
        const auto number = value.number();
        if (!number)
            return mismatch("a number");
        if (name == "memory_fraction")
            options.memoryFraction = *number;
        else
            options.garbageCollectionThreshold = *number;
    }
    return std::nullopt;
}

std::optional<Issue> unknownKey(const JsonMember &member, std::string_view parent, std::span<const std::string_view> known)
{
    if (std::find(known.begin(), known.end(), member.key) != known.end())
        return std::nullopt;
    const auto meant = nearest(member.key, known);
    return Issue{{},
                 member.line,
                 joinPath(parent, excerpt(member.key)),
                 "unknown key",
                 meant ? fmt::format("is \"{}\" meant?", *meant) : "known here: " + orList(known)};
}

Result<AllocatorOptions> readConfig(const JsonValue &config)
{
    AllocatorOptions options;
    if (config.isNull())
        return options;
    if (!config.object())
        return issueAt(config, "config", fmt::format("{} where an object is expected", config.typeName()),
                       "write {\"capacity_bytes\": ..., ...}");
    for (const JsonMember &member : *config.object()) {
        if (auto issue = unknownKey(member, "config", optionNames))
            return *issue;
        if (auto issue = readOption(options, member.key, member.value))
            return *issue;
    }
    if (auto issue = checkAllocatorOptions(options)) {
        const JsonValue *value = config.find(issue->where);
        issue->line = value ? value->line : config.line;
        issue->where = joinPath("config", issue->where);
        return *issue;
    }
    return options;
}

Result<ReplayEvent> readEvent(const JsonValue &value, std::size_t index)
{
    const auto issue = [&](std::string what, std::string hint = "write [1, id, bytes, stream] or [-1, id]") {
        return issueAt(value, fmt::format("events[{}]", index), std::move(what), std::move(hint));
    };
    const JsonValue::Array *items = value.array();
    if (!items)
        return issue(fmt::format("{} where a list is expected", value.typeName()));
    const auto whole = [&](std::size_t i) { return i < items->size() ? (*items)[i].wholeNumber() : std::nullopt; };
    const auto sign = whole(0);
    if (!sign || (*sign != 1 && *sign != -1))
        return issue("an event begins with 1 (an allocation) or -1 (a release)");
    ReplayEvent event{*sign == 1};
    const auto id = whole(1);
    if (!id)
        return issue("the id must be a whole number of 64 bits");
    event.id = *id;
    if (!event.allocates) {
        if (items->size() != 2)
            return issue(fmt::format("a release has 2 items, not {}", items->size()));
        return event;
    }
    if (items->size() != 3 && items->size() != 4)
        return issue(fmt::format("an allocation has 4 items, not {}", items->size()));
    const auto bytes = whole(2);
    if (!bytes || *bytes < 0 || *bytes >= static_cast<std::int64_t>(allocator::tooLarge))
        return issue("the size must be a whole number of bytes, from 0 to below 1 EiB");
    event.bytes = *bytes;
    if (items->size() == 4) {
        const auto stream = whole(3);
        if (!stream || *stream < 0 || *stream > UINT32_MAX)
            return issue("the stream must be a whole number from 0 to 4294967295");
        event.stream = static_cast<std::uint32_t>(*stream);
    }
    return event;
}

Result<std::vector<ReplayEvent>> readEvents(const JsonValue &value)
{
    if (!value.array())
        return issueAt(value, "events", fmt::format("{} where a list is expected", value.typeName()),
                       "write [[1, id, bytes, stream], [-1, id], ...]");
    std::vector<ReplayEvent> events;
    events.reserve(value.array()->size());
    std::unordered_set<std::uint32_t> streams;
    for (const JsonValue &item : *value.array()) {
        auto event = readEvent(item, events.size());
        if (!event)
            return std::move(event.issue());
        if (event->allocates && streams.insert(event->stream).second && streams.size() > mostStreams)
            return issueAt(item, fmt::format("events[{}]", events.size()), fmt::format("more than {} streams", mostStreams),
                           "use fewer streams");
        events.push_back(*event);
    }
    return events;
}

/// c10's format_size.
std::string formatSize(Bytes bytes)
{
    const auto in = [&](int shift) { return static_cast<double>(bytes.value) / static_cast<double>(std::int64_t{1} << shift); };
    if (bytes.value <= 1 << 10)
        return fmt::format("{} bytes", bytes.value);
    if (bytes.value <= 1 << 20)
        return fmt::format("{:.2f} KiB", in(10));
    if (bytes.value <= 1 << 30)
        return fmt::format("{:.2f} MiB", in(20));
    return fmt::format("{:.2f} GiB", in(30));
}

std::string outOfMemoryJson(const CachingAllocator::OutOfMemory &figures, std::size_t event, Bytes deviceCapacity)
{
    const std::string message = fmt::format(
        "CUDA out of memory. Tried to allocate {}. GPU 0 has a total capacity of {} of which {} is free. Of the allocated memory {} "
        "is allocated by PyTorch, and {} is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try "
        "setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management "
        " (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)",
        formatSize(figures.tried), formatSize(deviceCapacity), formatSize(figures.free), formatSize(figures.allocated),
        formatSize(figures.reservedUnallocated));
    return fmt::format(
        R"({{"event":{},"tried_bytes":{},"capacity_bytes":{},"free_bytes":{},"allocated_bytes":{},"reserved_unallocated_bytes":{},"message":{}}})",
        event, figures.tried.value, figures.capacity.value, figures.free.value, figures.allocated.value, figures.reservedUnallocated.value,
        quoteJson(message));
}

Result<std::string> replay(const AllocatorOptions &options, const std::vector<ReplayEvent> &events)
{
    CachingAllocator allocator(options);
    std::unordered_map<std::int64_t, CachingAllocator::Block> live;
    std::string after;
    std::string outOfMemory = "null";
    std::int64_t peakAllocated = 0, peakReserved = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
        const ReplayEvent &event = events[i];
        const auto issue = [&](const char *what, const char *hint) {
            return Issue{{}, 0, fmt::format("events[{}]", i), fmt::format("id {} {}", event.id, what), hint};
        };
        bool failed = false;
        if (event.allocates) {
            const auto [at, fresh] = live.try_emplace(event.id, CachingAllocator::noBlock);
            if (!fresh)
                return issue("is allocated already", "give each allocation an id of its own until its release");
            at->second = allocator.allocate(event.bytes, event.stream);
            failed = at->second == CachingAllocator::noBlock && event.bytes > 0;
        } else {
            const auto at = live.find(event.id);
            if (at == live.end())
                return issue("is not allocated here", "release an id after its allocation, and once");
            allocator.release(at->second);
            live.erase(at);
        }
        fmt::format_to(std::back_inserter(after), "{}[{},{}]", i == 0 ? "" : ",", allocator.allocated(), allocator.reserved());
        peakAllocated = std::max(peakAllocated, allocator.allocated());
        peakReserved = std::max(peakReserved, allocator.reserved());
        if (failed) {
            outOfMemory = outOfMemoryJson(*allocator.outOfMemory(), i, options.capacity);
            break;
        }
    }
    return fmt::format(R"({{"after":[{}],"peak_allocated":{},"peak_reserved":{},"retries":{},"out_of_memory":{}}})", after, peakAllocated,
                       peakReserved, allocator.retries(), outOfMemory);
}

} // namespace

Result<std::string> replayAllocatorLine(std::string_view json)
{
    auto line = parseJson(json, {}, limits);
    if (!line)
        return std::move(line.issue());
    if (!line->object())
        return issueAt(*line, {}, fmt::format("{} where an object is expected", line->typeName()),
                       "write {\"config\": {...}, \"events\": [...]}");
    constexpr std::array<std::string_view, 2> keys{"config", "events"};
    for (const JsonMember &member : *line->object()) {
        if (auto issue = unknownKey(member, {}, keys))
            return *issue;
    }
    AllocatorOptions options;
    if (const JsonValue *config = line->find("config")) {
        auto read = readConfig(*config);
        if (!read)
            return std::move(read.issue());
        options = *read;
    }
    const JsonValue *list = line->find("events");
    if (!list)
        return issueAt(*line, "events", "missing", "write \"events\": [[1, id, bytes, stream], [-1, id], ...]");
    const auto events = readEvents(*list);
    if (!events)
        return events.issue();
    return replay(options, *events);
}

} // namespace headroom
