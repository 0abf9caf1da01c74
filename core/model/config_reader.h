// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/units/result.h"
#include "core/units/strict_json.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace headroom {

/// Another name of a key in one model type's config (transformers: attribute_map). Where both are given, it is the one that is
/// taken: the class is made with its own names first, the other names are set after that.
struct KeyAlias {
    std::string_view modelType, alias, own;
};

/// Reads keys of one object; the first issue stays, later reads are harmless.
class ConfigReader
{
public:
    ConfigReader(const JsonValue &object, std::string_view where)
        : m_object(object)
        , m_where(where)
    {}

    /// From now on a key is also found by the other names that this model type has for it.
    void useAliases(std::span<const KeyAlias> aliases, std::string_view modelType)
    {
        for (const KeyAlias &alias : aliases)
            if (alias.modelType == modelType)
                m_aliases.push_back(alias);
    }

    /// The name under which the key's value is given; its own where none is.
    std::string_view nameOf(std::string_view key) const
    {
        for (const KeyAlias &alias : m_aliases)
            if (alias.own == key && given(alias.alias) != nullptr)
                return alias.alias;
        return key;
    }

    /// The value, null and absent alike as nullptr.
    const JsonValue *find(std::string_view key) const { return given(nameOf(key)); }

    /// Where the key's value stands; `fallback` where it is missing.
    int lineOf(std::string_view key, int fallback) const
    {
        const JsonValue *value = find(key);
        return value == nullptr ? fallback : value->line;
    }

    bool isNull(std::string_view key) const
    {
        const JsonValue *value = m_object.find(key);
        return value != nullptr && value->isNull();
    }

    std::int64_t count(std::string_view key, std::int64_t fallback, std::int64_t most)
    {
        const JsonValue *value = find(key);
        return value == nullptr ? fallback : checkedCount(*value, key, 1, most);
    }

    std::int64_t countFromZero(std::string_view key, std::int64_t fallback, std::int64_t most)
    {
        const JsonValue *value = find(key);
        return value == nullptr ? fallback : checkedCount(*value, key, 0, most);
    }

    std::int64_t requiredCount(std::string_view key, std::int64_t most)
    {
        if (const JsonValue *value = find(key))
            return checkedCount(*value, key, 1, most);
        fail(m_object.line, key, isNull(key) ? "must be given, not null" : "missing",
             fmt::format("a config.json must say {}: a whole number from 1 to {}", key, most));
        return 1;
    }

    bool flag(std::string_view key, bool fallback)
    {
        const JsonValue *value = find(key);
        if (value == nullptr)
            return fallback;
        if (const bool *boolean = value->boolean())
            return *boolean;
        fail(value->line, key, fmt::format("must be true or false, not {}", value->typeName()), "write true or false");
        return fallback;
    }

    std::string text(std::string_view key, std::string_view fallback)
    {
        const JsonValue *value = find(key);
        if (value == nullptr)
            return std::string(fallback);
        if (const std::string *string = value->string())
            return *string;
        fail(value->line, key, fmt::format("must be a string, not {}", value->typeName()), "write it in quotes");
        return std::string(fallback);
    }

    double fraction(std::string_view key, double fallback)
    {
        const JsonValue *value = find(key);
        if (value == nullptr)
            return fallback;
        const std::optional<double> number = value->number();
        if (number && *number >= 0.0 && *number < 1.0)
            return *number;
        fail(value->line, key, number ? "must be at least 0 and less than 1" : fmt::format("must be a number, not {}", value->typeName()),
             "write a number from 0 to less than 1, for example 0.0");
        return fallback;
    }

    /// Placed at the name under which the key is given.
    void fail(int line, std::string_view key, std::string what, std::string hint)
    {
        if (!m_issue)
            m_issue = Issue{{}, line, joinPath(m_where, nameOf(key)), std::move(what), std::move(hint)};
    }

    const std::optional<Issue> &issue() const { return m_issue; }

private:
    const JsonValue *given(std::string_view name) const
    {
        const JsonValue *value = m_object.find(name);
        return value == nullptr || value->isNull() ? nullptr : value;
    }

    std::int64_t checkedCount(const JsonValue &value, std::string_view key, std::int64_t least, std::int64_t most)
    {
        const std::optional<double> number = value.number();
        const std::optional<std::int64_t> whole = value.wholeNumber();
        const std::string hint = fmt::format("write a whole number from {} to {}", least, most);
        if (!number)
            fail(value.line, key, fmt::format("must be a whole number, not {}", value.typeName()), hint);
        else if (*number < static_cast<double>(least))
            fail(value.line, key, fmt::format("must be at least {}", least), hint);
        else if (*number > static_cast<double>(most))
            fail(value.line, key, fmt::format("must be at most {}", most), hint);
        else if (!whole)
            fail(value.line, key, "must be a whole number", hint);
        else
            return *whole;
        return 1; // stands in until the issue is returned
    }

    std::vector<KeyAlias> m_aliases;
    const JsonValue &m_object;
    std::string m_where;
    std::optional<Issue> m_issue;
};

} // namespace headroom
