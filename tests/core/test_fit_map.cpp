// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The map of what fits: every cell against the estimate of its own plan.
#include "core/solve/fit_map.h"
#include "tests/core/plan_spread.h"

#include <nlohmann/json.hpp>

#include <QTest>

using namespace headroom;
using namespace planspread;

namespace {

constexpr const char *gpu24 = "nvidia-rtx-4090-24gb";

/// Compares each cell with estimate(); the number of those that fit.
int compareCells(const TrainingPlan &plan, const FitMap &map)
{
    int fitting = 0;
    for (std::size_t row = 0; row < map.microBatches.size(); ++row) {
        for (std::size_t column = 0; column < map.sequenceLengths.size(); ++column) {
            TrainingPlan one = plan;
            one.gpus = {map.gpu};
            one.batch.microBatch = map.microBatches[row];
            one.batch.sequenceLength = map.sequenceLengths[column];
            const std::optional<FitMap::Cell> &cell = map.at(row, column);
            const auto expected = estimate(one);
            if (cell.has_value() != expected.ok())
                QTest::qFail("a cell can be estimated by one and not by the other", __FILE__, __LINE__);
            if (!cell || !expected)
                continue;
            const GpuEstimate &gpu = (*expected)->gpus.front();
            if (cell->device != gpu.device || cell->fits != gpu.fits)
                QTest::qFail(qPrintable(QString("%1 x %2: %3 (%4) instead of %5 (%6)")
                                            .arg(one.batch.microBatch)
                                            .arg(one.batch.sequenceLength)
                                            .arg(cell->device.value)
                                            .arg(cell->fits)
                                            .arg(gpu.device.value)
                                            .arg(gpu.fits)),
                             __FILE__, __LINE__);
            fitting += cell->fits;
        }
    }
    return fitting;
}

} // namespace

class TestFitMap : public QObject
{
    Q_OBJECT

private slots:
    void cellsAreEstimates_data() { addRows(spread()); }
    void cellsAreEstimates();
    void cellsNearTheLimit_data();
    void cellsNearTheLimit();
    void loadingThatDoesNotFit();
    void sizesThatAreNoLines();
    void fewRows();
    void cellsThatCannotBeEstimated();
    void valuesAreOrdered();
    void refusals();
    void cancels();
    void writesJson();
};

void TestFitMap::cellsAreEstimates()
{
    QFETCH(int, index);
    const TrainingPlan plan = spread()[static_cast<std::size_t>(index)].plan;
    const auto map = fitMap(plan, gpu24, {1, 2, 3, 5, 6, 7, 8, 11}, {1, 200});
    QVERIFY2(map.ok(), map ? "" : toString(map.issue()).c_str());
    QCOMPARE(map->cells.size(), std::size_t{16});
    QCOMPARE(compareCells(plan, *map), 16); // small models
    // Liger's loss is worked out in chunks, as many as the tokens come to: there are no lines.
    if (plan.kernels != Kernels::Liger)
        QVERIFY2(map->executed < 16, qPrintable(QString::number(map->executed)));
}

void TestFitMap::cellsNearTheLimit_data()
{
    QTest::addColumn<QByteArray>("json");
    const auto row = [](const char *name, const char *more) { QTest::newRow(name) << QByteArray(R"({"headroom_plan": 1, )") + more + "}"; };
    row("full", R"("model": {"preset": "Qwen/Qwen2.5-0.5B"})");
    row("expandable", R"("model": {"preset": "Qwen/Qwen2.5-0.5B"}, "runtime": {"expandable_segments": true})");
    row("lora", R"("model": {"preset": "Qwen/Qwen3-8B"}, "method": {"kind": "lora"}, "checkpointing": "full")");
    row("qlora", R"("model": {"preset": "meta-llama/Llama-3.1-8B"}, "method": {"kind": "qlora"}, "precision": {"autocast": "bfloat16"})");
    row("chunked loss", R"("model": {"preset": "Qwen/Qwen2.5-0.5B"}, "loss": "chunked")");
    row("liger", R"("model": {"preset": "Qwen/Qwen2.5-0.5B"}, "kernels": "liger", "loss": "fused-linear")");
    row("zero-3", R"("model": {"preset": "Qwen/Qwen2.5-0.5B"}, "precision": {"recipe": "bf16-master"},
                     "parallel": {"engine": "deepspeed", "data": 4, "zero_stage": 3})");
}

void TestFitMap::cellsNearTheLimit()
{
    QFETCH(QByteArray, json);
    const TrainingPlan plan = planOf(json.toStdString());
    const auto map = fitMap(plan, gpu24, {1, 2, 3, 4, 6, 8, 9, 16}, {500, 1024, 2048, 4096, 8192});
    QVERIFY2(map.ok(), map ? "" : toString(map.issue()).c_str());
    const int fitting = compareCells(plan, *map);
    QVERIFY2(fitting > 0 && fitting < 40, qPrintable(QString::number(fitting))); // the limit runs through the map
    if (plan.kernels != Kernels::Liger)
        QVERIFY2(map->executed < 40, qPrintable(QString::number(map->executed)));

    const auto whatFits = fitMap(plan, gpu24, map->microBatches, map->sequenceLengths, MapDetail::WhatFits);
    QVERIFY(whatFits.ok());
    int atLeast = 0;
    for (std::size_t i = 0; i < map->cells.size(); ++i) {
        QCOMPARE(whatFits->cells[i].has_value(), map->cells[i].has_value());
        if (!map->cells[i])
            continue;
        const FitMap::Cell &all = *map->cells[i], &cell = *whatFits->cells[i];
        QCOMPARE(cell.fits, all.fits);
        QVERIFY(cell.atLeast ? cell.device <= all.device && cell.device > whatFits->capacity : cell.device == all.device);
        atLeast += cell.atLeast;
    }
    QVERIFY(atLeast > 0);
}

/// A large tied vocabulary in 16 bits beside 4-bit layers: quantising needs more than short steps do, and the cache is given back
/// between them.
void TestFitMap::loadingThatDoesNotFit()
{
    TrainingPlan plan;
    plan.model = {{},
                  R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 42,
                      "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 256000, "tie_word_embeddings": true})",
                  {}};
    set(plan, "method.kind", "qlora");
    constexpr const char *gpu10 = "nvidia-rtx-3080-10gb";
    for (const MapDetail detail : {MapDetail::Device, MapDetail::WhatFits}) {
        const auto map = fitMap(plan, gpu10, {1}, {64}, detail);
        QVERIFY2(map.ok(), map ? "" : toString(map.issue()).c_str());
        QVERIFY(!map->at(0, 0)->fits);
        QVERIFY(map->at(0, 0)->device > map->capacity);
        if (detail == MapDetail::Device)
            QCOMPARE(compareCells(plan, *map), 0);
    }
    plan.batch.sequenceLength = 64;
    plan.gpus = {gpu10};
    const auto e = estimated(plan);
    QVERIFY(e->peak.device < e->gpus.front().capacity); // of the steps
    QVERIFY(!e->gpus.front().fits && e->gpus.front().verdict != Verdict::Fits);
    QCOMPARE(e->gpus.front().phase, Phase::Load);
    QVERIFY(e->gpus.front().headroom.value < 0);
}

/// In how many chunks the loss is worked out is no line over the micro-batch.
void TestFitMap::sizesThatAreNoLines()
{
    TrainingPlan plan = smallPlan("llama");
    set(plan, "loss", "fused-linear");
    set(plan, "kernels", "liger");
    const auto map = fitMap(plan, gpu24, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, {300, 341, 512});
    QVERIFY2(map.ok(), map ? "" : toString(map.issue()).c_str());
    QCOMPARE(compareCells(plan, *map), 39);
}

void TestFitMap::fewRows()
{
    const TrainingPlan plan = smallPlan("qwen3");
    for (const std::vector<std::int64_t> &rows : {std::vector<std::int64_t>{3}, {1, 9}, {1, 2, 3, 4}, {2, 5, 6, 7, 20}}) {
        const auto map = fitMap(plan, gpu24, rows, {128});
        QVERIFY2(map.ok(), map ? "" : toString(map.issue()).c_str());
        QCOMPARE(map->cells.size(), rows.size());
        QCOMPARE(compareCells(plan, *map), static_cast<int>(rows.size()));
    }
}

/// A chunked loss divides the tokens by eight.
void TestFitMap::cellsThatCannotBeEstimated()
{
    TrainingPlan plan = smallPlan();
    set(plan, "loss", "chunked");
    const auto map = fitMap(plan, gpu24, {1, 2, 3, 4, 5, 6}, {64, 129, 132});
    QVERIFY2(map.ok(), map ? "" : toString(map.issue()).c_str());
    QCOMPARE(compareCells(plan, *map), 6 + 0 + 3);
    QVERIFY(map->at(0, 0).has_value());
    QVERIFY(!map->at(5, 1).has_value());
    QVERIFY(!map->at(0, 2).has_value());
    QVERIFY(map->at(1, 2).has_value());
    QVERIFY(map->refusal.has_value());
    QCOMPARE(map->refusal->where, std::string("loss"));
}

void TestFitMap::valuesAreOrdered()
{
    const auto map = fitMap(smallPlan(), gpu24, {4, 1, 4, 2}, {256, 64});
    QVERIFY(map.ok());
    QCOMPARE(map->microBatches, (std::vector<std::int64_t>{1, 2, 4}));
    QCOMPARE(map->sequenceLengths, (std::vector<std::int64_t>{64, 256}));
    QVERIFY(map->at(0, 0)->device < map->at(2, 1)->device);
}

void TestFitMap::refusals()
{
    const TrainingPlan plan = smallPlan();
    const auto placeOf = [&](const TrainingPlan &of, const char *gpu, std::vector<std::int64_t> rows, std::vector<std::int64_t> lengths) {
        const auto map = fitMap(of, gpu, std::move(rows), std::move(lengths));
        return map ? std::string("none") : map.issue().where;
    };
    QCOMPARE(placeOf(plan, "abacus", {1}, {64}), std::string("gpus"));
    QCOMPARE(placeOf(plan, gpu24, {}, {64}), std::string("batch.micro_batch"));
    QCOMPARE(placeOf(plan, gpu24, {1}, {}), std::string("batch.sequence_length"));
    QCOMPARE(placeOf(plan, gpu24, {0}, {64}), std::string("batch.micro_batch"));
    QCOMPARE(placeOf(plan, gpu24, {1}, {-5}), std::string("batch.sequence_length"));
    std::vector<std::int64_t> many(400);
    for (std::size_t i = 0; i < many.size(); ++i)
        many[i] = static_cast<std::int64_t>(i + 1);
    QCOMPARE(placeOf(plan, gpu24, many, many), std::string("batch"));
    TrainingPlan chunked = plan;
    set(chunked, "loss", "chunked");
    QCOMPARE(placeOf(chunked, gpu24, {1, 3}, {63, 65}), std::string("loss"));
    TrainingPlan unknown;
    unknown.model = {"nobody/nothing", {}, {}};
    QCOMPARE(placeOf(unknown, gpu24, {1}, {64}), std::string("model.preset"));
}

void TestFitMap::cancels()
{
    std::stop_source source;
    source.request_stop();
    const auto map = fitMap(smallPlan(), gpu24, {1, 2}, {64, 128}, MapDetail::Device, source.get_token());
    QVERIFY(!map.ok());
    QCOMPARE(map.issue().what, std::string("cancelled"));
}

void TestFitMap::writesJson()
{
    TrainingPlan plan = smallPlan();
    set(plan, "loss", "chunked");
    const auto map = fitMap(plan, gpu24, {1, 2}, {128, 129});
    QVERIFY(map.ok());
    const nlohmann::json json = nlohmann::json::parse(writeFitMap(*map));
    QCOMPARE(json["gpu"].get<std::string>(), std::string(gpu24));
    QVERIFY(json["micro_batch"] == nlohmann::json({1, 2}));
    QVERIFY(json["sequence_length"] == nlohmann::json({128, 129}));
    QCOMPARE(json["device"].size(), std::size_t{2});
    QCOMPARE(json["device"][1][0].get<std::int64_t>(), map->at(1, 0)->device.value);
    QVERIFY(json["device"][0][1].is_null());
    QCOMPARE(json["fits"][0][0].get<bool>(), true);
    QVERIFY(json["fits"][1][1].is_null());
}

QTEST_APPLESS_MAIN(TestFitMap)
#include "test_fit_map.moc"
