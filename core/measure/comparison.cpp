// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/measure/comparison.h"

#include "core/hardware/gpu.h"
#include "core/units/text.h"
#include "core/units/version.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

namespace headroom {

namespace {

/// The rows, in order, of what both sides know.
class Rows
{
public:
    void add(ComparisonGroup group, std::string figure, std::string label, std::int64_t predicted, std::optional<std::int64_t> measured,
             bool total = false)
    {
        if (!measured)
            return;
        ComparisonRow row{group, std::move(figure), std::move(label), group == ComparisonGroup::Parameters,
                          total, predicted,         *measured,        {}};
        if (row.measured != 0)
            row.error = static_cast<double>(row.predicted - row.measured) / static_cast<double>(row.measured);
        else if (row.predicted == 0)
            row.error = 0.0;
        m_rows.push_back(std::move(row));
    }

    void add(ComparisonGroup group, std::string figure, std::string label, Bytes predicted, std::optional<Bytes> measured,
             bool total = false)
    {
        add(group, std::move(figure), std::move(label), predicted.value, measured ? std::optional(measured->value) : std::nullopt, total);
    }

    std::vector<ComparisonRow> take() { return std::move(m_rows); }

private:
    std::vector<ComparisonRow> m_rows;
};

/// The highest figures of some steps.
struct Measured {
    std::optional<Bytes> allocated, reserved, device;
    std::array<std::optional<Bytes>, phaseCount> phaseAllocated{}, phaseReserved{};
};

void raise(std::optional<Bytes> &highest, std::optional<Bytes> value)
{
    if (value && (!highest || *value > *highest))
        highest = value;
}

/// A dry run's zero is no figure: nothing reserves memory there.
bool isDry(const ProbeResult &result) { return result.how == ProbeKind::DryRun; }

/// Of the step that died, only the phases before the one in which it did are whole; of several micro-batches those that all of
/// them went through: gradients accumulate, and the last ones are the highest.
bool isWhole(const ProbeResult &result, std::size_t step, Phase phase)
{
    const Phase died = *result.error->phase;
    if (phase >= died)
        return false;
    const std::int64_t microBatches = result.plan.batch.gradientAccumulation;
    if (microBatches <= 1 || died >= Phase::Optimizer)
        return true;
    return std::count_if(result.marks.begin(), result.marks.end(), [&](const ProbeMark &mark) {
               return mark.phase == phase && mark.step && static_cast<std::size_t>(*mark.step) == step;
           }) >= microBatches;
}

std::optional<Measured> measuredOf(const ProbeResult &result, std::size_t from, std::size_t to)
{
    Measured out;
    const auto raiseOnGpu = [&](std::optional<Bytes> &highest, std::optional<Bytes> value) {
        if (!isDry(result))
            raise(highest, value);
    };
    bool any = false;
    for (std::size_t i = from; i < std::min(to, result.steps.size()); ++i) {
        const ProbeStep &step = result.steps[i];
        const bool died = result.error && result.error->step && static_cast<std::size_t>(*result.error->step) == i;
        if (died && (i > 0 || !result.error->phase))
            continue;
        if (!died) {
            raise(out.allocated, step.allocated);
            raiseOnGpu(out.reserved, step.reserved);
            raiseOnGpu(out.device, step.device);
        }
        for (const ProbePhase &phase : step.phases) {
            if (died && !isWhole(result, i, phase.phase))
                continue;
            raise(out.phaseAllocated[static_cast<std::size_t>(phase.phase)], phase.allocated);
            raiseOnGpu(out.phaseReserved[static_cast<std::size_t>(phase.phase)], phase.reserved);
        }
        any = true;
    }
    return any ? std::optional(out) : std::nullopt;
}

void addStep(Rows &rows, ComparisonGroup group, const Peak &peak, const std::array<PhasePeak, phaseCount> &phases, const Measured &measured)
{
    const bool first = group == ComparisonGroup::FirstStep;
    const std::string prefix = first ? "first_step." : "peak.";
    rows.add(group, prefix + "allocated", "allocated", peak.allocated, measured.allocated, true);
    rows.add(group, prefix + "reserved", "reserved", peak.reserved, measured.reserved, true);
    rows.add(group, prefix + "device", "device", peak.device, measured.device, true);
    for (std::size_t p = 0; p < phaseCount; ++p) {
        const std::string_view phase = name(static_cast<Phase>(p));
        // Loading comes once, before the first step.
        const std::string phasePrefix = first && static_cast<Phase>(p) != Phase::Load ? "first_step.phases." : "phases.";
        rows.add(group, fmt::format("{}{}.allocated", phasePrefix, phase), fmt::format("{}, allocated", phase), phases[p].allocated,
                 measured.phaseAllocated[p]);
        rows.add(group, fmt::format("{}{}.reserved", phasePrefix, phase), fmt::format("{}, reserved", phase), phases[p].reserved,
                 measured.phaseReserved[p]);
    }
}

std::string endingOf(const Estimate &estimate, const ProbeResult &result, bool samePlan)
{
    const ProbeError &error = *result.error;
    std::string text =
        error.outOfMemory() ? "The run ran out of memory" : fmt::format("The run ended with an error ({})", excerpt(error.kind));
    if (error.step)
        text += fmt::format(" in step {}", *error.step + 1);
    if (error.phase)
        text += fmt::format("{} {}", error.step ? "," : "", phraseOf(*error.phase));
    if (result.gpu)
        text += fmt::format(", on {} of {}", excerpt(result.gpu->name), formatBytes(result.gpu->capacity));
    text += '.';
    const bool first = error.step.value_or(0) == 0;
    const Peak &peak = first ? estimate.firstStep : estimate.peak;
    if (error.phase) {
        const PhasePeak &there = (first ? estimate.firstPhases : estimate.phases)[static_cast<std::size_t>(*error.phase)];
        text += fmt::format(" The estimate has {} allocated and {} reserved there at most", formatBytes(there.allocated),
                            formatBytes(there.reserved));
    } else {
        text += fmt::format(" The estimate has {} allocated and {} reserved in that step at most", formatBytes(peak.allocated),
                            formatBytes(peak.reserved));
    }
    text += fmt::format(", and {} of device memory at the step's peak, {}", formatBytes(peak.device), phraseOf(peak.phase));
    if (result.gpu && error.outOfMemory()) {
        const Bytes left = result.gpu->capacity - result.gpu->usedByOthers - peak.device;
        const std::string others =
            result.gpu->usedByOthers.value > 0 ? fmt::format(" with {} used by others", formatBytes(result.gpu->usedByOthers)) : "";
        text += left.value < 0 ? fmt::format(": {} more than the GPU has{}", formatBytes(-left), others)
                               : fmt::format(": by the estimate it would have fitted with {} to spare{}", formatBytes(left), others);
    }
    text += '.';
    std::string held;
    for (const auto &[what, bytes] :
         {std::pair("weights", error.alive.weights), std::pair("gradients", error.alive.gradients),
          std::pair("optimizer state", error.alive.optimizer), std::pair("allocated in all", error.alive.allocated)})
        if (bytes)
            held += fmt::format("{}{} {}", held.empty() ? "" : ", ", formatBytes(*bytes), what);
    if (!held.empty())
        text += fmt::format(" When it ended, there were {}.", held);
    return text + (samePlan ? "" : " But the estimate is of a plan that differs from the one that ran.");
}

std::vector<std::string> notesOn(const TrainingPlan &plan, const ProbeResult &result)
{
    std::vector<std::string> notes;
    if (result.how == ProbeKind::DryRun)
        notes.emplace_back("A dry run knows allocated memory alone: reserved and device memory need a GPU.");
    const auto otherVersion = [&](std::string_view what, const std::string &planned, const std::string &ran) {
        if (!ran.empty() && parseVersion(planned) != parseVersion(ran))
            notes.push_back(fmt::format("The run used {} {}, the estimate follows {}.", what, excerpt(ran), excerpt(planned)));
    };
    otherVersion("torch", plan.runtime.torch, result.versions.torch);
    otherVersion("transformers", plan.runtime.transformers, result.versions.transformers);
    if (result.gpu && result.gpu->usedByOthers.value > 0)
        notes.push_back(fmt::format("Other programs held {} of the GPU when the run began.", formatBytes(result.gpu->usedByOthers)));
    if (result.steps.size() == 1)
        notes.emplace_back("The run has one step: there is nothing to lay beside later steps.");
    return notes;
}

/// The parts of a name that tell GPUs apart: "A100", "4090", "H200".
std::vector<std::string> numberedWords(std::string_view text)
{
    std::vector<std::string> words;
    std::string word;
    const auto finish = [&] {
        if (std::any_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; }))
            words.push_back(word);
        word.clear();
    };
    for (const char c : text) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0)
            word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        else
            finish();
    }
    finish();
    return words;
}

} // namespace

const Gpu *gpuOfProbe(const ProbeGpu &probe)
{
    const std::vector<std::string> theirs = numberedWords(probe.name);
    const Gpu *best = nullptr;
    double nearest = 0.03;
    for (const Gpu &gpu : gpus()) {
        const std::vector<std::string> ours = numberedWords(gpu.name);
        if (ours.empty() || std::find(theirs.begin(), theirs.end(), ours.front()) == theirs.end())
            continue;
        if (!probe.computeCapability.empty() && probe.computeCapability != fmt::format("{}.{}", gpu.computeMajor, gpu.computeMinor))
            continue;
        const double away = std::abs(static_cast<double>(probe.capacity.value) / static_cast<double>(gpu.capacity.value) - 1.0);
        if (away < nearest) {
            nearest = away;
            best = &gpu;
        }
    }
    return best;
}

PlanToCompare planToCompare(const TrainingPlan &given, const ProbeResult &result)
{
    PlanToCompare out{given, {}};
    if (result.how == ProbeKind::DryRun) {
        out.plan.runtime.allocator = AllocatorKind::Rounded;
        out.plan.runtime.cublasWorkspaceBytes = 0;
        out.notes.emplace_back("Predicted as a dry run counts: each storage rounded up to 512 bytes, no cuBLAS workspaces.");
        return out;
    }
    if (!result.gpu)
        return out;
    const Gpu *gpu = gpuOfProbe(*result.gpu);
    if (gpu == nullptr) {
        out.notes.push_back(fmt::format("The GPU of the run, {}, is not in the catalogue: predicted for {}.", excerpt(result.gpu->name),
                                        given.gpus.empty() ? "no GPU in particular" : "the plan's first GPU"));
        return out;
    }
    if (given.gpus.empty() || given.gpus.front() != gpu->id)
        out.notes.push_back(fmt::format("Predicted for the GPU of the run, {}.", gpu->title()));
    out.plan.gpus = {gpu->id};
    return out;
}

Comparison compare(const Estimate &estimate, const TrainingPlan &given, const ProbeResult &result)
{
    Rows rows;
    rows.add(ComparisonGroup::Parameters, "parameters.total", "total", estimate.parametersTotal, result.parametersTotal);
    rows.add(ComparisonGroup::Parameters, "parameters.trainable", "trainable", estimate.parametersTrainable, result.parametersTrainable);
    rows.add(ComparisonGroup::Steady, "steady.weights", "weights", estimate.steady.weights, result.steady.weights);
    rows.add(ComparisonGroup::Steady, "steady.gradients", "gradients", estimate.steady.gradients, result.steady.gradients);
    rows.add(ComparisonGroup::Steady, "steady.optimizer", "optimizer", estimate.steady.optimizer, result.steady.optimizer);
    rows.add(ComparisonGroup::Steady, "steady.allocated", "allocated", estimate.steady.allocated, result.steady.allocated);
    rows.add(ComparisonGroup::Activations, "saved_activations", "activations", estimate.savedActivations, result.savedActivations);
    std::optional<Measured> first = measuredOf(result, 0, 1);
    const bool diedLoading = result.error && !result.error->step;
    if (result.load && !diedLoading) {
        if (!first)
            first.emplace();
        raise(first->phaseAllocated[static_cast<std::size_t>(Phase::Load)], result.load->allocated);
        if (!isDry(result))
            raise(first->phaseReserved[static_cast<std::size_t>(Phase::Load)], result.load->reserved);
    }
    if (first)
        addStep(rows, ComparisonGroup::FirstStep, estimate.firstStep, estimate.firstPhases, *first);
    // The estimate's later step is the third; where only two were run, the second stands in.
    const std::size_t laterFrom = result.steps.size() > 2 ? 2 : 1;
    std::optional<Measured> later = measuredOf(result, laterFrom, result.steps.size());
    if (!later && laterFrom == 2)
        later = measuredOf(result, 1, 2);
    if (later)
        addStep(rows, ComparisonGroup::LaterSteps, estimate.peak, estimate.phases, *later);

    Comparison out;
    out.rows = rows.take();
    out.differences = planDifferences(result.plan, given);
    out.notes = planToCompare(given, result).notes;
    for (std::string &note : notesOn(given, result))
        out.notes.push_back(std::move(note));
    for (const std::string &note : result.notes)
        out.notes.push_back(fmt::format("The probe says: {}.", excerpt(note, 300)));
    if (result.error)
        out.ending = endingOf(estimate, result, out.differences.empty());
    return out;
}

std::optional<double> Comparison::worstTotal() const
{
    std::optional<double> worst;
    for (const ComparisonRow &row : rows)
        if (row.total)
            worst = std::max(worst.value_or(0.0), std::abs(row.error.value_or(HUGE_VAL)));
    return worst;
}

std::string_view title(ComparisonGroup group)
{
    switch (group) {
    case ComparisonGroup::Parameters: return "parameters";
    case ComparisonGroup::Steady: return "between steps";
    case ComparisonGroup::Activations: return "saved for backward";
    case ComparisonGroup::FirstStep: return "first step";
    case ComparisonGroup::LaterSteps: return "later steps";
    }
    return {};
}

std::string formatError(const std::optional<double> &error)
{
    if (!error)
        return "-";
    if (*error == 0.0)
        return "0 %";
    // What is not nothing must not read as nothing.
    if (std::abs(*error) < 0.00005)
        return *error > 0 ? "< +0.01 %" : "> -0.01 %";
    return fmt::format("{:+.2f} %", *error * 100);
}

} // namespace headroom
