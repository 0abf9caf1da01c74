// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/checkpointing_cost.h"
#include "core/plan/plan_json.h"
#include "core/report/report.h"

#include <fmt/format.h>

#include <string_view>

namespace headroom {

namespace {

class CsvRows
{
public:
    CsvRows(std::string &out, const Estimate &estimate)
        : m_out(out)
        , m_plan(csvField(planTitle(estimate.plan)))
    {}

    void add(std::string_view step, std::string_view figure, Bytes bytes)
    {
        m_out += fmt::format("{},{},{},{}\r\n", m_plan, step, csvField(figure), bytes.value);
    }

    void addPeak(std::string_view step, const Peak &peak)
    {
        add(step, "peak.allocated", peak.allocated);
        add(step, "peak.reserved", peak.reserved);
        add(step, "peak.device", peak.device);
        for (Component component : allComponents)
            add(step, fmt::format("peak.components.{}", name(component)), peak.components[component]);
    }

    void addPhases(std::string_view step, const std::array<PhasePeak, phaseCount> &phases)
    {
        for (const PhasePeak &phase : phases) {
            add(step, fmt::format("phases.{}.allocated", name(phase.phase)), phase.allocated);
            add(step, fmt::format("phases.{}.reserved", name(phase.phase)), phase.reserved);
        }
    }

private:
    std::string &m_out;
    std::string m_plan;
};

} // namespace

std::string csvField(std::string_view text)
{
    if (text.find_first_of(",\"\r\n") == std::string_view::npos)
        return std::string(text);
    std::string out = "\"";
    for (char c : text) {
        if (c == '"')
            out += '"';
        out += c;
    }
    return out + '"';
}

std::string writeCsv(std::span<const std::shared_ptr<const Estimate>> estimates)
{
    std::string out = "plan,step,figure,bytes\r\n";
    for (const std::shared_ptr<const Estimate> &estimate : estimates) {
        CsvRows rows(out, *estimate);
        rows.add({}, "steady.weights", estimate->steady.weights);
        rows.add({}, "steady.gradients", estimate->steady.gradients);
        rows.add({}, "steady.optimizer", estimate->steady.optimizer);
        rows.add({}, "steady.allocated", estimate->steady.allocated);
        rows.add({}, "saved_activations", estimate->savedActivations);
        rows.add({}, "host.steady", estimate->hostSteady);
        rows.add({}, "host.peak", estimate->hostPeak);
        rows.addPeak("first", estimate->firstStep);
        rows.addPhases("first", estimate->firstPhases);
        rows.addPeak("later", estimate->peak);
        rows.addPhases("later", estimate->phases);
        for (const GpuEstimate &gpu : estimate->gpus) {
            rows.add({}, fmt::format("gpus.{}.capacity", gpu.id), gpu.capacity);
            rows.add({}, fmt::format("gpus.{}.allocated", gpu.id), gpu.allocated);
            rows.add({}, fmt::format("gpus.{}.reserved", gpu.id), gpu.reserved);
            rows.add({}, fmt::format("gpus.{}.device", gpu.id), gpu.device);
            rows.add({}, fmt::format("gpus.{}.headroom", gpu.id), gpu.headroom);
        }
    }
    return out;
}

std::string writeJson(std::span<const std::shared_ptr<const Estimate>> estimates)
{
    const auto object = [](const Estimate &estimate) {
        return fmt::format("{{\"plan\": {}, \"estimate\": {}}}", writePlan(estimate.plan, PlanStyle::Complete, false),
                           writeEstimate(estimate, false, bytesSavedByCheckpointing(estimate)));
    };
    if (estimates.size() == 1)
        return object(*estimates.front()) + '\n';
    std::string out = "[";
    for (std::size_t i = 0; i < estimates.size(); ++i)
        out += (i == 0 ? "\n" : ",\n") + object(*estimates[i]);
    return out + "\n]\n";
}

} // namespace headroom
