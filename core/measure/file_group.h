// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What the readers of the probe's files have in common: objects whose keys are known, and numbers that a run can have.
#pragma once

#include "core/units/bytes.h"
#include "core/units/strict_json.h"
#include "core/units/text.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace headroom::measure {

// Bounds on what a run can have: beyond them a figure is a mistake, and sums of such figures could overflow.
constexpr double mostBytes = 1LL << 60;        // 1 EiB
constexpr double mostMicroseconds = 1LL << 59; // since 1970: 18,000 years
constexpr std::size_t longestText = 1000;

/// Thrown within a reader, and an Issue of its result.
struct Bad {
    Issue issue;
};

[[noreturn]] inline void fail(int line, std::string_view where, std::string what, std::string hint)
{
    throw Bad{{{}, line, std::string(where), std::move(what), std::move(hint)}};
}

constexpr std::string_view mendByProbe = "is it as the probe wrote it? Run the probe again";

/// One object of the file, whose keys are known. Keys may be missing where a reader says so; no other may be there.
class Group
{
public:
    Group(const JsonValue &value, std::string where, std::span<const std::string_view> keys)
        : m_value(value)
        , m_where(std::move(where))
    {
        const auto *object = value.object();
        if (object == nullptr)
            fail(value.line, m_where, fmt::format("must be an object, not {}", value.typeName()), "known here: " + orList(keys));
        for (const JsonMember &member : *object)
            if (std::find(keys.begin(), keys.end(), member.key) == keys.end()) {
                const std::optional<std::string_view> meant = nearest(member.key, keys);
                fail(member.line, joinPath(m_where, excerpt(member.key)), "unknown key",
                     meant ? fmt::format("did you mean \"{}\"?", *meant) : "known here: " + orList(keys));
            }
    }
    Group(const JsonValue &value, std::string where, std::initializer_list<std::string_view> keys)
        : Group(value, std::move(where), std::span<const std::string_view>(keys.begin(), keys.size()))
    {}

    std::string path(std::string_view key) const { return joinPath(m_where, key); }

    const JsonValue &required(std::string_view key) const
    {
        const JsonValue *value = m_value.find(key);
        if (value == nullptr)
            fail(m_value.line, path(key), "missing", std::string(mendByProbe));
        return *value;
    }

    /// Null and missing alike.
    const JsonValue *optional(std::string_view key) const
    {
        const JsonValue *value = m_value.find(key);
        return value == nullptr || value->isNull() ? nullptr : value;
    }

    std::int64_t whole(const JsonValue &value, std::string_view key, double least, double most) const
    {
        const double number = inRange(value, key, least, most, "whole number");
        const std::optional<std::int64_t> whole = value.wholeNumber();
        if (!whole)
            fail(value.line, path(key), fmt::format("{} is not a whole number", number), std::string(mendByProbe));
        return *whole;
    }

    std::optional<double> real(std::string_view key, double most) const
    {
        const JsonValue *value = optional(key);
        return value == nullptr ? std::nullopt : std::optional(inRange(*value, key, 0, most, "number"));
    }

    Bytes bytes(std::string_view key) const { return {whole(required(key), key, 0, mostBytes)}; }

    std::optional<Bytes> optionalBytes(std::string_view key) const
    {
        const JsonValue *value = optional(key);
        return value == nullptr ? std::nullopt : std::optional(Bytes{whole(*value, key, 0, mostBytes)});
    }

    std::string text(std::string_view key, std::size_t longest = longestText) const
    {
        const JsonValue &value = required(key);
        if (value.string() == nullptr)
            fail(value.line, path(key), fmt::format("must be a string, not {}", value.typeName()), "write it in quotes");
        return checkedText(value, key, longest);
    }

    /// Empty where it is null or missing.
    std::string optionalText(std::string_view key) const
    {
        const JsonValue *value = optional(key);
        if (value == nullptr)
            return {};
        if (value->string() == nullptr)
            fail(value->line, path(key), fmt::format("must be a string or null, not {}", value->typeName()), "write it in quotes");
        return checkedText(*value, key, longestText);
    }

private:
    double inRange(const JsonValue &value, std::string_view key, double least, double most, std::string_view what) const
    {
        const std::optional<double> number = value.number();
        if (!number)
            fail(value.line, path(key), fmt::format("must be a {}, not {}", what, value.typeName()), std::string(mendByProbe));
        if (!(*number >= least))
            fail(value.line, path(key), fmt::format("must be at least {}, not {}", least, *number), std::string(mendByProbe));
        if (*number > most)
            fail(value.line, path(key), fmt::format("{} is more than any run has", *number), std::string(mendByProbe));
        return *number;
    }

    std::string checkedText(const JsonValue &value, std::string_view key, std::size_t longest) const
    {
        const std::string &text = *value.string();
        if (text.size() > longest)
            fail(value.line, path(key), fmt::format("is longer than {} bytes", longest), "shorten it");
        return text;
    }

    const JsonValue &m_value;
    std::string m_where;
};

/// What `read` makes of the text's document; what it throws is the result's Issue.
template<typename Read>
auto readText(std::string_view text, const JsonLimits &limits, Read read) -> Result<decltype(read(std::declval<const JsonValue &>()))>
{
    const Result<JsonValue> document = parseJson(text, {}, limits);
    if (!document)
        return document.issue();
    try {
        return read(*document);
    } catch (Bad &bad) {
        return std::move(bad.issue);
    }
}

/// What `read` makes of the file's text; an Issue names the file.
template<typename Read>
auto readFile(const std::filesystem::path &file, std::size_t mostFileBytes, Read read) -> decltype(read(std::string_view()))
{
    const Result<std::string> text = readTextFile(file, mostFileBytes);
    if (!text)
        return text.issue();
    auto result = read(std::string_view(*text));
    if (!result)
        result.issue().file = file.string();
    return result;
}

} // namespace headroom::measure
