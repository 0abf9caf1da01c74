// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// Estimates and timelines made by hand: charts are tested without the engine.
namespace headroom::samples {

inline Bytes gibibytes(double n) { return {std::llround(n * 1073741824.0 / 512) * 512}; }

inline GpuEstimate gpuOf(const Peak &peak, std::string id, std::string name, double capacity)
{
    GpuEstimate gpu;
    gpu.id = std::move(id);
    gpu.name = std::move(name);
    gpu.capacity = gibibytes(capacity);
    gpu.allocated = peak.allocated;
    gpu.reserved = peak.reserved;
    gpu.device = peak.device;
    gpu.headroom = gpu.capacity - gpu.device;
    gpu.fits = gpu.headroom.value >= 0;
    gpu.verdict = !gpu.fits ? Verdict::DoesNotFit : gpu.headroom < gibibytes(0.5) ? Verdict::Tight : Verdict::Fits;
    gpu.phase = peak.phase;
    return gpu;
}

inline Peak peakOf(double weights, double gradients, double optimizer, double activations, double temporary, double cache, double outside)
{
    Peak peak;
    peak.components.bytes = {gibibytes(weights), gibibytes(gradients), gibibytes(optimizer), gibibytes(activations), gibibytes(temporary)};
    peak.allocated = peak.components.total();
    peak.reserved = peak.allocated + gibibytes(cache);
    peak.device = peak.reserved + gibibytes(outside);
    return peak;
}

struct GpuSpec {
    std::string id, name;
    double capacity = 0;
};

inline const std::vector<GpuSpec> threeGpus = {
    {"nvidia-rtx-4090-24gb", "RTX 4090 24 GB", 23.99}, {"nvidia-a100-40gb", "A100 40 GB", 40.0}, {"nvidia-h100-80gb", "H100 80 GB", 79.65}};

/// Qwen3-8B with LoRA, about what a trace of it shows: 24.7 GiB in use.
inline std::shared_ptr<Estimate> qwen(const std::vector<GpuSpec> &gpus = threeGpus, double activations = 3.51)
{
    auto estimate = std::make_shared<Estimate>();
    estimate->plan.name = "Qwen3-8B LoRA on one 4090";
    estimate->model.modelType = "qwen3";
    estimate->parametersTotal = 8234382336;
    estimate->parametersTrainable = 43646976;
    estimate->peak = peakOf(15.42, 0.0, 0.33, activations, 4.63, 0.42, 0.39);
    estimate->firstStep = peakOf(15.42, 0.0, 0.0, activations, 4.63, 0.42, 0.39);
    for (const GpuSpec &gpu : gpus) {
        estimate->plan.gpus.push_back(gpu.id);
        estimate->gpus.push_back(gpuOf(estimate->peak, gpu.id, gpu.name, gpu.capacity));
    }
    const std::array<double, phaseCount> phases = {16.1, 19.9, 22.2, 23.89, 16.2, 15.9};
    for (std::size_t i = 0; i < phaseCount; ++i) {
        estimate->phases[i] = {static_cast<Phase>(i), gibibytes(phases[i]), gibibytes(phases[i] + 0.4)};
        estimate->firstPhases[i] = estimate->phases[i];
    }
    estimate->steady = {gibibytes(15.42), {}, gibibytes(0.33), gibibytes(15.76)};
    estimate->savedActivations = gibibytes(activations);
    estimate->notes.push_back(
        {Severity::Warning, "precision", "Adapters are fp32 and there is no autocast: their inputs are cast and kept."});
    return estimate;
}

/// Every event of a made-up step of 36 layers, about the shape that Qwen3-8B with LoRA has.
inline const std::vector<TimelineSample> &stepEvents()
{
    static const std::vector<TimelineSample> events = [] {
        std::vector<TimelineSample> made;
        const auto add = [&](Phase phase, int layer, double activations, double temporary) {
            TimelineSample sample;
            sample.event = static_cast<std::uint32_t>(made.size());
            sample.phase = phase;
            sample.layer = static_cast<std::int16_t>(layer);
            sample.components.bytes = {gibibytes(15.42), gibibytes(0.08), gibibytes(0.33), gibibytes(activations), gibibytes(temporary)};
            sample.reserved = gibibytes(made.size() < 900 ? 19.0 : 24.31);
            made.push_back(sample);
        };
        for (int layer = 0; layer < 36; ++layer) {
            for (int i = 0; i < 40; ++i)
                add(Phase::Forward, layer, 0.036 * layer + 0.001 * i, 0.1 + 0.4 * std::abs(std::sin(i * 0.3)));
        }
        for (int i = 0; i < 60; ++i)
            add(Phase::Loss, -1, 1.3 + (i > 20 ? 2.2 : 0), 0.2 + 0.07 * i * (i > 30 ? 1 : 0.3));
        for (int layer = 35; layer >= 0; --layer) {
            for (int i = 0; i < 60; ++i)
                add(Phase::Backward, layer, 0.036 * layer + (layer == 35 && i < 6 ? 3.4 - 0.036 * 35 : 0.0),
                    layer == 35 && i < 6 ? 4.63 : 0.2 + 0.9 * std::abs(std::sin(i * 0.15)));
        }
        for (int i = 0; i < 40; ++i)
            add(Phase::Optimizer, -1, 0, 0.05);
        for (int i = 0; i < 30; ++i)
            add(Phase::Idle, -1, 0, 0.01);
        return made;
    }();
    return events;
}

/// The step as an estimate would give it: thinned, the highest of each stretch kept.
inline Timeline timelineOf(const std::vector<TimelineSample> &events, std::size_t samples, std::uint32_t from, std::uint32_t to)
{
    Timeline timeline;
    timeline.events = static_cast<std::uint32_t>(events.size());
    to = std::min(to, timeline.events);
    from = std::min(from, to);
    const auto height = [&](std::size_t i) { return events[i].components.total(); };
    for (std::size_t i = 0; i < events.size(); ++i) {
        if (height(i) > height(timeline.peakEvent))
            timeline.peakEvent = static_cast<std::uint32_t>(i);
    }
    const std::size_t stretch = std::max<std::size_t>(1, (to - from + samples - 1) / std::max<std::size_t>(1, samples));
    for (std::size_t start = from; start < to; start += stretch) {
        std::size_t highest = start;
        for (std::size_t i = start; i < std::min<std::size_t>(to, start + stretch); ++i) {
            if (height(i) > height(highest))
                highest = i;
        }
        timeline.samples.push_back(events[highest]);
    }
    for (std::size_t i = 0; i < events.size(); ++i) {
        const auto at = static_cast<std::uint32_t>(i);
        if (i == 0 || events[i].phase != events[i - 1].phase)
            timeline.phases.push_back({std::string(name(events[i].phase)), at, at});
        timeline.phases.back().to = at + 1;
        if (events[i].layer >= 0 && (i == 0 || events[i].layer != events[i - 1].layer || events[i].phase != events[i - 1].phase))
            timeline.layers.push_back({"layer " + std::to_string(events[i].layer), at, at});
        if (events[i].layer >= 0)
            timeline.layers.back().to = at + 1;
    }
    return timeline;
}

inline std::vector<AliveTensor> aliveTensors()
{
    std::vector<AliveTensor> tensors = {
        {"weights of the 36 layers", Component::Weights, gibibytes(13.1), "", "bfloat16", 252},
        {"gradient of log-softmax", Component::Temporary, gibibytes(4.63), "[1, 4096, 151936]", "float32", 2},
        {"log-softmax", Component::Activations, gibibytes(2.32), "[1, 4096, 151936]", "float32", 1},
        {"embed_tokens.weight", Component::Weights, gibibytes(1.16), "[151936, 4096]", "bfloat16", 1},
        {"checkpoints", Component::Activations, gibibytes(1.13), "[1, 4096, 4096]", "bfloat16", 36}};
    for (int i = 0; i < 20; ++i)
        tensors.push_back({"layers." + std::to_string(i) + " down_proj input", Component::Activations, gibibytes(0.09 - 0.002 * i),
                           "[1, 4096, 12288]", "bfloat16", 1});
    return tensors;
}

} // namespace headroom::samples
