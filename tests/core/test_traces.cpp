// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/trace_difference.h"

#include "core/estimate/step_record.h"
#include "core/plan/plan_json.h"
#include "core/training/step.h"

#include <QtTest>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <fstream>
#include <map>

using namespace headroom;
using namespace headroom::autograd;
using Json = nlohmann::json;

namespace {

constexpr std::int64_t blockBytes = 512;

/// An allocation, in the words of the trace. tests/data/traces/README.md describes the file.
struct Birth {
    std::int64_t bytes = 0, live = 0; ///< live: after it
    std::string phase, module, op, shape, dtype;

    std::string text() const
    {
        return fmt::format("{} bytes, {} live, {}, module \"{}\", {} {} {}", bytes, live, phase, module, op, shape, dtype);
    }
};

bool isKernelBuffer(const std::string &op) { return op.find("(kernel buffer)") != std::string::npos; }

/// Modules are for the message: the tracer knows none while loading and in backward. Buffers inside a kernel are counted
/// by formula and have no shape.
bool equal(const Birth &a, const Birth &b)
{
    return a.bytes == b.bytes && a.live == b.live && a.phase == b.phase && a.op == b.op &&
           (isKernelBuffer(a.op) || (a.shape == b.shape && a.dtype == b.dtype));
}

/// A line of a file of traces, with the texts that its numbers refer to.
struct PackedTrace {
    Json document;
    std::shared_ptr<const Json> texts;
};

std::vector<PackedTrace> readTraces()
{
    std::vector<PackedTrace> traces;
    for (const char *file : {"traces.jsonl", "families.jsonl", "methods.jsonl", "liger.jsonl", "gptq.jsonl", "experts.jsonl",
                             "rotary.jsonl", "gpt_oss.jsonl", "selective.jsonl", "moe_adapters.jsonl", "embedding_adapters.jsonl",
                             "decoders.jsonl", "more_decoders.jsonl", "older_decoders.jsonl", "random_plans.jsonl"}) {
        std::ifstream in(std::string(HEADROOM_SOURCE_DIR "/tests/data/traces/") + file);
        std::shared_ptr<const Json> texts;
        for (std::string line; std::getline(in, line);) {
            Json document = Json::parse(line);
            if (texts)
                traces.push_back({std::move(document), texts});
            else if (document["headroom_traces"] == 1)
                texts = std::make_shared<const Json>(document["texts"]);
        }
    }
    return traces;
}

std::vector<Birth> expectedBirths(const Json &trace, const Json &texts)
{
    const auto text = [&](const Json &index) { return texts.at(index.get<std::size_t>()).get<std::string>(); };
    std::vector<Birth> kinds;
    for (const Json &kind : trace["kinds"])
        kinds.push_back(
            {kind[0].get<std::int64_t>() * blockBytes, 0, text(kind[1]), text(kind[2]), text(kind[3]), text(kind[4]), text(kind[5])});
    std::vector<Birth> births;
    std::int64_t live = 0;
    std::istringstream in(trace["births"].get<std::string>());
    for (std::string word; in >> word;) {
        const std::size_t colon = word.find(':');
        if (colon != std::string::npos)
            live -= std::stoll(word.substr(colon + 1)) * blockBytes;
        Birth &birth = births.emplace_back(kinds.at(std::stoull(word.substr(0, colon))));
        live += birth.bytes;
        birth.live = live;
    }
    return births;
}

/// Of "outer > inner", an operator that a library's own code runs inside another, the inner one.
std::string innermost(std::string_view op)
{
    const std::size_t arrow = op.rfind(" > ");
    return std::string(arrow == std::string_view::npos ? op : op.substr(arrow + 3));
}

Birth describe(const StepRecord &record, StorageId id, bool adapted)
{
    const StorageRecord &storage = record.trace().storages[id];
    std::string module = adapted ? "base_model.model." : "";
    if (storage.layer >= 0)
        module += fmt::format("model.layers.{}{}", storage.layer, *storage.module ? "." : "");
    module += storage.module;
    return {record.bytes(id).value, 0, {}, module, innermost(storage.op), toString(storage.shape), std::string(name(storage.dtype))};
}

/// Loading and two steps: the third repeats the second.
std::vector<Birth> producedBirths(const StepRecord &record, bool adapted)
{
    std::vector<Birth> births;
    std::int64_t live = 0;
    for (std::uint32_t i = 0; i < record.step(1).to; ++i) {
        const Event event = record.trace().events[i];
        const std::int64_t bytes = record.bytes(event.storage).value;
        live += event.release ? -bytes : bytes;
        if (event.release)
            continue;
        Birth &birth = births.emplace_back(describe(record, event.storage, adapted));
        birth.live = live;
        birth.phase = name(static_cast<Phase>(record.phaseOf(i)));
    }
    return births;
}

/// Equal saved tensors, and how many of each.
using Saved = std::map<std::string, int>;

std::string savedText(std::int64_t bytes, const std::string &op, const std::string &shape)
{
    return fmt::format("{} bytes, {} {}", bytes, op, shape);
}

} // namespace

/// The engine executes what PyTorch executes: allocation by allocation, in PyTorch's order and with PyTorch's lifetimes.
/// The traces are PyTorch's own (its dispatcher, autograd engine, checkpointing and optimizers on fake tensors).
class TestTraces : public QObject
{
    Q_OBJECT

private:
    std::vector<PackedTrace> m_traces;
    std::map<int, int> m_copiedFrom; ///< runs by the layers that they were made from

    void addRows()
    {
        QTest::addColumn<int>("line");
        for (std::size_t i = 0; i < m_traces.size(); ++i)
            QTest::newRow(m_traces[i].document["name"].get<std::string>().c_str()) << static_cast<int>(i);
    }

    /// The plan's run, every step and micro-batch executed (what an estimate copies instead is test_training's).
    static StepRecord execute(const TrainingPlan &plan)
    {
        const Result<ModelConfig> model = resolveModel(plan);
        if (!model)
            qFatal("%s", toString(model.issue()).c_str());
        const auto run = std::make_shared<const training::TrainingRun>(training::run(plan, *model, 3, 0, {}, training::Repeat::Execute));
        Replay replayed = replay(run->trace, {}, 0);
        return {{run, std::move(replayed)}, true, 0};
    }

    static TrainingPlan planOf(const Json &trace)
    {
        Result<TrainingPlan> plan = readPlan(trace["plan"].dump());
        if (!plan)
            qFatal("%s", toString(plan.issue()).c_str());
        return *std::move(plan);
    }

private slots:
    void cleanupTestCase()
    {
        if (m_copiedFrom.size() < 2)
            return; // a row alone
        // Four layers do nearly always; where they do not, six are tried, and then all are executed.
        QVERIFY(m_copiedFrom[4] > 200 && m_copiedFrom[6] > 0 && m_copiedFrom[0] > 0);
    }

    void initTestCase()
    {
        m_traces = readTraces();
        QVERIFY(m_traces.size() > 125);
    }

    void everyBirthIsPyTorchs_data() { addRows(); }
    void everyBirthIsPyTorchs()
    {
        QFETCH(const int, line);
        const Json &trace = m_traces[static_cast<std::size_t>(line)].document;
        const TrainingPlan plan = planOf(trace);
        const std::vector<Birth> expected = expectedBirths(trace, *m_traces[static_cast<std::size_t>(line)].texts);
        const std::vector<Birth> got = producedBirths(execute(plan), plan.method.kind != MethodKind::Full);
        QVERIFY(expected.size() > 100);
        for (std::size_t i = 0; i < std::min(expected.size(), got.size()); ++i)
            if (!equal(expected[i], got[i]))
                QFAIL(fmt::format("birth {} of {} is the first that differs\n  PyTorch:  {}\n  Headroom: {}\n  both before: {}", i,
                                  expected.size(), expected[i].text(), got[i].text(), i > 0 ? expected[i - 1].text() : "nothing")
                          .c_str());
        QCOMPARE(got.size(), expected.size());
    }

    void savedListIsPyTorchs_data() { addRows(); }
    void savedListIsPyTorchs()
    {
        QFETCH(const int, line);
        const PackedTrace &packed = m_traces[static_cast<std::size_t>(line)];
        const Json &trace = packed.document, &texts = *packed.texts;
        const StepRecord record = execute(planOf(trace));
        Saved expected, got;
        std::int64_t sum = 0;
        for (const Json &row : trace["saved"]) {
            const std::int64_t bytes = row[0].get<std::int64_t>() * blockBytes;
            sum += bytes;
            ++expected[savedText(bytes, texts.at(row[2].get<std::size_t>()), texts.at(row[3].get<std::size_t>()))];
        }
        for (const StorageId id : record.savedStorages()) {
            const Birth birth = describe(record, id, false);
            ++got[savedText(birth.bytes, birth.op, birth.shape)];
        }
        for (const auto &[text, count] : expected)
            if (got[text] != count)
                QFAIL(fmt::format("PyTorch saves {} of: {}; Headroom {}", count, text, got[text]).c_str());
        for (const auto &[text, count] : got)
            if (count > 0 && expected[text] != count)
                QFAIL(fmt::format("Headroom saves {} of: {}; PyTorch {}", count, text, expected[text]).c_str());
        QCOMPARE(record.savedActivations().value, sum);
    }

    /// Whatever the traces hold, made deeper: layers in the middle that are copies of one are what executing them gives.
    void copiedLayersAreExecutedLayers_data() { addRows(); }
    void copiedLayersAreExecutedLayers()
    {
        QFETCH(const int, line);
        TrainingPlan plan = planOf(m_traces[static_cast<std::size_t>(line)].document);
        plan.batch.gradientAccumulation = std::min<std::int64_t>(plan.batch.gradientAccumulation, 2); // as many as are executed
        ModelConfig model = *resolveModel(plan);
        model.layers = 9;
        for (std::vector<bool> *kinds : {&model.slidingLayers, &model.rotaryLayers, &model.denseLayers, &model.localLayers})
            if (!kinds->empty())
                kinds->assign(static_cast<std::size_t>(model.layers), kinds->back());
        const auto run = [&](training::Repeat repeat) {
            return training::run(plan, model, 2, tracedifference::workspaceBytes, {}, repeat);
        };
        const training::TrainingRun copied = run(training::Repeat::Copy), executed = run(training::Repeat::Execute);
        const std::string difference = tracedifference::firstDifference(copied.trace, executed.trace);
        QVERIFY2(difference.empty(), difference.c_str());
        QCOMPARE(copied.flopsForward, executed.flopsForward);
        QCOMPARE(copied.flopsAgain, executed.flopsAgain);
        QCOMPARE(copied.parametersTotal, executed.parametersTotal);
        QCOMPARE(copied.parametersTrainable, executed.parametersTrainable);
        ++m_copiedFrom[copied.executedGroups];
    }

    /// What torch.utils.flop_counter's formulas give for the operators of the last forward pass, and for those of its
    /// recomputation.
    void flopsAreFlopCounters_data()
    {
        QTest::addColumn<int>("line");
        for (std::size_t i = 0; i < m_traces.size(); ++i)
            if (m_traces[i].document.contains("flops"))
                QTest::newRow(m_traces[i].document["name"].get<std::string>().c_str()) << static_cast<int>(i);
    }
    void flopsAreFlopCounters()
    {
        QFETCH(const int, line);
        const Json &trace = m_traces[static_cast<std::size_t>(line)].document;
        const TrainingPlan plan = planOf(trace);
        const training::TrainingRun run = training::run(plan, *resolveModel(plan), 1, 0, {}, training::Repeat::Execute);
        QVERIFY(run.flopsForward > 0);
        QCOMPARE(run.flopsForward, trace["flops"]["forward"].get<double>());
        QCOMPARE(run.flopsAgain, trace["flops"]["recomputed"].get<double>());
    }
};

QTEST_APPLESS_MAIN(TestTraces)
#include "test_traces.moc"
