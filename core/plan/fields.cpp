// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/fields.h"

#include "core/plan/choices.h"
#include "core/units/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headroom {

namespace {

constexpr std::size_t longestText = 1000;
constexpr std::size_t longestList = 1000;

std::string_view typeName(const FieldValue &value)
{
    constexpr std::array<std::string_view, 6> names{"null", "true or false", "a number", "a number", "a string", "a list"};
    return names[value.index()];
}

std::string rangeHint(const Field &field)
{
    return fmt::format("write a {} from {} to {}{}", field.type == FieldType::Integer ? "whole number" : "number", field.minimum,
                       field.maximum, field.nullable ? ", or null" : "");
}

std::vector<std::string_view> valuesOf(const Field &field)
{
    std::vector<std::string_view> values;
    for (const FieldChoice &choice : field.choices)
        values.push_back(choice.value);
    return values;
}

Issue issue(const Field &field, std::string what, std::string hint)
{
    return {{}, 0, std::string(field.path), std::move(what), std::move(hint)};
}

std::optional<Issue> checkNumber(const Field &field, double number)
{
    if (std::isnan(number))
        return issue(field, "is not a number", rangeHint(field));
    if (number < field.minimum)
        return issue(field, fmt::format("must be at least {}", field.minimum), rangeHint(field));
    if (number > field.maximum)
        return issue(field, fmt::format("must be at most {}", field.maximum), rangeHint(field));
    if (field.type == FieldType::Integer && std::trunc(number) != number)
        return issue(field, "must be a whole number", rangeHint(field));
    return std::nullopt;
}

std::optional<Issue> checkChoice(const Field &field, const std::string &value)
{
    const std::vector<std::string_view> values = valuesOf(field);
    if (std::find(values.begin(), values.end(), value) != values.end())
        return std::nullopt;
    const std::optional<std::string_view> meant = nearest(value, values);
    return issue(field, fmt::format("\"{}\" is not one of its values", excerpt(value)),
                 (meant ? fmt::format("did you mean \"{}\"? ", *meant) : std::string()) + "Allowed: " + orList(values) +
                     (field.nullable ? ", or null" : ""));
}

bool isVersion(std::string_view text)
{
    return !text.empty() && text.size() <= 40 && std::isdigit(static_cast<unsigned char>(text.front())) != 0 &&
           text.find('.') != std::string_view::npos;
}

bool isRank(std::string_view text)
{
    return text == "worst" || text == "first" || text == "last" ||
           (!text.empty() && text.size() <= 9 && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }));
}

std::optional<Issue> checkText(const Field &field, const std::string &text)
{
    if (!isValidUtf8(text))
        return issue(field, "is not valid UTF-8", "write it in UTF-8");
    if (text.size() > longestText)
        return issue(field, fmt::format("is longer than {} bytes", longestText), "shorten it");
    if ((field.path == "runtime.torch" || field.path == "runtime.transformers") && !isVersion(text))
        return issue(field, fmt::format("\"{}\" is not a version", excerpt(text)), "write it as \"2.13\" or \"5.24.0\"");
    if (field.path == "runtime.rank" && !isRank(text))
        return issue(field, fmt::format("\"{}\" names no rank", excerpt(text)), "write worst, first, last or a rank's number from 0");
    return std::nullopt;
}

std::optional<Issue> checkOperators(const Field &field, const std::vector<std::string> &list)
{
    std::vector<std::string_view> known;
    for (const FieldChoice &choice : choices::savedOperators)
        known.push_back(choice.value);
    for (const std::string &name : list) {
        if (std::find(known.begin(), known.end(), name) != known.end())
            continue;
        const std::optional<std::string_view> meant = nearest(name, known);
        return issue(field, fmt::format("\"{}\" is no operator that can be kept", excerpt(name)),
                     (meant ? fmt::format("did you mean \"{}\"? ", *meant) : std::string()) + "Allowed: " + orList(known));
    }
    return std::nullopt;
}

std::optional<Issue> checkList(const Field &field, const std::vector<std::string> &list)
{
    if (field.path == "method.targets" && list.empty())
        return issue(field, "names no module", R"(write "all-linear" or a list, for example ["q_proj", "v_proj"])");
    if (field.path == "selective.operators")
        if (std::optional<Issue> found = checkOperators(field, list))
            return found;
    if (list.size() > longestList)
        return issue(field, fmt::format("has more than {} entries", longestList), "shorten the list");
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (list[i].empty() || list[i].size() > longestText || !isValidUtf8(list[i]))
            return issue(field, fmt::format("entry {} is empty, too long or not valid UTF-8", i + 1), "name one thing an entry");
        if (std::find(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(i), list[i]) !=
            list.begin() + static_cast<std::ptrdiff_t>(i))
            return issue(field, fmt::format("\"{}\" is listed twice", excerpt(list[i])), "keep one of the two");
    }
    return std::nullopt;
}

/// The value as the field's setter takes it, or what is wrong with it.
Result<FieldValue> converted(const Field &field, const FieldValue &value)
{
    const auto checked = [&value](std::optional<Issue> found) {
        return found ? Result<FieldValue>(std::move(*found)) : Result<FieldValue>(value);
    };
    if (std::holds_alternative<std::monostate>(value) && field.nullable)
        return value;
    switch (field.type) {
    case FieldType::Boolean:
        if (std::holds_alternative<bool>(value))
            return value;
        return issue(field, fmt::format("must be true or false, not {}", typeName(value)),
                     field.nullable ? "write true, false or null" : "write true or false");
    case FieldType::Integer:
    case FieldType::Real: {
        double number = 0;
        if (const auto *whole = std::get_if<std::int64_t>(&value))
            number = static_cast<double>(*whole);
        else if (const auto *real = std::get_if<double>(&value))
            number = *real;
        else
            return issue(field,
                         fmt::format("must be a {}, not {}", field.type == FieldType::Integer ? "whole number" : "number", typeName(value)),
                         rangeHint(field));
        if (std::optional<Issue> found = checkNumber(field, number))
            return std::move(*found);
        // Every range ends below 2^53: no digit is lost on the way.
        if (field.type == FieldType::Integer)
            return FieldValue(static_cast<std::int64_t>(number));
        return FieldValue(number);
    }
    case FieldType::Choice:
        if (const auto *text = std::get_if<std::string>(&value))
            return checked(checkChoice(field, *text));
        return issue(field, fmt::format("must be a string, not {}", typeName(value)),
                     "Allowed: " + orList(valuesOf(field)) + (field.nullable ? ", or null" : ""));
    case FieldType::Text:
        if (const auto *text = std::get_if<std::string>(&value))
            return checked(checkText(field, *text));
        return issue(field, fmt::format("must be a string, not {}", typeName(value)), "write it in quotes");
    case FieldType::TextList:
        if (const auto *list = std::get_if<std::vector<std::string>>(&value))
            return checked(checkList(field, *list));
        if (const auto *text = std::get_if<std::string>(&value); text != nullptr && field.path == "method.targets" && *text == "all-linear")
            return value;
        return issue(field, fmt::format("must be a list of strings, not {}", typeName(value)),
                     field.path == "method.targets" ? R"(write "all-linear" or a list, for example ["q_proj", "v_proj"])"
                                                    : R"(for example ["first", "second"])");
    }
    return issue(field, "has no type", {});
}

/// "1 sequence", "2 sequences": units are plurals.
std::string withUnit(std::string number, const Field &field)
{
    if (field.unit.empty())
        return number;
    std::string_view unit = field.unit;
    if (number == "1" && unit.ends_with('s'))
        unit.remove_suffix(unit.ends_with("ches") ? 2 : 1);
    return fmt::format("{} {}", number, unit);
}

std::string valueText(const Field &field, const FieldValue &value)
{
    switch (value.index()) {
    case 0: return std::string(field.nullLabel);
    case 1: return std::get<bool>(value) ? HEADROOM_TR("on") : HEADROOM_TR("off");
    case 2: return std::to_string(std::get<std::int64_t>(value));
    case 3: return fmt::format("{}", std::get<double>(value));
    case 4: {
        const auto &text = std::get<std::string>(value);
        if (field.type == FieldType::TextList)
            return HEADROOM_TR("all linear layers");
        for (const FieldChoice &choice : field.choices)
            if (choice.value == text)
                return std::string(choice.label);
        return text;
    }
    default: {
        const auto &list = std::get<std::vector<std::string>>(value);
        return list.empty() ? HEADROOM_TR("none") : fmt::format("{}", fmt::join(list, ", "));
    }
    }
}

} // namespace

std::optional<Issue> setField(TrainingPlan &plan, const Field &field, const FieldValue &value)
{
    const Result<FieldValue> accepted = converted(field, value);
    if (!accepted)
        return accepted.issue();
    field.set(plan, *accepted);
    return std::nullopt;
}

std::string displayValue(const Field &field, const FieldValue &value)
{
    const bool isNumber = value.index() == 2 || value.index() == 3;
    return isNumber ? withUnit(valueText(field, value), field) : valueText(field, value);
}

std::string changeText(const Field &field, const FieldValue &from, const FieldValue &to)
{
    const auto quoted = [&](const FieldValue &value) {
        const std::string text = valueText(field, value);
        return text.empty() ? std::string("\"\"") : excerpt(text);
    };
    return fmt::format("{} {} -> {}", field.label, quoted(from), quoted(to));
}

} // namespace headroom
