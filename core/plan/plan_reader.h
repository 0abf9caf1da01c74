// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/plan/fields.h"
#include "core/units/strict_json.h"

namespace headroom {

/// Sets what a parsed document says, member by member. The plan is half set where an Issue comes back: work on a copy.
class PlanReader
{
public:
    explicit PlanReader(TrainingPlan &plan)
        : m_plan(plan)
    {}

    /// A whole plan document: format number, model and all.
    std::optional<Issue> readDocument(const JsonValue &document);

    /// The value at one path of the format: a field, a group of fields, model, selective or a part of these.
    /// `line` is that of the key.
    std::optional<Issue> readAt(std::string_view path, const JsonValue &value, int line);

private:
    std::optional<Issue> readGroup(std::string_view path, const JsonValue &value);
    std::optional<Issue> readModel(const JsonValue &value);
    std::optional<Issue> readConfig(const JsonValue &value);
    std::optional<Issue> readModelText(std::string_view path, const JsonValue &value, std::string ModelChoice::*member);
    std::optional<Issue> readSelective(const JsonValue &value);

    TrainingPlan &m_plan;
};

/// Keys directly below `group` ("" for the document), in the order of the format.
std::vector<std::string_view> keysBelow(std::string_view group);

/// Whether the format has an object at this path that is a group of fields: "batch", "parallel" ...
bool isFieldGroup(std::string_view path);

/// A parsed value as the field table takes it; nothing where no field could have this shape (objects, mixed lists).
std::optional<FieldValue> fieldValue(const JsonValue &value);

} // namespace headroom
