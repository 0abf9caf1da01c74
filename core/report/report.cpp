// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/report/report.h"

#include "core/estimate/checkpointing_cost.h"
#include "core/hardware/gpu.h"
#include "core/plan/plan_json.h"
#include "core/report/measured.h"
#include "core/report/sections.h"

#include <fmt/format.h>

namespace headroom {

namespace {

std::string verdictWords(Verdict verdict)
{
    switch (verdict) {
    case Verdict::Fits: return "fits";
    case Verdict::Tight: return "tight";
    case Verdict::DoesNotFit: return "does not fit";
    }
    return {};
}

ReportSection verdictSection(const Estimate &estimate, ByteUnit unit)
{
    ReportSection section;
    section.heading = "Does it fit?";
    if (estimate.gpus.empty()) {
        section.paragraphs = {summarySentence(estimate, unit), "The plan names no GPU; compute capability 8.0 is assumed."};
        return section;
    }
    ReportTable table{{},
                      {"GPU", "Capacity", "Allocated", "Reserved", "Device", "Headroom", "Verdict"},
                      {false, true, true, true, true, true, false},
                      {}};
    for (const GpuEstimate &gpu : estimate.gpus) {
        section.paragraphs.push_back(verdictSentence(gpu, unit));
        table.rows.push_back({gpu.name, formatBytes(gpu.capacity, unit), formatBytes(gpu.allocated, unit), formatBytes(gpu.reserved, unit),
                              formatBytes(gpu.device, unit), formatBytes(gpu.headroom, unit), verdictWords(gpu.verdict)});
    }
    section.paragraphs.emplace_back(
        "Allocated is what torch.cuda.max_memory_allocated reports, reserved what torch.cuda.max_memory_reserved reports, "
        "device what nvidia-smi shows for the process; each is the higher of the first and a later step.");
    section.tables.push_back(std::move(table));
    return section;
}

ReportSection componentsSection(const Estimate &estimate, ByteUnit unit)
{
    const Peak &peak = estimate.peak, &first = estimate.firstStep;
    ReportSection section;
    section.heading = "Where the memory goes";
    section.chart = ReportChart::MemoryBars;
    section.paragraphs.push_back(fmt::format(
        "Allocated memory is highest {}, at {}. PyTorch's cache brings that to {} reserved, and what lies outside PyTorch "
        "(CUDA context, libraries) to {} of device memory. In the first step, before optimizer state exists, the peak is {}, {}.",
        phraseOf(peak.phase), formatBytes(peak.allocated, unit), formatBytes(peak.reserved, unit), formatBytes(peak.device, unit),
        formatBytes(first.allocated, unit), phraseOf(first.phase)));
    section.paragraphs.push_back(
        fmt::format("At the end of forward {} is kept for backward.", formatBytes(estimate.savedActivations, unit)));
    if (std::string cost = recomputationSentence(estimate); !cost.empty()) {
        const std::optional<Bytes> saved = bytesSavedByCheckpointing(estimate);
        section.paragraphs.push_back(
            (saved ? savedSentence(*saved, unit) + ". " : std::string()) + cost +
            " Counted as torch.utils.flop_counter does: a product of [m, k] and [k, n] takes 2 m n k, attention 4 B H S S D.");
    }
    if (estimate.hostPeak.value > 0)
        section.paragraphs.push_back(fmt::format("Host memory holds {} between steps and {} at most.",
                                                 formatBytes(estimate.hostSteady, unit), formatBytes(estimate.hostPeak, unit)));

    section.tables.push_back(componentsTable(estimate, unit));
    return section;
}

ReportSection phasesSection(const Estimate &estimate, ByteUnit unit)
{
    ReportSection section;
    section.heading = "Through the step";
    section.chart = ReportChart::Timeline;
    section.paragraphs.emplace_back(
        "The highest allocated and reserved memory of each phase. The loss begins where the output head is called; "
        "the optimizer phase holds clipping, the step and zero_grad.");
    section.tables.push_back(phasesTable(estimate, unit));
    return section;
}

std::string capacityText(const GpuEstimate &estimate)
{
    const Gpu *gpu = findGpu(estimate.id);
    if (!gpu)
        return {};
    std::string how;
    switch (gpu->capacitySource) {
    case CapacitySource::NvidiaSmi: how = "what nvidia-smi shows as total"; break;
    case CapacitySource::TorchTotal: how = "the largest total that torch reports, and 500 MiB for what it does not see"; break;
    case CapacitySource::Marketing: how = "the capacity as sold"; break;
    }
    return fmt::format("The capacity of {} is {}{}.", estimate.name, how, gpu->source.empty() ? "" : " (" + gpu->source + ")");
}

ReportSection notesSection(const Estimate &estimate)
{
    ReportSection section;
    section.heading = "Notes and assumptions";
    section.paragraphs.push_back(bandSentence(estimate.band));
    section.paragraphs.emplace_back("Every row of the batch is one full sequence: no padding, no packing, use_cache=False, labels given. "
                                    "A step is forward, loss and backward for each micro-batch, then the optimizer's step and zero_grad.");
    for (const GpuEstimate &gpu : estimate.gpus)
        if (std::string text = capacityText(gpu); !text.empty())
            section.paragraphs.push_back(std::move(text));
    if (!estimate.notes.empty()) {
        ReportTable table{"Notes", {"Kind", "Field", "Note"}, {false, false, false}, {}};
        for (const Note &note : estimate.notes)
            table.rows.push_back({note.severity == Severity::Warning ? "warning" : "information", note.where, note.text});
        section.tables.push_back(std::move(table));
    }
    return section;
}

ReportSection reproductionSection(const Estimate &estimate)
{
    ReportSection section;
    section.heading = "How to reproduce";
    section.paragraphs.push_back(fmt::format("Made by Headroom {}, which reads plan format {}. Save the plan below as plan.headroom.json, "
                                             "open it in Headroom, or run the command.",
                                             HEADROOM_VERSION, planFormat));
    if (!estimate.plan.model.configPath.empty())
        section.paragraphs.push_back(
            fmt::format("The plan reads its model from {}, which must lie beside it.", estimate.plan.model.configPath));
    section.listings.emplace_back("headroom-cli estimate plan.headroom.json");
    section.listings.push_back(writePlan(estimate.plan, PlanStyle::Short, true));
    return section;
}

} // namespace

ReportTable componentsTable(const Estimate &estimate, ByteUnit unit)
{
    const Peak &peak = estimate.peak, &first = estimate.firstStep;
    ReportTable table{
        "Components at the peak", {"Part", "Later steps", "Share", "First step", "Between steps"}, {false, true, true, true, true}, {}};
    const auto between = [&](Component component) -> std::string {
        switch (component) {
        case Component::Weights: return formatBytes(estimate.steady.weights, unit);
        case Component::Gradients: return formatBytes(estimate.steady.gradients, unit);
        case Component::Optimizer: return formatBytes(estimate.steady.optimizer, unit);
        case Component::Activations:
        case Component::Temporary: break;
        }
        return {};
    };
    for (Component component : allComponents)
        table.rows.push_back({std::string(name(component)), formatBytes(peak.components[component], unit),
                              formatShare(peak.components[component], peak.allocated), formatBytes(first.components[component], unit),
                              between(component)});
    const auto add = [&](const char *label, Bytes later, Bytes firstStep, std::string steady) {
        table.rows.push_back({label, formatBytes(later, unit), "", formatBytes(firstStep, unit), std::move(steady)});
    };
    add("allocated", peak.allocated, first.allocated, formatBytes(estimate.steady.allocated, unit));
    add("cache", peak.reserved - peak.allocated, first.reserved - first.allocated, {});
    add("reserved", peak.reserved, first.reserved, {});
    add("outside PyTorch", peak.device - peak.reserved, first.device - first.reserved, {});
    add("device", peak.device, first.device, {});
    return table;
}

ReportTable phasesTable(const Estimate &estimate, ByteUnit unit)
{
    ReportTable table{"Phases",
                      {"Phase", "Allocated, later steps", "Reserved, later steps", "Allocated, first step", "Reserved, first step"},
                      {false, true, true, true, true},
                      {}};
    for (std::size_t i = 0; i < phaseCount; ++i) {
        const PhasePeak &later = estimate.phases[i], &first = estimate.firstPhases[i];
        table.rows.push_back({std::string(name(later.phase)), formatBytes(later.allocated, unit), formatBytes(later.reserved, unit),
                              formatBytes(first.allocated, unit), formatBytes(first.reserved, unit)});
    }
    return table;
}

Report buildReport(const Estimate &estimate, ByteUnit unit, std::span<const MeasuredRun> runs)
{
    Report report;
    report.title = planTitle(estimate.plan);
    report.subtitle = summarySentence(estimate, unit);
    report.sections = {planSection(estimate),         verdictSection(estimate, unit),   componentsSection(estimate, unit),
                       phasesSection(estimate, unit), breakdownSection(estimate, unit), notesSection(estimate),
                       reproductionSection(estimate)};
    if (!runs.empty())
        report.sections.insert(report.sections.begin() + 4, measuredSection(runs, unit));
    return report;
}

} // namespace headroom
