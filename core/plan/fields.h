// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/plan/training_plan.h"
#include "core/units/result.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// Marks a text for translation without Qt: lupdate is told that this is a translation function, the text stays as it is.
#define HEADROOM_TR(text) text

namespace headroom {

/// The value of a field, whatever its type. monostate: null (left to the recipe, the engine, the GPU ...).
using FieldValue = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<std::string>>;

enum class FieldType : std::uint8_t { Boolean, Integer, Real, Choice, Text, TextList };

/// Where the form shows a field.
enum class FieldGroup : std::uint8_t { Plan, Model, Method, Batch, Precision, Optimizer, Saving, Parallelism, Runtime, Gpus };

/// The components that a field can move: bits of a mask.
enum Moves : std::uint8_t {
    MovesNothing = 0,
    MovesWeights = 1,
    MovesGradients = 2,
    MovesOptimizer = 4,
    MovesActivations = 8,
    MovesTemporary = 16
};

struct FieldChoice {
    std::string_view value;   ///< as in the file: "bf16-autocast"
    std::string_view label;   ///< for people: "bf16, autocast over fp32 weights"
    std::string_view tip;     ///< one sentence; may be empty
    std::string_view refused; ///< why this version's engine does not execute it yet; empty: it does
};

/// One field of the plan: what the form, the command line, validation and undo texts are made from.
struct Field {
    std::string_view path;      ///< "batch.micro_batch"
    std::string_view label;     ///< "Micro-batch"
    std::string_view tip;       ///< which component it moves and why, one or two sentences
    std::string_view unit;      ///< "tokens", "steps"; may be empty
    std::string_view nullLabel; ///< for people, where the value is null: "from recipe"
    std::span<const FieldChoice> choices;
    FieldValue (*get)(const TrainingPlan &);
    /// Sets a value of the right type (an integer may stand for a real); range and choices are checked by setField().
    void (*set)(TrainingPlan &, const FieldValue &);
    /// Why the field has no effect in this plan ("one GPU: nothing to shard"), or empty. May be null: always applies.
    std::string (*inapplicable)(const TrainingPlan &);
    double minimum = 0, maximum = 0; ///< of numbers, both inclusive
    FieldGroup group;
    FieldType type;
    std::uint8_t moves;       ///< Moves
    bool logarithmic = false; ///< a slider over powers of two
    bool nullable = false;
    bool advanced = false; ///< folded away in the form
};

/// Every field in the order of the file format, model.* and selective excepted (those are not scalars; see plan_json.h).
std::span<const Field> fields();

/// The field with this path, or null.
const Field *findField(std::string_view path);

/// Checks type, range and choice, then sets. The plan is untouched where an Issue comes back.
std::optional<Issue> setField(TrainingPlan &plan, const Field &field, const FieldValue &value);

/// For people: "4096 tokens", "bf16, autocast over fp32 weights", "from recipe" (null).
std::string displayValue(const Field &field, const FieldValue &value);

/// "Sequence length 4096 -> 8192", for undo texts and advice.
std::string changeText(const Field &field, const FieldValue &from, const FieldValue &to);

/// Contradictions between fields, each with place and mending hint ("parallel.data: 8 ranks without an engine").
/// An empty list: the plan is one the loop could run. Unsupported combinations are the engine's to refuse, not listed here.
std::vector<Issue> validate(const TrainingPlan &plan);

/// Bytes per trainable parameter and dtypes that a recipe and its overrides come to, per the format's table.
struct ResolvedPrecision {
    DType weights;
    std::optional<DType> gradients; ///< unset: each parameter's own dtype
    std::optional<DType> master;    ///< unset: no master copy
    std::optional<DType> moments;   ///< unset: each parameter's own dtype
    std::optional<DType> autocast;  ///< unset: no autocast
};
ResolvedPrecision resolvePrecision(const Precision &precision);

} // namespace headroom
