// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/hardware/gpu.h"

#include "core/units/strict_json.h"
#include "embedded/gpus_json.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <vector>

namespace headroom {

namespace {

std::string textAt(const JsonValue &entry, std::string_view key)
{
    const JsonValue *value = entry.find(key);
    return value != nullptr && value->string() != nullptr ? *value->string() : std::string();
}

std::int64_t numberAt(const JsonValue &entry, std::string_view key)
{
    const JsonValue *value = entry.find(key);
    return value != nullptr ? value->wholeNumber().value_or(0) : 0;
}

/// "8.9" -> 8 and 9. AMD's names ("gfx942") are no compute capability.
void readComputeCapability(const std::string &text, Gpu &gpu)
{
    const auto point = text.find('.');
    if (point == std::string::npos)
        return;
    std::from_chars(text.data(), text.data() + point, gpu.computeMajor);
    std::from_chars(text.data() + point + 1, text.data() + text.size(), gpu.computeMinor);
}

CapacitySource capacitySource(const std::string &text)
{
    if (text == "nvidia-smi")
        return CapacitySource::NvidiaSmi;
    return text == "torch" ? CapacitySource::TorchTotal : CapacitySource::Marketing;
}

/// The file ships inside the program: what is wrong with it is our mistake, found by tests/core/test_hardware.cpp.
std::vector<Gpu> readGpus()
{
    const Result<JsonValue> file = parseJson(embedded::gpus_json);
    assert(file.ok());
    std::vector<Gpu> out;
    for (const JsonValue &entry : *file->find("gpus")->array()) {
        Gpu gpu;
        gpu.id = textAt(entry, "id");
        gpu.name = textAt(entry, "name");
        gpu.vendor = textAt(entry, "vendor");
        gpu.architecture = textAt(entry, "architecture");
        readComputeCapability(textAt(entry, "compute_capability"), gpu);
        gpu.multiprocessors = static_cast<int>(numberAt(entry, "multiprocessors"));
        gpu.marketingGb = static_cast<int>(numberAt(entry, "marketing_gb"));
        gpu.capacity = mib(numberAt(entry, "capacity_mib"));
        gpu.capacitySource = capacitySource(textAt(entry, "capacity_from"));
        gpu.torchTotal = mib(numberAt(entry, "torch_total_mib"));
        gpu.source = textAt(entry, "source");
        out.push_back(std::move(gpu));
    }
    return out;
}

} // namespace

std::string Gpu::title() const
{
    // Many names carry their size already: "A100 80GB SXM4".
    const std::string size = std::to_string(marketingGb);
    if (name.find(size + "GB") != std::string::npos || name.find(size + " GB") != std::string::npos)
        return name;
    return name + ' ' + size + " GB";
}

std::span<const Gpu> gpus()
{
    static const std::vector<Gpu> all = readGpus();
    return all;
}

const Gpu *findGpu(std::string_view id)
{
    const std::span<const Gpu> all = gpus();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Gpu &gpu) { return gpu.id == id; });
    return found == all.end() ? nullptr : &*found;
}

} // namespace headroom
