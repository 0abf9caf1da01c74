// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/method_estimates.h"

#include <QtTest>

using namespace headroom;
using namespace headroom::autograd;
using namespace headroom::test;

namespace {

constexpr const char *downOnly = R"(, "method": {"kind": "lora", "dora": true, "targets": ["down_proj"]})";
constexpr std::int64_t in = 4096, out = 1024, rank = 16, tokens = 4096;

} // namespace

class TestDora : public QObject
{
    Q_OBJECT

private slots:
    void oneMagnitudeForEachOutput()
    {
        const auto lora = estimateOf(R"(, "method": {"kind": "lora", "targets": ["down_proj"]})"), dora = estimateOf(downOnly);
        QVERIFY(lora && dora);
        QCOMPARE(lora->parametersTrainable, rank * (in + out));
        QCOMPARE(dora->parametersTrainable - lora->parametersTrainable, out);
        QCOMPARE(dora->parametersTotal - lora->parametersTotal, out);
    }

    void savesTheBasesAndTheAdaptersResult()
    {
        const auto lora = estimateOf(R"(, "method": {"kind": "lora", "targets": ["down_proj"]})"), dora = estimateOf(downOnly);
        QVERIFY(lora && dora);
        // the base's result in bf16, the adapter's in fp32; the norm, the scale and the scale less one. Nothing requires a
        // gradient before the adapter, so the scale less one is not kept for the base's
        const std::int64_t more = dora->savedActivations.value - lora->savedActivations.value;
        QCOMPARE(more, tokens * out * (2 + 4) + 2 * out * 4);
    }

    void identityOfTheInputsWidthAtEveryCall()
    {
        const auto dora = estimateOf(downOnly);
        QVERIFY(dora);
        const auto identity = [](const StorageRecord &s) { return std::string_view(s.op) == "aten.eye.default"; };
        QCOMPARE(countOf(*dora, identity), 3); // once a step
        QCOMPARE(bytesOf(*dora, identity), 3 * 4 * in * in);
        // none of it stays for backward
        for (const StorageId id : dora->record->savedStorages())
            QVERIFY(!identity(dora->record->trace().storages[id]));
    }

    void dropoutTakesTheBasesProductAgain()
    {
        const auto dropped = estimateOf(R"(, "method": {"kind": "lora", "dora": true, "targets": ["down_proj"], "dropout": 0.1})"),
                   plain = estimateOf(downOnly);
        QVERIFY(dropped && plain);
        const auto products = [](const StorageRecord &s) {
            return contains(s.module, "magnitude") && std::string_view(s.op) == "aten.mm.default" && s.phase == TracePhase::Forward;
        };
        QCOMPARE(countOf(*plain, products), 0);
        QCOMPARE(countOf(*dropped, products), 3);
    }

    void layersOfBothKindsRepeat()
    {
        for (const char *kind : {"lora", "qlora"})
            QVERIFY2(repeats(kind), kind);
    }

private:
    static bool repeats(const char *kind)
    {
        return layersRepeat(fmt::format(R"(, "method": {{"kind": "{}", "dora": true}}, "batch": {{"sequence_length": 64}})", kind),
                            smallLlama, 9);
    }
};

QTEST_APPLESS_MAIN(TestDora)
#include "test_dora.moc"
