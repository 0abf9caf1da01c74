// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/report/report.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom {

namespace {

std::string modelLabel(const ModelChoice &model)
{
    if (!model.configPath.empty())
        return model.configPath;
    return model.config.empty() ? model.preset : "the plan's own config";
}

std::string methodLabel(const Method &method)
{
    switch (method.kind) {
    case MethodKind::Full: return "full fine-tuning";
    case MethodKind::Lora: return fmt::format("LoRA of rank {}", method.rank);
    case MethodKind::Qlora: return fmt::format("QLoRA of rank {}", method.rank);
    }
    return {};
}

} // namespace

std::string planTitle(const TrainingPlan &plan)
{
    return plan.name.empty() ? fmt::format("{}, {}", modelLabel(plan.model), methodLabel(plan.method)) : plan.name;
}

std::string verdictSentence(const GpuEstimate &gpu, ByteUnit unit)
{
    const bool isShort = gpu.headroom.value < 0;
    const std::string margin = formatBytes(isShort ? -gpu.headroom : gpu.headroom, unit, 1);
    switch (gpu.verdict) {
    case Verdict::Fits: return fmt::format("Fits on {}: {} to spare.", gpu.name, margin);
    case Verdict::Tight:
        if (isShort)
            return fmt::format("Tight on {}: short by {} {}, which is within the error band.", gpu.name, margin, phraseOf(gpu.phase));
        return fmt::format("Tight on {}: {} to spare, which is within the error band.", gpu.name, margin);
    case Verdict::DoesNotFit: return fmt::format("Does not fit on {}: short by {}, {}.", gpu.name, margin, phraseOf(gpu.phase));
    }
    return {};
}

std::string summarySentence(const Estimate &estimate, ByteUnit unit)
{
    if (!estimate.gpus.empty()) {
        const auto worst = std::min_element(estimate.gpus.begin(), estimate.gpus.end(),
                                            [](const GpuEstimate &a, const GpuEstimate &b) { return a.headroom < b.headroom; });
        return verdictSentence(*worst, unit);
    }
    const Peak &peak = estimate.firstStep.device > estimate.peak.device ? estimate.firstStep : estimate.peak;
    return fmt::format("The peak takes {} of device memory, {}.", formatBytes(peak.device, unit, 1), phraseOf(peak.phase));
}

std::string bandSentence(const Band &band)
{
    std::string figures;
    const auto add = [&figures](const std::optional<double> &error, std::string_view figure) {
        if (error)
            figures += fmt::format("{}{:.2g} % ({})", figures.empty() ? "" : ", ", *error * 100, figure);
    };
    add(band.allocated, "allocated");
    add(band.reserved, "reserved");
    add(band.device, "device");
    if (figures.empty())
        return "No measured run of this kind is on record, so the figures carry no error band.";
    return fmt::format("Nine predictions out of ten of this kind ({}) lay within {} of what was measured.", band.regime, figures);
}

} // namespace headroom
