// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/measure/probe_result.h"

#include "core/measure/file_group.h"
#include "core/plan/plan_reader.h"
#include "core/units/strict_json.h"
#include "core/units/text.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace headroom {

using namespace measure;

namespace {

// Bounds on what a run can have: beyond them a figure is a mistake, and sums of such figures could overflow.
constexpr double mostElements = 1LL << 60; // parameters
constexpr double mostSeconds = 1e9;        // 30 years
constexpr double mostRate = 1e15;
constexpr std::int64_t mostRanks = 1'000'000;
constexpr std::size_t mostSteps = 10'000;
constexpr std::size_t mostNotes = 1000;
constexpr std::size_t longestMessage = 100'000; // an out-of-memory message of PyTorch with a memory summary is a few KiB

Phase readPhaseName(const Group &group, std::string_view key)
{
    const JsonValue &value = group.required(key);
    const std::optional<Phase> phase = value.string() ? phaseNamed(*value.string()) : std::nullopt;
    if (!phase)
        fail(value.line, group.path(key), "is not the name of a phase", "Allowed: load, forward, loss, backward, optimizer or idle");
    return *phase;
}

/// Of a phase or a step.
template<typename Figures>
void readFigures(Figures &to, const Group &group)
{
    to.allocated = group.bytes("allocated");
    to.active = group.optionalBytes("active");
    to.reserved = group.optionalBytes("reserved");
    to.device = group.optionalBytes("device");
}

std::vector<ProbePhase> readPhases(const JsonValue &value, const std::string &where)
{
    const auto *array = value.array();
    if (array == nullptr)
        fail(value.line, where, fmt::format("must be a list, not {}", value.typeName()), std::string(mendByProbe));
    std::vector<ProbePhase> phases;
    for (std::size_t i = 0; i < array->size(); ++i) {
        const Group group((*array)[i], fmt::format("{}[{}]", where, i), {"name", "allocated", "active", "reserved", "device"});
        ProbePhase phase;
        phase.phase = readPhaseName(group, "name");
        if (std::any_of(phases.begin(), phases.end(), [&](const ProbePhase &other) { return other.phase == phase.phase; }))
            fail((*array)[i].line, group.path("name"), fmt::format("the phase {} is listed twice", name(phase.phase)),
                 "keep one of the two");
        readFigures(phase, group);
        phases.push_back(phase);
    }
    return phases;
}

std::vector<ProbeStep> readSteps(const JsonValue &value)
{
    const auto *array = value.array();
    if (array == nullptr)
        fail(value.line, "steps", fmt::format("must be a list, not {}", value.typeName()), std::string(mendByProbe));
    if (array->size() > mostSteps)
        fail(value.line, "steps", fmt::format("has more than {} steps", mostSteps), "run fewer: three are enough");
    std::vector<ProbeStep> steps;
    for (std::size_t i = 0; i < array->size(); ++i) {
        const Group group((*array)[i], fmt::format("steps[{}]", i),
                          {"seconds", "tokens_per_second", "allocated", "active", "reserved", "device", "phases"});
        ProbeStep step;
        step.seconds = group.real("seconds", mostSeconds);
        step.tokensPerSecond = group.real("tokens_per_second", mostRate);
        readFigures(step, group);
        step.phases = readPhases(group.required("phases"), group.path("phases"));
        steps.push_back(std::move(step));
    }
    return steps;
}

ProbeAlive readAlive(const JsonValue &value, std::string where)
{
    const Group group(value, std::move(where), {"weights", "gradients", "optimizer", "allocated"});
    return {group.optionalBytes("weights"), group.optionalBytes("gradients"), group.optionalBytes("optimizer"),
            group.optionalBytes("allocated")};
}

ProbeError readError(const JsonValue &value)
{
    const Group group(value, "error", {"kind", "message", "step", "phase", "alive", "place"});
    ProbeError error;
    error.kind = group.text("kind");
    error.message = group.text("message", longestMessage);
    error.place = group.optionalText("place");
    if (const JsonValue *step = group.optional("step"))
        error.step = static_cast<int>(group.whole(*step, "step", 0, static_cast<double>(mostSteps)));
    if (group.optional("phase") != nullptr)
        error.phase = readPhaseName(group, "phase");
    if (const JsonValue *alive = group.optional("alive"))
        error.alive = readAlive(*alive, "error.alive");
    return error;
}

void checkFormat(const JsonValue &document)
{
    const JsonValue *format = document.find("headroom_probe");
    if (format == nullptr) {
        const bool isPlan = document.find("headroom_plan") != nullptr;
        fail(document.line, "headroom_probe", "missing",
             isPlan ? "this is a plan; a result is what the probe writes when it runs a plan"
                    : "a probe's result begins with {\"headroom_probe\": 1, ...");
    }
    const std::optional<std::int64_t> number = format->wholeNumber();
    if (!number || *number < 1)
        fail(format->line, "headroom_probe", "must be the number of the format of results", fmt::format("write {}", probeFormat));
    if (*number > probeFormat)
        fail(format->line, "headroom_probe",
             fmt::format("result format {} is newer than this program, which reads up to {}", *number, probeFormat), "update Headroom");
}

TrainingPlan readPlanThatRan(const JsonValue &value)
{
    TrainingPlan plan;
    if (std::optional<Issue> issue = PlanReader(plan).readDocument(value)) {
        issue->where = joinPath("plan", issue->where);
        throw Bad{std::move(*issue)};
    }
    return plan;
}

ProbePhase readLoad(const JsonValue &value)
{
    const Group group(value, "load", {"seconds", "allocated", "active", "reserved", "device"});
    ProbePhase load;
    load.phase = Phase::Load;
    group.real("seconds", mostSeconds);
    readFigures(load, group);
    return load;
}

std::vector<std::string> readNotes(const JsonValue &value)
{
    const std::optional<FieldValue> given = fieldValue(value);
    const auto *notes = given ? std::get_if<std::vector<std::string>>(&*given) : nullptr;
    if (notes == nullptr)
        fail(value.line, "notes", "must be a list of strings", std::string(mendByProbe));
    if (notes->size() > mostNotes ||
        std::any_of(notes->begin(), notes->end(), [](const std::string &note) { return note.size() > longestText; }))
        fail(value.line, "notes", fmt::format("has more than {} notes, or one of more than {} bytes", mostNotes, longestText),
             std::string(mendByProbe));
    return *notes;
}

std::vector<ProbeMark> readMarks(const JsonValue &value)
{
    const auto *array = value.array();
    if (array == nullptr)
        fail(value.line, "marks", fmt::format("must be a list, not {}", value.typeName()), std::string(mendByProbe));
    std::vector<ProbeMark> marks;
    for (std::size_t i = 0; i < array->size(); ++i) {
        const Group group((*array)[i], fmt::format("marks[{}]", i), {"step", "phase", "time_us"});
        ProbeMark mark;
        if (const JsonValue *step = group.optional("step"))
            mark.step = static_cast<int>(group.whole(*step, "step", 0, static_cast<double>(mostSteps)));
        mark.phase = readPhaseName(group, "phase");
        mark.microseconds = group.whole(group.required("time_us"), "time_us", 0, mostMicroseconds);
        marks.push_back(mark);
    }
    return marks;
}

/// The model that ran, where the plan names it by a file that is not here.
void takeModel(TrainingPlan &plan, const JsonValue &config)
{
    if (config.object() == nullptr)
        fail(config.line, "model_config", fmt::format("must be an object, not {}", config.typeName()), std::string(mendByProbe));
    if (!plan.model.configPath.empty())
        plan.model = {{}, writeJson(config), {}};
}

ProbeKind readKind(const Group &group)
{
    const std::string how = group.text("how");
    if (how == name(ProbeKind::Gpu))
        return ProbeKind::Gpu;
    if (how == name(ProbeKind::DryRun))
        return ProbeKind::DryRun;
    fail(group.required("how").line, "how", fmt::format("\"{}\" is no way to run a probe", excerpt(how)), "Allowed: gpu or dry-run");
}

ProbeGpu readGpu(const JsonValue &value)
{
    const Group group(value, "gpu", {"name", "capacity", "compute_capability", "used_by_others"});
    return {group.text("name"), group.bytes("capacity"), group.optionalText("compute_capability"),
            group.optionalBytes("used_by_others").value_or(Bytes{})};
}

ProbeResult readDocument(const JsonValue &document)
{
    if (document.object() == nullptr)
        fail(document.line, {}, fmt::format("a probe's result is an object, not {}", document.typeName()),
             "a probe's result begins with {\"headroom_probe\": 1, ...");
    checkFormat(document);
    const Group group(document, {},
                      {"headroom_probe", "plan", "model_config", "how", "versions", "gpu", "notes", "rank", "ranks", "parameters", "steady",
                       "saved_activations", "load", "steps", "marks", "error"});
    ProbeResult result;
    result.plan = readPlanThatRan(group.required("plan"));
    if (const JsonValue *config = group.optional("model_config"))
        takeModel(result.plan, *config);
    result.how = readKind(group);
    if (const JsonValue *value = group.optional("notes"))
        result.notes = readNotes(*value);
    if (const JsonValue *value = group.optional("load"))
        result.load = readLoad(*value);
    if (const JsonValue *value = group.optional("marks"))
        result.marks = readMarks(*value);
    if (const JsonValue *value = group.optional("versions")) {
        const Group versions(*value, "versions",
                             {"torch", "transformers", "peft", "bitsandbytes", "deepspeed", "liger_kernel", "cuda", "driver"});
        result.versions = {versions.optionalText("torch"),     versions.optionalText("transformers"),
                           versions.optionalText("peft"),      versions.optionalText("bitsandbytes"),
                           versions.optionalText("deepspeed"), versions.optionalText("liger_kernel"),
                           versions.optionalText("cuda"),      versions.optionalText("driver")};
    }
    if (const JsonValue *value = group.optional("gpu"))
        result.gpu = readGpu(*value);
    if (const JsonValue *value = group.optional("ranks"))
        result.ranks = static_cast<int>(group.whole(*value, "ranks", 1, static_cast<double>(mostRanks)));
    if (const JsonValue *value = group.optional("rank"))
        result.rank = static_cast<int>(group.whole(*value, "rank", 0, result.ranks - 1));
    if (const JsonValue *value = group.optional("parameters")) {
        const Group parameters(*value, "parameters", {"total", "trainable"});
        const auto count = [&](std::string_view key) -> std::optional<std::int64_t> {
            const JsonValue *given = parameters.optional(key);
            return given == nullptr ? std::nullopt : std::optional(parameters.whole(*given, key, 0, mostElements));
        };
        result.parametersTotal = count("total");
        result.parametersTrainable = count("trainable");
    }
    if (const JsonValue *value = group.optional("steady")) {
        result.steady = readAlive(*value, "steady");
    }
    result.savedActivations = group.optionalBytes("saved_activations");
    result.steps = readSteps(group.required("steps"));
    if (const JsonValue *value = group.optional("error"))
        result.error = readError(*value);
    if (result.steps.empty() && !result.error)
        fail(group.required("steps").line, "steps", "holds no step, and there is no error that says why", std::string(mendByProbe));
    return result;
}

} // namespace

std::optional<Phase> phaseNamed(std::string_view text)
{
    for (std::size_t i = 0; i < phaseCount; ++i)
        if (text == name(static_cast<Phase>(i)))
            return static_cast<Phase>(i);
    return std::nullopt;
}

std::string_view name(ProbeKind kind) { return kind == ProbeKind::Gpu ? "gpu" : "dry-run"; }

Result<ProbeResult> readProbeResult(std::string_view text) { return readText(text, JsonLimits(), readDocument); }

Result<ProbeResult> readProbeFile(const std::filesystem::path &file)
{
    Result<ProbeResult> result = readFile(file, JsonLimits().bytes, readProbeResult);
    if (result)
        result->plan.folder = file.parent_path();
    return result;
}

bool isProbeFileName(std::string_view name) { return name.ends_with(".headroom-probe.json"); }

std::string probeTitle(const ProbeResult &result)
{
    std::string title = result.how == ProbeKind::DryRun ? "dry run" : result.gpu ? excerpt(result.gpu->name) : "GPU";
    if (!result.versions.torch.empty())
        title += fmt::format(", torch {}", excerpt(result.versions.torch));
    if (result.ranks > 1)
        title += fmt::format(", rank {} of {}", result.rank, result.ranks);
    return title;
}

} // namespace headroom
