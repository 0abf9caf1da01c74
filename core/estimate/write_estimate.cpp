// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/estimate.h"

#include <nlohmann/json.hpp>

namespace headroom {

namespace {

using Json = nlohmann::ordered_json;

Json peakJson(const Peak &peak)
{
    Json components;
    for (Component c : allComponents)
        components[std::string(name(c))] = peak.components[c].value;
    return {{"allocated", peak.allocated.value},
            {"reserved", peak.reserved.value},
            {"device", peak.device.value},
            {"phase", name(peak.phase)},
            {"components", std::move(components)}};
}

Json figure(const std::optional<double> &value) { return value ? Json(*value) : Json(nullptr); }

/// A count that may be beyond 64 bits.
Json wholeNumber(double value) { return value < 9e18 ? Json(static_cast<std::int64_t>(value)) : Json(value); }

} // namespace

std::string writeEstimate(const Estimate &e, bool indent, std::optional<Bytes> bytesSaved)
{
    Json out;
    out["headroom_estimate"] = 1;
    out["name"] = e.plan.name;
    out["parameters"] = {{"total", e.parametersTotal}, {"trainable", e.parametersTrainable}};
    out["steady"] = {{"weights", e.steady.weights.value},
                     {"gradients", e.steady.gradients.value},
                     {"optimizer", e.steady.optimizer.value},
                     {"allocated", e.steady.allocated.value}};
    out["peak"] = peakJson(e.peak);
    out["first_step"] = peakJson(e.firstStep);
    out["saved_activations"] = e.savedActivations.value;
    out["checkpointing"] = nullptr;
    if (e.plan.checkpointing != Checkpointing::None)
        out["checkpointing"] = {{"bytes_saved", bytesSaved ? Json(bytesSaved->value) : Json(nullptr)},
                                {"flops_recomputed", wholeNumber(e.flopsRecomputed)},
                                {"flops_forward", wholeNumber(e.flopsForward)}};
    Json phases = Json::array();
    for (const PhasePeak &phase : e.phases)
        phases.push_back({{"name", name(phase.phase)}, {"allocated", phase.allocated.value}, {"reserved", phase.reserved.value}});
    out["phases"] = std::move(phases);
    out["host"] = {{"steady", e.hostSteady.value}, {"peak", e.hostPeak.value}};
    out["band"] = {{"regime", e.band.regime},
                   {"allocated", figure(e.band.allocated)},
                   {"reserved", figure(e.band.reserved)},
                   {"device", figure(e.band.device)}};
    Json gpus = Json::array();
    for (const GpuEstimate &gpu : e.gpus)
        gpus.push_back({{"id", gpu.id},
                        {"capacity", gpu.capacity.value},
                        {"verdict", name(gpu.verdict)},
                        {"fits", gpu.fits},
                        {"headroom", gpu.headroom.value},
                        {"allocated", gpu.allocated.value},
                        {"reserved", gpu.reserved.value},
                        {"device", gpu.device.value},
                        {"phase", name(gpu.phase)}});
    out["gpus"] = std::move(gpus);
    Json notes = Json::array();
    for (const Note &note : e.notes)
        notes.push_back(
            {{"severity", note.severity == Severity::Warning ? "warning" : "information"}, {"where", note.where}, {"text", note.text}});
    out["notes"] = std::move(notes);
    return out.dump(indent ? 2 : -1, ' ', false, Json::error_handler_t::replace);
}

} // namespace headroom
