// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/hardware/gpu.h"
#include "core/units/strict_json.h"

#include <QtTest>

#include <algorithm>
#include <filesystem>
#include <set>

using namespace headroom;

class TestHardware : public QObject
{
    Q_OBJECT

private slots:
    void everyGpuIsUsable()
    {
        QCOMPARE(gpus().size(), std::size_t{61});
        std::set<std::string> ids;
        for (const Gpu &gpu : gpus()) {
            QVERIFY2(ids.insert(gpu.id).second, gpu.id.c_str());
            QVERIFY2(!gpu.name.empty() && !gpu.architecture.empty() && !gpu.source.empty(), gpu.id.c_str());
            QVERIFY2(gpu.marketingGb >= 10 && gpu.marketingGb <= 288, gpu.id.c_str());
            // ECC takes a sixteenth; what torch's total is rounded up by is half a GiB.
            QVERIFY2(gpu.capacity >= Bytes{gib(gpu.marketingGb).value / 10 * 9} && gpu.capacity <= gib(gpu.marketingGb) + mib(500),
                     gpu.id.c_str());
            QVERIFY2(gpu.torchTotal <= gib(gpu.marketingGb), gpu.id.c_str());
            QCOMPARE(gpu.computeMajor > 0, gpu.vendor == "NVIDIA");
        }
    }

    /// The three sources of a capacity, in their order of trust.
    void capacities()
    {
        const Gpu *smi = findGpu("nvidia-rtx-4090-24gb");
        QVERIFY(smi != nullptr);
        QVERIFY(smi->capacitySource == CapacitySource::NvidiaSmi);
        QVERIFY(smi->capacity == mib(24564));
        QCOMPARE(smi->computeMajor, 8);
        QCOMPARE(smi->computeMinor, 9);
        QCOMPARE(smi->multiprocessors, 128);

        const Gpu *torch = findGpu("nvidia-rtx-3060-12gb");
        QVERIFY(torch != nullptr);
        QVERIFY(torch->capacitySource == CapacitySource::TorchTotal);
        QVERIFY(torch->capacity == mib(12011 + 500));

        const Gpu *sold = findGpu("nvidia-l40-48gb");
        QVERIFY(sold != nullptr);
        QVERIFY(sold->capacitySource == CapacitySource::Marketing);
        QVERIFY(sold->capacity == gib(48));
        QVERIFY(findGpu("nvidia-l40") == nullptr);
    }

    /// The size stands in the title once.
    void titles()
    {
        QCOMPARE(findGpu("nvidia-rtx-4090-24gb")->title(), std::string("RTX 4090 24 GB"));
        QCOMPARE(findGpu("nvidia-a100-sxm4-80gb")->title(), std::string("A100 80GB SXM4"));
    }

    void catalogueMatchesTheFacts()
    {
        const std::filesystem::path facts = std::filesystem::path(HEADROOM_SHARED) / "data" / "gpus.json";
        if (std::string_view(HEADROOM_SHARED).empty() || !std::filesystem::exists(facts))
            QSKIP("needs the folder of facts (HEADROOM_SHARED)");
        const Result<JsonValue> json = parseJson(readTextFile(facts).value());
        QVERIFY(json.ok());
        for (const JsonValue &fact : *json->find("gpus")->array()) {
            const std::string &id = *fact.find("id")->string();
            const Gpu *gpu = findGpu(id);
            QVERIFY2(gpu != nullptr, id.c_str());
            std::int64_t capacity = *fact.find("memory_gb_marketing")->wholeNumber() * 1024;
            if (const std::optional<std::int64_t> total = fact.find("smi_total_mib")->wholeNumber()) {
                capacity = *total;
            } else if (const auto &readings = *fact.find("torch_total")->array(); !readings.empty()) {
                capacity = 0;
                for (const JsonValue &reading : readings)
                    capacity = std::max(capacity, *reading.find("mib")->wholeNumber() + 500);
            }
            QVERIFY2(gpu->capacity == mib(capacity), id.c_str());
        }
    }
};

QTEST_APPLESS_MAIN(TestHardware)
#include "test_hardware.moc"
