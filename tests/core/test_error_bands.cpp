// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/error_band.h"
#include "core/plan/plan_json.h"
#include "core/units/strict_json.h"

#include <QtTest>

using namespace headroom;

namespace {

TrainingPlan planOf(const char *json)
{
    const Result<TrainingPlan> plan = readPlan(json);
    return plan ? *plan : TrainingPlan{};
}

} // namespace

/// The error bands that ship with the program, and what becomes of them.
class TestErrorBands : public QObject
{
    Q_OBJECT

private slots:
    void regimeIsMethodAndEngine_data()
    {
        QTest::addColumn<QByteArray>("plan");
        QTest::addColumn<QString>("regime");
        QTest::addColumn<bool>("isMeasured");
        const QByteArray head = R"({"headroom_plan": 1, "model": {"preset": "Qwen/Qwen3-8B"})";
        QTest::newRow("full") << head + "}"
                              << "full-single" << true;
        QTest::newRow("lora") << head + R"(, "method": {"kind": "lora"}})"
                              << "lora-single" << true;
        QTest::newRow("qlora") << head + R"(, "method": {"kind": "qlora"}})"
                               << "qlora-single" << true;
        QTest::newRow("zero-3") << head + R"(, "parallel": {"engine": "deepspeed", "data": 8, "zero_stage": 3}})"
                                << "full-zero3" << true;
        QTest::newRow("zero, stage left out") << head + R"(, "parallel": {"engine": "deepspeed", "data": 8}})"
                                              << "full-zero0" << false;
        QTest::newRow("lora, ddp") << head + R"(, "method": {"kind": "lora"}, "parallel": {"engine": "ddp", "data": 2}})"
                                   << "lora-ddp" << false;
        QTest::newRow("traces have no error of a GPU") << head + R"(, "runtime": {"allocator": "rounded"}})"
                                                       << "full-single" << false;
        QTest::newRow("another stack") << head + R"(, "stack": "torchtitan"})"
                                       << "full-single" << false;
    }
    void regimeIsMethodAndEngine()
    {
        QFETCH(const QByteArray, plan);
        QFETCH(const QString, regime);
        QFETCH(const bool, isMeasured);
        const TrainingPlan read = planOf(plan.constData());
        QVERIFY(!read.model.preset.empty());
        QCOMPARE(QString::fromStdString(regimeOf(read)), regime);
        const Band band = errorBand(read);
        QCOMPARE(QString::fromStdString(band.regime), isMeasured ? regime : QStringLiteral("unvalidated"));
        QCOMPARE(band.allocated || band.reserved || band.device, isMeasured);
        for (const auto &figure : {band.allocated, band.reserved, band.device})
            QVERIFY(!figure || (*figure >= 0 && *figure < 1));
    }

    void estimateCarriesIt()
    {
        const auto e = estimate(planOf(R"({"headroom_plan": 1, "model": {"preset": "Qwen/Qwen2.5-0.5B"}})"));
        QVERIFY(e.ok());
        QVERIFY((*e)->band.allocated);
        const Result<JsonValue> json = parseJson(writeEstimate(**e));
        QVERIFY(json.ok());
        QCOMPARE(QString::fromStdString(*json->find("band")->find("regime")->string()), QString("full-single"));
        QCOMPARE(*json->find("band")->find("allocated")->number(), *(*e)->band.allocated);
        QVERIFY(json->find("band")->find("reserved")->isNull());
    }

    /// Around the capacity, as far as the band reaches, the verdict is "tight" and no further.
    void tightWithinTheBand()
    {
        TrainingPlan plan = planOf(R"({"headroom_plan": 1, "model": {"preset": "Qwen/Qwen2.5-0.5B"}, "gpus": ["nvidia-rtx-3060-12gb"]})");
        QVERIFY(!plan.gpus.empty());
        int tight = 0;
        for (plan.batch.sequenceLength = 512; plan.batch.sequenceLength <= 6144; plan.batch.sequenceLength += 128) {
            const auto e = estimate(plan);
            QVERIFY(e.ok());
            const GpuEstimate &gpu = (*e)->gpus.front();
            const double margin = (*e)->band.device.value() * double(gpu.device.value);
            const bool isWithin = double(std::abs(gpu.headroom.value)) <= margin;
            QCOMPARE(gpu.verdict == Verdict::Tight, isWithin);
            QCOMPARE(gpu.fits, gpu.headroom >= Bytes{0});
            tight += isWithin ? 1 : 0;
        }
        QVERIFY(tight > 0);
    }
};

QTEST_APPLESS_MAIN(TestErrorBands)
#include "test_error_bands.moc"
