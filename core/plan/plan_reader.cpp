// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/plan_reader.h"

#include "core/model/model_json.h"
#include "core/plan/choices.h"
#include "core/plan/plan_json.h"
#include "core/units/text.h"

#include <algorithm>

#include <fmt/format.h>

namespace headroom {

namespace {

Issue issue(int line, std::string_view where, std::string what, std::string hint)
{
    return {{}, line, std::string(where), std::move(what), std::move(hint)};
}

std::string_view lastPart(std::string_view path) { return path.substr(path.rfind('.') + 1); }

/// "did you mean ...?" from the keys that stand here, else from the whole format.
std::string unknownKeyHint(std::string_view group, std::string_view key)
{
    const std::vector<std::string_view> siblings = keysBelow(group);
    if (const std::optional<std::string_view> meant = nearest(key, siblings))
        return fmt::format("did you mean \"{}\"?", *meant);
    for (const Field &field : fields())
        if (lastPart(field.path) == key)
            return fmt::format("did you mean {}?", field.path);
    return "known here: " + orList(siblings);
}

Issue unknownKey(int line, std::string_view group, std::string_view key)
{
    return issue(line, joinPath(group, excerpt(key)), "unknown key", unknownKeyHint(group, key));
}

bool contains(const std::vector<std::string_view> &keys, std::string_view key)
{
    return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// Says at which of its parts a path leaves the format.
Issue unknownPath(int line, std::string_view path)
{
    std::string_view group;
    for (;;) {
        const std::size_t from = group.empty() ? 0 : group.size() + 1;
        const std::string_view key = path.substr(from, path.find('.', from) - from);
        const std::string_view upTo = path.substr(0, from + key.size());
        if (const std::string_view list = upTo.substr(0, upTo.find('['));
            list != upTo && findField(list) != nullptr && findField(list)->type == FieldType::TextList)
            return issue(line, excerpt(path), "a list is given whole", fmt::format(R"(write {}=["first", "second"])", list));
        if (upTo == path || !contains(keysBelow(group), key))
            return unknownKey(line, group, key);
        if (upTo == "model.config")
            return issue(line, excerpt(path), "a config.json is given whole",
                         "change the file and name it as model.config_path, or write model.config={...}");
        if (keysBelow(upTo).empty())
            return issue(line, excerpt(path), fmt::format("{} is a value, nothing stands below it", upTo),
                         fmt::format("set {} itself", upTo));
        group = upTo;
    }
}

Issue wrongShape(const Field &field, const JsonValue &value)
{
    const std::string what = value.array() != nullptr ? "a list of other things than strings" : std::string(value.typeName());
    switch (field.type) {
    case FieldType::Boolean: return issue(value.line, field.path, "must be true or false, not " + what, "write true or false");
    case FieldType::Integer:
    case FieldType::Real: return issue(value.line, field.path, "must be a number, not " + what, "write a number");
    case FieldType::TextList:
        return issue(value.line, field.path, "must be a list of strings, not " + what, R"(for example ["first", "second"])");
    case FieldType::Choice:
    case FieldType::Text: break;
    }
    return issue(value.line, field.path, "must be a string, not " + what, "write it in quotes");
}

/// Hints at files that people take for a plan.
std::string whatElseItMayBe(const JsonValue &document)
{
    if (document.find("model_type") != nullptr || document.find("architectures") != nullptr)
        return R"(this looks like a model's config.json: name it in a plan as {"headroom_plan": 1, "model": {"config_path": "config.json"}})";
    if (document.find("zero_optimization") != nullptr)
        return "this looks like a DeepSpeed configuration, not a plan";
    return R"(a plan begins with {"headroom_plan": 1, ...)";
}

std::optional<Issue> checkFormat(const JsonValue &document)
{
    const JsonValue *format = document.find("headroom_plan");
    if (format == nullptr)
        return issue(document.line, "headroom_plan", "missing", whatElseItMayBe(document));
    const std::optional<std::int64_t> number = format->wholeNumber();
    if (!number || *number < 1)
        return issue(format->line, "headroom_plan", "must be the number of the plan format", fmt::format("write {}", planFormat));
    if (*number > planFormat)
        return issue(format->line, "headroom_plan",
                     fmt::format("plan format {} is newer than this program, which reads up to {}", *number, planFormat),
                     "update Headroom");
    return std::nullopt;
}

} // namespace

std::vector<std::string_view> keysBelow(std::string_view group)
{
    if (group == "model")
        return {"preset", "config", "config_path"};
    if (group == "selective")
        return {"every", "operators", "policy"};
    std::vector<std::string_view> keys;
    if (group.empty())
        keys = {"headroom_plan", "name", "model"};
    for (const Field &field : fields()) {
        std::string_view rest = field.path;
        if (!group.empty()) {
            if (!rest.starts_with(group) || rest.size() <= group.size() || rest[group.size()] != '.')
                continue;
            rest.remove_prefix(group.size() + 1);
        }
        const std::string_view key = rest.substr(0, rest.find('.'));
        if (std::find(keys.begin(), keys.end(), key) == keys.end())
            keys.push_back(key);
        if (group.empty() && key == "checkpointing")
            keys.emplace_back("selective");
    }
    return keys;
}

bool isFieldGroup(std::string_view path)
{
    return !path.empty() && std::any_of(fields().begin(), fields().end(), [&](const Field &field) {
        return field.path.size() > path.size() && field.path.starts_with(path) && field.path[path.size()] == '.';
    });
}

std::optional<FieldValue> fieldValue(const JsonValue &value)
{
    if (value.isNull())
        return FieldValue();
    if (const bool *boolean = value.boolean())
        return FieldValue(*boolean);
    if (const std::optional<std::int64_t> whole = value.wholeNumber())
        return FieldValue(*whole);
    if (const std::optional<double> number = value.number())
        return FieldValue(*number);
    if (const std::string *string = value.string())
        return FieldValue(*string);
    const auto *array = value.array();
    if (array == nullptr)
        return std::nullopt;
    std::vector<std::string> list;
    for (const JsonValue &element : *array) {
        if (element.string() == nullptr)
            return std::nullopt;
        list.push_back(*element.string());
    }
    return FieldValue(std::move(list));
}

std::optional<Issue> PlanReader::readDocument(const JsonValue &document)
{
    if (document.object() == nullptr)
        return issue(document.line, {}, fmt::format("a plan is an object, not {}", document.typeName()),
                     R"(a plan begins with {"headroom_plan": 1, ...)");
    if (std::optional<Issue> found = checkFormat(document))
        return found;
    for (const JsonMember &member : *document.object()) {
        if (member.key == "headroom_plan")
            continue;
        // A key that holds a point must not pass for a path.
        if (const std::size_t point = member.key.find('.'); point != std::string::npos)
            return issue(member.line, excerpt(member.key), "unknown key",
                         findField(member.key) == nullptr
                             ? unknownKeyHint({}, member.key)
                             : fmt::format(R"(write "{}": {{"{}": ...}})", member.key.substr(0, point), member.key.substr(point + 1)));
        if (std::optional<Issue> found = readAt(member.key, member.value, member.line))
            return found;
    }
    if (document.find("model") == nullptr)
        return issue(document.line, "model", "missing", R"(say what is trained, for example "model": {"preset": "Qwen/Qwen3-8B"})");
    return std::nullopt;
}

std::optional<Issue> PlanReader::readAt(std::string_view path, const JsonValue &value, int line)
{
    if (const Field *field = findField(path)) {
        std::optional<FieldValue> given = fieldValue(value);
        // A rank may be written as the number that it is.
        if (field->path == "runtime.rank" && given && std::holds_alternative<std::int64_t>(*given))
            given = std::to_string(std::get<std::int64_t>(*given));
        std::optional<Issue> found = given ? setField(m_plan, *field, *given) : wrongShape(*field, value);
        if (found)
            found->line = value.line;
        return found;
    }
    if (path == "model")
        return readModel(value);
    if (path == "model.preset")
        return readModelText(path, value, &ModelChoice::preset);
    if (path == "model.config_path")
        return readModelText(path, value, &ModelChoice::configPath);
    if (path == "model.config")
        return readConfig(value);
    if (path == "selective")
        return readSelective(value);
    if (path.starts_with("selective.") && contains(keysBelow("selective"), lastPart(path)))
        return readSelective({JsonValue::Object{{std::string(lastPart(path)), line, value}}, line});
    if (isFieldGroup(path))
        return readGroup(path, value);
    return unknownPath(line, path);
}

std::optional<Issue> PlanReader::readGroup(std::string_view path, const JsonValue &value)
{
    const auto *object = value.object();
    if (object == nullptr) {
        const std::vector<std::string_view> keys = keysBelow(path);
        return issue(value.line, path, fmt::format("must be an object, not {}", value.typeName()),
                     fmt::format(R"(write {{"{}": ...}}; known here: {})", keys.front(), orList(keys)));
    }
    for (const JsonMember &member : *object) {
        // A key that holds a point must not pass for a path.
        if (member.key.find('.') != std::string::npos)
            return unknownKey(member.line, path, member.key);
        if (std::optional<Issue> found = readAt(joinPath(path, member.key), member.value, member.line))
            return found;
    }
    return std::nullopt;
}

std::optional<Issue> PlanReader::readModel(const JsonValue &value)
{
    constexpr std::string_view example =
        R"(write exactly one: {"preset": "Qwen/Qwen3-8B"}, {"config": {...}} or {"config_path": "config.json"})";
    const auto *object = value.object();
    if (object == nullptr)
        return issue(value.line, "model", fmt::format("must be an object, not {}", value.typeName()), std::string(example));
    for (const JsonMember &member : *object)
        if (member.key != "preset" && member.key != "config" && member.key != "config_path")
            return unknownKey(member.line, "model", member.key);
    if (object->size() != 1)
        return issue(value.line, "model", object->empty() ? "names no model" : "names more than one model", std::string(example));
    const JsonMember &only = object->front();
    return readAt(joinPath("model", only.key), only.value, only.line);
}

std::optional<Issue> PlanReader::readModelText(std::string_view path, const JsonValue &value, std::string ModelChoice::*member)
{
    const std::string *text = value.string();
    if (text == nullptr)
        return issue(value.line, path, fmt::format("must be a string, not {}", value.typeName()), "write it in quotes");
    if (text->empty() || text->size() > 4096 || text->find('\0') != std::string::npos || !isValidUtf8(*text))
        return issue(value.line, path, "is empty, too long or holds what no name can", "name a preset or a file");
    m_plan.model = ModelChoice{{}, {}, {}};
    m_plan.model.*member = *text;
    return std::nullopt;
}

std::optional<Issue> PlanReader::readConfig(const JsonValue &value)
{
    // What this version's engine does not execute is a plan all the same; the estimate says so. What is wrong is said here,
    // where the line is known.
    const JsonValue *type = value.find("model_type");
    const bool executed = type == nullptr || type->string() == nullptr || !unsupportedReason(*type->string());
    if (executed)
        if (const Result<ModelConfig> config = readModelConfig(value, "model.config"); !config)
            return config.issue();
    m_plan.model = ModelChoice{{}, writeJson(value), {}};
    return std::nullopt;
}

std::optional<Issue> PlanReader::readSelective(const JsonValue &value)
{
    constexpr std::string_view example = R"(write null, {"every": 2}, {"operators": ["attention", "mlp"]} or {"policy": "torchtitan"})";
    m_plan.selective = {};
    if (value.isNull())
        return std::nullopt;
    const auto *object = value.object();
    if (object == nullptr)
        return issue(value.line, "selective", fmt::format("must be an object or null, not {}", value.typeName()), std::string(example));
    for (const JsonMember &member : *object)
        if (member.key != "every" && member.key != "operators" && member.key != "policy")
            return unknownKey(member.line, "selective", member.key);
    if (object->size() != 1)
        return issue(value.line, "selective", object->empty() ? "says nothing" : "says more than one thing", std::string(example));

    const JsonMember &only = object->front();
    const std::string path = joinPath("selective", only.key);
    if (only.key == "every") {
        const std::optional<std::int64_t> every = only.value.wholeNumber();
        if (!every || *every < 1 || *every > choices::mostLayersApart)
            return issue(only.value.line, path, fmt::format("must be a whole number from 1 to {}", choices::mostLayersApart),
                         "2 checkpoints every second layer");
        m_plan.selective.every = *every;
        return std::nullopt;
    }
    if (only.key == "operators") {
        const std::optional<FieldValue> given = fieldValue(only.value);
        const auto *names = given ? std::get_if<std::vector<std::string>>(&*given) : nullptr;
        if (names == nullptr || names->empty())
            return issue(only.value.line, path, "must be a list of operators that are saved", R"(for example ["attention", "mlp"])");
        const Field *field = findField(path);
        if (std::optional<Issue> found = setField(m_plan, *field, *given)) {
            found->line = only.value.line;
            return found;
        }
        return std::nullopt;
    }
    const std::string *policy = only.value.string();
    for (std::size_t i = 1; policy != nullptr && i < choices::selectivePolicy.size(); ++i)
        if (*policy == choices::selectivePolicy[i].value) {
            m_plan.selective.policy = static_cast<SelectivePolicy>(i);
            return std::nullopt;
        }
    return issue(only.value.line, path, "is not a known policy", R"(Allowed: "torchtitan" or "megatron")");
}

} // namespace headroom
