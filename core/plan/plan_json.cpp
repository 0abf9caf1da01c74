// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/plan_json.h"

#include "core/plan/choices.h"
#include "core/plan/plan_reader.h"
#include "core/units/strict_json.h"
#include "core/units/text.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace headroom {

namespace {

// --- Writing -------------------------------------------------------------------------------------------------------------

JsonValue json(const std::vector<std::string> &list)
{
    JsonValue::Array array;
    for (const std::string &text : list)
        array.push_back({text, 0});
    return {std::move(array), 0};
}

JsonValue json(const FieldValue &value)
{
    switch (value.index()) {
    case 1: return {std::get<bool>(value), 0};
    case 2: return {std::get<std::int64_t>(value), 0};
    case 3: return {std::get<double>(value), 0};
    case 4: return {std::get<std::string>(value), 0};
    case 5: return json(std::get<std::vector<std::string>>(value));
    default: return {};
    }
}

JsonValue json(const ModelChoice &model)
{
    JsonValue::Object object;
    if (!model.config.empty()) {
        Result<JsonValue> config = parseJson(model.config);
        object.push_back({"config", 0, config ? std::move(config).value() : JsonValue{JsonValue::Object(), 0}});
    } else if (!model.configPath.empty()) {
        object.push_back({"config_path", 0, {model.configPath, 0}});
    } else {
        object.push_back({"preset", 0, {model.preset, 0}});
    }
    return {std::move(object), 0};
}

JsonValue json(const Selective &selective)
{
    JsonValue::Object object;
    if (selective.every)
        object.push_back({"every", 0, {*selective.every, 0}});
    else if (!selective.operators.empty())
        object.push_back({"operators", 0, json(selective.operators)});
    else if (selective.policy != SelectivePolicy::None)
        object.push_back({"policy", 0, {std::string(choices::selectivePolicy[static_cast<std::size_t>(selective.policy)].value), 0}});
    return object.empty() ? JsonValue() : JsonValue{std::move(object), 0};
}

/// The object at `key` of the document, made where it is not there yet.
JsonValue::Object &groupOf(JsonValue::Object &document, std::string_view key)
{
    for (JsonMember &member : document)
        if (member.key == key)
            return std::get<JsonValue::Object>(member.value.data);
    document.push_back({std::string(key), 0, {JsonValue::Object(), 0}});
    return std::get<JsonValue::Object>(document.back().value.data);
}

JsonValue documentOf(const TrainingPlan &plan, PlanStyle style)
{
    static const TrainingPlan defaults;
    JsonValue::Object document;
    document.push_back({"headroom_plan", 0, {std::int64_t{planFormat}, 0}});
    for (const Field &field : fields()) {
        const FieldValue value = field.get(plan);
        if (field.path.starts_with("selective.")) // one of three, written as an object
            continue;
        if (style == PlanStyle::Complete || value != field.get(defaults)) {
            JsonValue written = json(value);
            // A rank's number is written as a number.
            if (field.path == "runtime.rank" && !plan.runtime.rank.empty() && plan.runtime.rank.front() >= '0' &&
                plan.runtime.rank.front() <= '9')
                written = {std::int64_t{std::stol(plan.runtime.rank)}, 0};
            const std::size_t dot = field.path.find('.');
            JsonValue::Object &object = dot == std::string_view::npos ? document : groupOf(document, field.path.substr(0, dot));
            object.push_back({std::string(field.path.substr(dot == std::string_view::npos ? 0 : dot + 1)), 0, std::move(written)});
        }
        if (field.path == "name")
            document.push_back({"model", 0, json(plan.model)});
        if (field.path == "checkpointing" && (style == PlanStyle::Complete || plan.selective != Selective()))
            document.push_back({"selective", 0, json(plan.selective)});
    }
    return {std::move(document), 0};
}

// --- One field by its path -----------------------------------------------------------------------------------------------

std::vector<std::string> splitAtCommas(std::string_view text)
{
    std::vector<std::string> parts;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        std::string_view part = text.substr(0, comma);
        while (part.starts_with(' '))
            part.remove_prefix(1);
        while (part.ends_with(' '))
            part.remove_suffix(1);
        parts.emplace_back(part);
        text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    }
    return parts;
}

/// The text as the value for this path: JSON, or what a person writes on a command line.
Result<JsonValue> valueFor(std::string_view path, std::string_view text)
{
    const Field *field = findField(path);
    const bool isModelText = path == "model.preset" || path == "model.config_path";
    Result<JsonValue> parsed = parseJson(text, path);
    const bool isString = parsed && parsed->string() != nullptr;
    if (!isValidUtf8(text))
        return Issue{{}, 0, std::string(path), "is not valid UTF-8", "write it in UTF-8"};
    // 2.10 is a version here, not the number 2.1.
    if (isModelText || (field != nullptr && field->type == FieldType::Text))
        return isString ? parsed : JsonValue{std::string(text), 0};
    if (field != nullptr && field->type == FieldType::TextList && (!parsed || isString)) {
        const std::string whole = isString ? *parsed->string() : std::string(text);
        if (path == "method.targets" && whole == "all-linear")
            return JsonValue{whole, 0};
        // An opened bracket was meant as JSON: its error helps more than a list of odd names.
        if (!isString && text.starts_with('['))
            return parsed;
        return json(splitAtCommas(whole));
    }
    if (parsed)
        return parsed;
    if (field == nullptr && (text.starts_with('{') || text.starts_with('[')))
        return parsed;
    return JsonValue{std::string(text), 0};
}

} // namespace

Result<TrainingPlan> readPlan(std::string_view text)
{
    const Result<JsonValue> document = parseJson(text);
    if (!document)
        return document.issue();
    TrainingPlan plan;
    if (std::optional<Issue> found = PlanReader(plan).readDocument(*document))
        return std::move(*found);
    return plan;
}

Result<TrainingPlan> readPlanFile(const std::filesystem::path &file)
{
    const Result<std::string> text = readTextFile(file);
    if (!text)
        return text.issue();
    Result<TrainingPlan> plan = readPlan(*text);
    if (!plan)
        plan.issue().file = file.string();
    else
        plan->folder = file.parent_path();
    return plan;
}

int lineOf(std::string_view text, std::string_view path)
{
    const Result<JsonValue> document = parseJson(text);
    if (!document)
        return 0;
    const JsonValue *value = &*document;
    int line = 0;
    while (value != nullptr && !path.empty()) {
        const std::size_t end = std::min(path.find_first_of(".[", 1), path.size());
        const std::string_view part = path.substr(0, end);
        path.remove_prefix(std::min(end + (path.substr(end).starts_with('.') ? 1 : 0), path.size()));
        if (part.starts_with('[')) {
            std::size_t index = std::string_view::npos; // and stays it where no number stands
            std::from_chars(part.data() + 1, part.data() + part.size(), index);
            const auto *array = value->array();
            value = array != nullptr && index < array->size() ? &(*array)[index] : nullptr;
        } else {
            value = value->find(part);
        }
        if (value != nullptr)
            line = value->line;
    }
    return line;
}

std::string writePlan(const TrainingPlan &plan, PlanStyle style, bool indent)
{
    return writeJson(documentOf(plan, style), indent ? 2 : 0) + (indent ? "\n" : "");
}

std::optional<Issue> assign(TrainingPlan &plan, std::string_view path, std::string_view value)
{
    if (path == "headroom_plan")
        return Issue{{}, 0, "headroom_plan", "the format's number cannot be set", "leave it out"};
    const Result<JsonValue> parsed = valueFor(path, value);
    TrainingPlan changed = plan;
    std::optional<Issue> found = parsed ? PlanReader(changed).readAt(path, *parsed, 0) : parsed.issue();
    if (found)
        found->line = 0; // of a document that the user never sees
    else
        plan = std::move(changed);
    return found;
}

} // namespace headroom
