// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-cli/commands.h"
#include "app/headroom-cli/output.h"
#include "app/headroom-cli/text_table.h"
#include "core/hardware/gpu.h"
#include "core/model/catalogue.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headroom::cli {

namespace {

using Json = nlohmann::ordered_json;

/// null for an amount that is not known.
Json knownOrNull(std::int64_t amount) { return amount > 0 ? Json(amount) : Json(nullptr); }

std::string computeCapability(const Gpu &gpu)
{
    return gpu.computeMajor == 0 ? std::string() : fmt::format("{}.{}", gpu.computeMajor, gpu.computeMinor);
}

const char *sourceName(CapacitySource source)
{
    switch (source) {
    case CapacitySource::NvidiaSmi: return "nvidia-smi";
    case CapacitySource::TorchTotal: return "torch-total";
    case CapacitySource::Marketing: return "marketing";
    }
    return "";
}

std::string presetsJson()
{
    Json list = Json::array();
    for (const ModelPreset &preset : modelPresets()) {
        Json item;
        item["id"] = preset.id;
        item["family"] = preset.family;
        item["model_type"] = preset.modelType;
        item["parameters"] = knownOrNull(preset.parameters);
        item["supported"] = preset.supported;
        item["reason"] = preset.supported ? Json(nullptr) : Json(preset.unsupportedReason);
        item["source"] = preset.source;
        list.push_back(std::move(item));
    }
    return list.dump(2);
}

std::string gpusJson()
{
    Json list = Json::array();
    for (const Gpu &gpu : gpus()) {
        Json item;
        item["id"] = gpu.id;
        item["name"] = gpu.name;
        item["title"] = gpu.title();
        item["vendor"] = gpu.vendor;
        item["architecture"] = gpu.architecture;
        item["capacity"] = gpu.capacity.value;
        item["capacity_source"] = sourceName(gpu.capacitySource);
        const std::string capability = computeCapability(gpu);
        item["compute_capability"] = capability.empty() ? Json(nullptr) : Json(capability);
        item["multiprocessors"] = knownOrNull(gpu.multiprocessors);
        item["marketing_gb"] = gpu.marketingGb;
        item["source"] = gpu.source;
        list.push_back(std::move(item));
    }
    return list.dump(2);
}

std::string presetsText()
{
    ReportTable table{{}, {"id", "parameters", "type", "supported"}, {false, true, false, false}, {}};
    std::size_t supported = 0;
    for (const ModelPreset &preset : modelPresets()) {
        supported += preset.supported ? 1 : 0;
        table.rows.push_back({preset.id, preset.parameters > 0 ? formatCount(preset.parameters) : "", preset.modelType,
                              preset.supported ? "yes" : "no: " + preset.unsupportedReason});
    }
    return fmt::format("{}\n{} models, {} of them supported. A plan names one as model.preset.\n", formatTable(table), table.rows.size(),
                       supported);
}

std::string gpusText(ByteUnit unit)
{
    ReportTable table{{}, {"id", "GPU", "capacity", "compute capability"}, {false, false, true, true}, {}};
    for (const Gpu &gpu : gpus())
        table.rows.push_back({gpu.id, gpu.vendor + " " + gpu.title(), formatBytes(gpu.capacity, unit), computeCapability(gpu)});
    return fmt::format("{}\n{} GPUs. A plan names them in gpus, the command line with --gpu ID.\n", formatTable(table), table.rows.size());
}

} // namespace

int runPresets(bool json)
{
    Output output;
    output.write(json ? presetsJson() + '\n' : presetsText());
    return output.finish(Success);
}

int runGpus(bool json, ByteUnit unit)
{
    Output output;
    output.write(json ? gpusJson() + '\n' : gpusText(unit));
    return output.finish(Success);
}

} // namespace headroom::cli
