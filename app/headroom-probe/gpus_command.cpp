// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-cli/text_table.h"
#include "app/headroom-probe/commands.h"
#include "app/headroom-probe/driver.h"
#include "app/headroom-probe/messages.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headroom::probe {

int runGpus(bool json, ByteUnit unit)
{
    const Result<Nvml> nvml = Nvml::open();
    const Result<Cuda> cuda = nvml ? Cuda::open() : Result<Cuda>(nvml.issue());
    const Result<std::vector<DeviceInfo>> devices = cuda ? nvml->devices() : Result<std::vector<DeviceInfo>>(cuda.issue());
    if (!devices) {
        complain(toString(devices.issue()));
        return NotAvailable;
    }
    if (devices->empty()) {
        complain("the driver knows no GPU (is it given to this machine or container?)");
        return NotAvailable;
    }
    if (json) {
        nlohmann::ordered_json list = nlohmann::ordered_json::array();
        for (const DeviceInfo &device : *devices)
            list.push_back({{"index", device.index},
                            {"name", device.name},
                            {"capacity", device.capacity.value},
                            {"free", device.free.value},
                            {"compute_capability", fmt::format("{}.{}", device.computeMajor, device.computeMinor)}});
        const nlohmann::ordered_json document = {{"driver", nvml->driverVersion()}, {"cuda", cuda->version()}, {"gpus", std::move(list)}};
        return print(document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n") ? Success : NotAvailable;
    }
    ReportTable table{{}, {"GPU", "Name", "Capacity", "Free", "Compute capability"}, {true, false, true, true, true}, {}};
    for (const DeviceInfo &device : *devices)
        table.rows.push_back({std::to_string(device.index), device.name, formatBytes(device.capacity, unit), formatBytes(device.free, unit),
                              fmt::format("{}.{}", device.computeMajor, device.computeMinor)});
    const std::string text = fmt::format("Driver {}, CUDA {}\n\n{}", nvml->driverVersion(), cuda->version(), cli::formatTable(table));
    return print(text) ? Success : NotAvailable;
}

} // namespace headroom::probe
