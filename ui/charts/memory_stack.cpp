// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/memory_stack.h"

#include <algorithm>

namespace headroom {
namespace {

const Peak &peakOf(const Estimate &estimate, Estimate::Step step)
{
    return step == Estimate::Step::Steady ? estimate.peak : estimate.firstStep;
}

bool isHigherStep(const Estimate &estimate, Estimate::Step step)
{
    return step == Estimate::Step::Steady ? estimate.peak.device >= estimate.firstStep.device
                                          : estimate.firstStep.device > estimate.peak.device;
}

/// Makes the components add up to `allocated`: what differs between GPUs are workspaces, which are temporary.
void scaleTo(ComponentBytes &components, Bytes allocated)
{
    Bytes missing = allocated - components.total();
    for (auto it = allComponents.rbegin(); it != allComponents.rend() && missing.value != 0; ++it) {
        const Bytes changed = std::max(Bytes{0}, components[*it] + missing);
        missing -= changed - components[*it];
        components[*it] = changed;
    }
}

MemoryStack stackOn(const GpuEstimate *gpu, const Estimate &estimate, Estimate::Step step)
{
    const Peak &peak = peakOf(estimate, step);
    MemoryStack stack;
    stack.components = peak.components;
    stack.cache = std::max(Bytes{0}, peak.reserved - stack.allocated());
    stack.outside = std::max(Bytes{0}, peak.device - peak.reserved);
    if (!gpu)
        return stack;
    if (isHigherStep(estimate, step)) {
        scaleTo(stack.components, gpu->allocated);
        stack.cache = std::max(Bytes{0}, gpu->reserved - gpu->allocated);
    } else {
        stack.cache = std::max(Bytes{0}, std::min(peak.reserved, gpu->reserved) - stack.allocated());
    }
    stack.outside = std::max(Bytes{0}, gpu->device - gpu->reserved);
    return stack;
}

} // namespace

std::vector<MemoryBar> memoryBars(const Estimate &estimate, const Estimate *baseline, Estimate::Step step)
{
    std::vector<MemoryBar> bars;
    bars.reserve(std::max<std::size_t>(1, estimate.gpus.size()));
    for (const GpuEstimate &gpu : estimate.gpus) {
        MemoryBar bar;
        bar.id = gpu.id;
        bar.title = gpu.name;
        bar.capacity = gpu.capacity;
        bar.stack = stackOn(&gpu, estimate, step);
        bar.verdict = gpu.verdict;
        bar.headroom = gpu.headroom;
        if (!isHigherStep(estimate, step))
            bar.decides = step == Estimate::Step::Steady ? Estimate::Step::First : Estimate::Step::Steady;
        if (baseline) {
            const auto same =
                std::find_if(baseline->gpus.begin(), baseline->gpus.end(), [&](const GpuEstimate &g) { return g.id == gpu.id; });
            bar.baseline = stackOn(same != baseline->gpus.end() ? &*same : nullptr, *baseline, step);
        }
        bars.push_back(std::move(bar));
    }
    if (bars.empty()) {
        MemoryBar bar;
        bar.stack = stackOn(nullptr, estimate, step);
        if (baseline)
            bar.baseline = stackOn(nullptr, *baseline, step);
        bars.push_back(std::move(bar));
    }
    return bars;
}

} // namespace headroom
