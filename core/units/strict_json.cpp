// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/units/strict_json.h"

#include "core/units/text.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <iterator>
#include <numeric>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headroom {

namespace {

/// Reads the text byte by byte for nlohmann's lexer and tells others how far it has come.
class TrackingIterator
{
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char *;
    using reference = const char &;

    TrackingIterator(const char *at, const char **reached)
        : m_at(at)
        , m_reached(reached)
    {}
    reference operator*() const { return *m_at; }
    TrackingIterator &operator++()
    {
        *m_reached = ++m_at;
        return *this;
    }
    TrackingIterator operator++(int)
    {
        TrackingIterator old = *this;
        ++*this;
        return old;
    }
    bool operator==(const TrackingIterator &other) const { return m_at == other.m_at; }
    bool operator!=(const TrackingIterator &other) const { return m_at != other.m_at; }

private:
    const char *m_at;
    const char **m_reached;
};

/// Builds the JsonValue from nlohmann's SAX events. A method that returns false stops the parser; m_issue says why.
class Builder
{
public:
    Builder(std::string_view text, const char *const &reached, std::string_view where, const JsonLimits &limits)
        : m_reached(reached)
        , m_counted(text.data())
        , m_where(where)
        , m_limits(limits)
    {}

    bool null() { return add(nullptr); }
    bool boolean(bool value) { return add(value); }
    bool number_integer(std::int64_t value) { return add(value); }
    bool number_unsigned(std::uint64_t value)
    {
        if (value > static_cast<std::uint64_t>(INT64_MAX))
            return add(static_cast<double>(value));
        return add(static_cast<std::int64_t>(value));
    }
    bool number_float(double value, const std::string &) { return add(value); }
    bool string(std::string &value) { return add(std::move(value)); }
    bool binary(nlohmann::json::binary_t &) { return false; }
    bool start_object(std::size_t) { return open(JsonValue::Object()); }
    bool start_array(std::size_t) { return open(JsonValue::Array()); }
    bool end_array() { return close(); }

    bool key(std::string &key)
    {
        std::get<JsonValue::Object>(m_open.back()->data).push_back({std::move(key), line(), {}});
        return true;
    }

    bool end_object()
    {
        const auto &object = std::get<JsonValue::Object>(m_open.back()->data);
        if (const JsonMember *twice = repeated(object)) {
            const auto first = std::find_if(object.begin(), object.end(), [&](const JsonMember &m) { return m.key == twice->key; });
            return fail(twice->line, joinPath(path(false), excerpt(twice->key)),
                        fmt::format("the key occurs twice, first in line {}", first->line), "keep one of the two");
        }
        return close();
    }

    bool parse_error(std::size_t, const std::string &, const nlohmann::json::exception &error)
    {
        // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing value - invalid literal; ..."
        std::string_view message = error.what();
        if (error.id == 406)
            return fail(line(), path(true), "the number is too large", "write a number below 1e308");
        if (const auto dash = message.rfind(" - "); message.find("while parsing") < dash && dash != std::string_view::npos)
            message.remove_prefix(dash + 3);
        if (message.find("UTF-8") != std::string_view::npos)
            return fail(line(), path(true), "invalid UTF-8", "save the file in UTF-8");
        // Not "last read": it quotes a whole token, which may be megabytes.
        std::string what(message.substr(0, message.find(';')));
        if (const auto expected = message.rfind("; expected "); expected != std::string_view::npos)
            what += std::string(message.substr(expected));
        return fail(line(), path(true), "not valid JSON: " + excerpt(what, 160),
                    what.starts_with("unexpected end of input") ? "the text ends too early: is it complete, every bracket closed?"
                                                                : "look for a missing comma, quote or bracket at or before this place");
    }

    JsonValue &root() { return m_root; }
    const std::optional<Issue> &issue() const { return m_issue; }

private:
    /// Line of the token that was just read. The lexer reads one byte past the end of a number; that byte does not count.
    int line()
    {
        if (m_reached > m_counted) {
            m_line += static_cast<int>(std::count(m_counted, m_reached - 1, '\n'));
            m_counted = m_reached - 1;
        }
        return m_line;
    }

    template<typename T>
    JsonValue *place(T &&data)
    {
        if (++m_values > m_limits.values) {
            fail(line(), path(true), fmt::format("more than {} values in one document", m_limits.values), "split the document");
            return nullptr;
        }
        JsonValue *value = &m_root;
        if (!m_open.empty()) {
            if (auto *array = std::get_if<JsonValue::Array>(&m_open.back()->data))
                value = &array->emplace_back();
            else
                value = &std::get<JsonValue::Object>(m_open.back()->data).back().value;
        }
        value->data = std::forward<T>(data);
        value->line = line();
        return value;
    }

    template<typename T>
    bool add(T &&data)
    {
        return place(std::forward<T>(data)) != nullptr;
    }

    template<typename T>
    bool open(T &&container)
    {
        if (static_cast<int>(m_open.size()) >= m_limits.depth)
            return fail(line(), {}, fmt::format("lists and objects are nested deeper than {}", m_limits.depth),
                        "write the document flatter");
        JsonValue *value = place(std::forward<T>(container));
        if (value == nullptr)
            return false;
        m_open.push_back(value);
        return true;
    }

    bool close()
    {
        m_open.pop_back();
        return true;
    }

    static const JsonMember *repeated(const JsonValue::Object &object)
    {
        if (object.size() <= 16) {
            for (std::size_t i = 1; i < object.size(); ++i)
                for (std::size_t j = 0; j < i; ++j)
                    if (object[i].key == object[j].key)
                        return &object[i];
            return nullptr;
        }
        std::vector<std::size_t> order(object.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return object[a].key < object[b].key; });
        const auto twice =
            std::adjacent_find(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return object[a].key == object[b].key; });
        return twice == order.end() ? nullptr : &object[*(twice + 1)];
    }

    /// Path of the innermost open container, of the member or element within it where `inside`.
    std::string path(bool inside) const
    {
        std::string out = m_where;
        for (std::size_t i = 0; i < m_open.size(); ++i) {
            if (i + 1 == m_open.size() && !inside)
                break;
            // The innermost list may not hold the element yet that is being read: the list alone is named.
            if (const auto *array = m_open[i]->array(); array != nullptr && i + 1 < m_open.size())
                out += fmt::format("[{}]", array->size() - 1);
            else if (const auto *object = m_open[i]->object(); object != nullptr && !object->empty())
                out = joinPath(out, excerpt(object->back().key));
        }
        return out;
    }

    bool fail(int at, std::string where, std::string what, std::string hint)
    {
        if (!m_issue)
            m_issue = Issue{{}, at, std::move(where), std::move(what), std::move(hint)};
        return false;
    }

    const char *const &m_reached;
    const char *m_counted;
    int m_line = 1;
    std::string m_where;
    JsonLimits m_limits;
    std::size_t m_values = 0;
    JsonValue m_root;
    // Stable while they are open: only the innermost container grows.
    std::vector<JsonValue *> m_open;
    std::optional<Issue> m_issue;
};

/// Writes values one after the other into a text.
class Writer
{
public:
    explicit Writer(int indent)
        : m_indent(indent)
    {}

    void write(const JsonValue &value, int level = 0)
    {
        if (value.isNull())
            m_out += "null";
        else if (const bool *boolean = value.boolean())
            m_out += *boolean ? "true" : "false";
        else if (const auto *whole = std::get_if<std::int64_t>(&value.data))
            m_out += std::to_string(*whole);
        else if (const auto *real = std::get_if<double>(&value.data))
            m_out += nlohmann::json(*real).dump();
        else if (const std::string *string = value.string())
            m_out += quoteJson(*string);
        else if (const auto *array = value.array())
            writeArray(*array, level);
        else
            writeObject(*value.object(), level);
    }

    std::string take() { return std::move(m_out); }

private:
    void writeArray(const JsonValue::Array &array, int level)
    {
        const bool inLine =
            m_indent == 0 || std::all_of(array.begin(), array.end(), [](const JsonValue &element) { return element.data.index() <= 4; });
        m_out += '[';
        for (const JsonValue &element : array) {
            if (&element != &array.front())
                m_out += inLine && m_indent > 0 ? ", " : ",";
            if (!inLine)
                newLine(level + 1);
            write(element, level + 1);
        }
        if (!inLine)
            newLine(level);
        m_out += ']';
    }

    void writeObject(const JsonValue::Object &object, int level)
    {
        m_out += '{';
        for (const JsonMember &member : object) {
            if (&member != &object.front())
                m_out += ',';
            newLine(level + 1);
            m_out += quoteJson(member.key);
            m_out += m_indent > 0 ? ": " : ":";
            write(member.value, level + 1);
        }
        if (!object.empty())
            newLine(level);
        m_out += '}';
    }

    void newLine(int level)
    {
        if (m_indent == 0)
            return;
        m_out += '\n';
        m_out.append(static_cast<std::size_t>(level) * static_cast<std::size_t>(m_indent), ' ');
    }

    int m_indent;
    std::string m_out;
};

} // namespace

std::optional<std::int64_t> JsonValue::wholeNumber() const
{
    if (const auto *whole = std::get_if<std::int64_t>(&data))
        return *whole;
    // Beyond 2^53 a double no longer tells one whole number from the next.
    if (const auto *real = std::get_if<double>(&data);
        real != nullptr && std::abs(*real) <= 9007199254740992.0 && std::trunc(*real) == *real)
        return static_cast<std::int64_t>(*real);
    return std::nullopt;
}

std::optional<double> JsonValue::number() const
{
    if (const auto *whole = std::get_if<std::int64_t>(&data))
        return static_cast<double>(*whole);
    if (const auto *real = std::get_if<double>(&data))
        return *real;
    return std::nullopt;
}

const JsonValue *JsonValue::find(std::string_view key) const
{
    if (const Object *members = object())
        for (const JsonMember &member : *members)
            if (member.key == key)
                return &member.value;
    return nullptr;
}

std::string_view JsonValue::typeName() const
{
    switch (data.index()) {
    case 0: return "null";
    case 1: return "true or false";
    case 2:
    case 3: return "a number";
    case 4: return "a string";
    case 5: return "a list";
    default: return "an object";
    }
}

Result<JsonValue> parseJson(std::string_view text, std::string_view where, const JsonLimits &limits)
{
    const auto issue = [&](int line, std::string what, std::string hint) {
        return Issue{{}, line, std::string(where), std::move(what), std::move(hint)};
    };
    if (text.size() > limits.bytes)
        return issue(0, fmt::format("the text is {} bytes long, more than the {} bytes that are read", text.size(), limits.bytes),
                     "is this the right file?");
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
        return issue(1, "the text is UTF-16, not UTF-8", "save it as UTF-8");
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
        return issue(1, "the text is empty", "is this the right file?");
    const char *reached = text.data();
    Builder builder(text, reached, where, limits);
    const bool read =
        nlohmann::json::sax_parse(TrackingIterator(text.data(), &reached), TrackingIterator(text.data() + text.size(), &reached), &builder);
    // The lexer takes a zero byte for the end of the text: what comes behind it would be passed over without a word.
    if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos && reached > text.data() + zero)
        return Issue{{},
                     1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(zero), '\n')),
                     builder.issue() ? builder.issue()->where : std::string(where),
                     "a zero byte, which no JSON has",
                     "remove it; if the text is UTF-16, save it as UTF-8"};
    if (builder.issue())
        return *builder.issue();
    assert(read);
    static_cast<void>(read);
    return std::move(builder.root());
}

std::string writeJson(const JsonValue &value, int indent)
{
    Writer writer(indent);
    writer.write(value);
    return writer.take();
}

std::string quoteJson(std::string_view text) { return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

std::string joinPath(std::string_view parent, std::string_view key)
{
    std::string out(parent);
    if (!out.empty() && !key.empty())
        out += '.';
    out += key;
    return out;
}

Result<std::string> readTextFile(const std::filesystem::path &file, std::size_t limit)
{
    const auto issue = [&](std::string what, std::string hint) { return Issue{file.string(), 0, {}, std::move(what), std::move(hint)}; };
    const auto unreadable = [&](const std::error_code &error) {
        return issue("cannot be read: " + error.message(), "check the name, the folder and its permissions");
    };
    const auto tooLong = [&] {
        return issue(fmt::format("has more than the {} MiB that are read", limit >> 20), "is this the right file?");
    };
    if (file.empty())
        return issue("the file's name is empty", "name a file");
    std::error_code error;
    const std::filesystem::file_status status = std::filesystem::status(file, error);
    switch (status.type()) {
    case std::filesystem::file_type::regular: break;
    case std::filesystem::file_type::not_found: return issue("no such file", "check the name and the folder");
    case std::filesystem::file_type::directory: return issue("is a folder", "name a file in it");
    case std::filesystem::file_type::none: return unreadable(error);
    default: return issue("is a pipe or a device", "name a regular file"); // opening a pipe would wait for a writer
    }
    if (const auto size = std::filesystem::file_size(file, error); !error && size > limit)
        return tooLong();
    std::ifstream stream(file, std::ios::binary);
    if (!stream.is_open())
        return unreadable({errno, std::generic_category()});
    // The file may be longer than it says, and grow while it is read: never more is kept than may be.
    std::string text;
    std::vector<char> buffer(std::size_t{64} << 10);
    while (stream.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || stream.gcount() > 0) {
        text.append(buffer.data(), static_cast<std::size_t>(stream.gcount()));
        if (text.size() > limit)
            return tooLong();
    }
    if (stream.bad())
        return issue("cannot be read to its end", "check the disk");
    return text;
}

} // namespace headroom
