// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/units/result.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace headroom {

struct JsonMember;

/// A JSON value that remembers where it stood, so that an error can name line and path. Order of keys is kept.
struct JsonValue {
    using Array = std::vector<JsonValue>;
    using Object = std::vector<JsonMember>;

    /// Whole numbers of 64 bits are std::int64_t; every other number is a double (4.0 and 1e30 too).
    std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object> data;
    int line = 0; ///< 1-based

    bool isNull() const { return std::holds_alternative<std::nullptr_t>(data); }
    const bool *boolean() const { return std::get_if<bool>(&data); }
    const std::string *string() const { return std::get_if<std::string>(&data); }
    const Array *array() const { return std::get_if<Array>(&data); }
    const Object *object() const { return std::get_if<Object>(&data); }

    /// A whole number, written 4 or 4.0; nothing for any other value.
    std::optional<std::int64_t> wholeNumber() const;
    /// Any number.
    std::optional<double> number() const;
    /// The member with this key; null where this is no object or has none.
    const JsonValue *find(std::string_view key) const;
    /// For messages: "a string", "true or false", "a number", "null", "a list", "an object".
    std::string_view typeName() const;
};

struct JsonMember {
    std::string key;
    int line = 0;
    JsonValue value;
};

/// Bounds that keep a hostile file from costing time or memory.
struct JsonLimits {
    std::size_t bytes = std::size_t{16} << 20; ///< of the text
    int depth = 64;                            ///< of lists and objects within each other
    std::size_t values = 200'000;              ///< nulls, numbers, strings, lists and objects, all together
};

/// Reads one JSON document. Malformed text, invalid UTF-8, UTF-16, zero bytes, keys that occur twice in an object, numbers too
/// large for a double and what exceeds the limits are an Issue with the line and, for keys, the path below `where`.
Result<JsonValue> parseJson(std::string_view text, std::string_view where = {}, const JsonLimits &limits = {});

/// Parsing the text gives an equal value. `indent` 0: one line, no spaces; above: that many spaces for each level, lists of
/// plain values in one line.
std::string writeJson(const JsonValue &value, int indent = 0);

/// A JSON string literal, quotes included; malformed UTF-8 is replaced.
std::string quoteJson(std::string_view text);

/// "a.b"; either part may be empty.
std::string joinPath(std::string_view parent, std::string_view key);

/// The text of a regular file of at most `limit` bytes. The Issue carries the file's name; what is no file (a folder, a pipe, a
/// device, nothing) is said to be what it is, and never opened.
Result<std::string> readTextFile(const std::filesystem::path &file, std::size_t limit = std::size_t{16} << 20);

} // namespace headroom
