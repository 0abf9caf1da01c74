// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/error_band.h"

#include "core/plan/choices.h"
#include "core/units/strict_json.h"
#include "embedded/error_bands_json.h"

#include <algorithm>
#include <cassert>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace headroom {

namespace {

std::optional<double> figureAt(const JsonValue &entry, std::string_view metric)
{
    const JsonValue *figure = entry.find(metric);
    const JsonValue *p90 = figure != nullptr ? figure->find("p90") : nullptr;
    return p90 != nullptr ? p90->number() : std::nullopt;
}

/// The file ships inside the program: what is wrong with it is our mistake, found by tests/core/test_estimate.cpp.
std::vector<Band> readBands()
{
    const Result<JsonValue> file = parseJson(embedded::error_bands_json);
    assert(file.ok());
    std::vector<Band> out;
    for (const JsonValue &entry : *file->find("bands")->array())
        out.push_back(
            {*entry.find("regime")->string(), figureAt(entry, "allocated"), figureAt(entry, "reserved"), figureAt(entry, "device")});
    return out;
}

} // namespace

std::string regimeOf(const TrainingPlan &plan)
{
    const Parallel &parallel = plan.parallel;
    std::string engine(choices::engine[static_cast<std::size_t>(parallel.engine)].value);
    if (parallel.engine == Engine::None)
        engine = "single";
    else if (parallel.engine == Engine::DeepSpeed)
        engine = fmt::format("zero{}", parallel.zeroStage.value_or(0));
    return fmt::format("{}-{}", choices::method[static_cast<std::size_t>(plan.method.kind)].value, engine);
}

Band errorBand(const TrainingPlan &plan)
{
    static const std::vector<Band> all = readBands();
    if (plan.stack != Stack::Transformers || plan.runtime.allocator == AllocatorKind::Rounded)
        return {};
    const std::string regime = regimeOf(plan);
    const auto found = std::find_if(all.begin(), all.end(), [&](const Band &band) { return band.regime == regime; });
    return found == all.end() ? Band{} : *found;
}

} // namespace headroom
