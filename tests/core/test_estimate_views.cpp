// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/plan_spread.h"

#include "core/estimate/outside.h"
#include "core/hardware/gpu.h"

#include <QtTest>

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace headroom;
using planspread::addRows;
using planspread::estimated;
using planspread::NamedPlan;
using planspread::set;
using planspread::smallPlan;
using Json = nlohmann::json;
using Step = Estimate::Step;

namespace {

const Peak &peakOf(const Estimate &e, Step step) { return step == Step::First ? e.firstStep : e.peak; }

void checkRows(const BreakdownRow &parent)
{
    if (parent.children.empty())
        return;
    Bytes sum;
    std::int64_t count = 0;
    for (const BreakdownRow &row : parent.children) {
        QVERIFY(row.bytes > Bytes{0} && row.count > 0 && !row.label.empty());
        QVERIFY(row.component == parent.component);
        sum += row.bytes;
        count += row.count;
        checkRows(row);
        if (row.children.empty()) {
            QVERIFY2(!row.rule.empty() && row.rule.ends_with('.'), row.label.c_str());
            QVERIFY2(!row.source.empty(), row.label.c_str());
        }
    }
    QCOMPARE(sum, parent.bytes);
    QCOMPARE(count, parent.count);
    QVERIFY(std::is_sorted(parent.children.begin(), parent.children.end(),
                           [](const BreakdownRow &a, const BreakdownRow &b) { return a.bytes > b.bytes; }));
}

/// The keys of the format, with the JSON type of each value.
using Keys = std::vector<std::pair<const char *, Json::value_t>>;
constexpr auto number = Json::value_t::number_integer;
constexpr auto text = Json::value_t::string;
constexpr auto object = Json::value_t::object;
constexpr auto list = Json::value_t::array;

void checkKeys(const Json &json, const Keys &keys)
{
    QVERIFY(json.is_object());
    for (const auto &[key, type] : keys) {
        QVERIFY2(json.contains(key), key);
        const bool right = type == number ? json[key].is_number_integer() : json[key].type() == type;
        QVERIFY2(right, key);
    }
    QCOMPARE(json.size(), keys.size());
}

/// A plan for one GPU whose capacity may be chosen: the catalogue's, with the model's size as the variable.
TrainingPlan onGpu(const std::string &gpu)
{
    TrainingPlan plan;
    plan.model.preset = "Qwen/Qwen2.5-0.5B";
    plan.batch.sequenceLength = 512;
    plan.gpus = {gpu};
    return plan;
}

} // namespace

/// The last of three steps, event by event: bytes, and reserved after each.
std::vector<std::pair<std::int64_t, std::int64_t>> lastStep(const StepRecord &record)
{
    const EventRange range = record.step(record.steps() - 1);
    std::vector<std::pair<std::int64_t, std::int64_t>> out;
    for (std::uint32_t i = range.from; i < range.to; ++i) {
        const auto event = record.trace().events[i];
        const std::int64_t bytes = record.bytes(event.storage).value;
        out.push_back({event.release ? -bytes : bytes, record.reservedAfter(i).value});
    }
    return out;
}

/// The breakdown, the timeline, what is alive, the JSON document, and the verdict for each GPU.
class TestEstimateViews : public QObject
{
    Q_OBJECT

private:
    std::vector<NamedPlan> m_plans;

private slots:
    /// A third step is left out where the allocator would do the second's all over again: with it, all is the same.
    void theStepLeftOutIsTheOneBefore()
    {
        std::vector<NamedPlan> plans = planspread::spread();
        // ZeRO-3 leaves what the next step replaces.
        plans.push_back({"zero-3", smallPlan()});
        for (const auto &[path, value] : {std::pair{"precision.recipe", "bf16-master"},
                                          {"parallel.engine", "deepspeed"},
                                          {"parallel.zero_stage", "3"},
                                          {"parallel.data", "2"}})
            set(plans.back().plan, path, value);
        for (const NamedPlan &named : plans) {
            const auto e = estimated(named.plan);
            const auto whole = recordOfSteps(*e, 3);
            QCOMPARE(whole->steps(), 3);
            QCOMPARE(e->record->steps(), 2);
            QVERIFY2(lastStep(*e->record) == lastStep(*whole), named.name.constData());
            QCOMPARE(e->record->steady().allocated, whole->steady().allocated);
            for (std::size_t p = 0; p < phaseCount; ++p) {
                const PhasePeak peak = whole->phasePeak(2, static_cast<Phase>(p));
                QCOMPARE(e->phases[p].allocated, peak.allocated);
                QCOMPARE(e->phases[p].reserved, peak.reserved);
            }
        }
    }

    void initTestCase() { m_plans = planspread::spread(); }

    // -- breakdown

    void breakdownSumsToTheComponents_data() { addRows(m_plans); }
    void breakdownSumsToTheComponents()
    {
        QFETCH(const int, index);
        const auto e = estimated(m_plans[static_cast<std::size_t>(index)].plan);
        for (const Step step : {Step::First, Step::Steady}) {
            const std::vector<BreakdownRow> rows = e->breakdown(step);
            QCOMPARE(rows.size(), componentCount);
            for (const Component c : allComponents) {
                const BreakdownRow &row = rows[static_cast<std::size_t>(c)];
                QVERIFY(row.component == c);
                QCOMPARE(row.label, std::string(name(c)));
                QCOMPARE(row.bytes, peakOf(*e, step).components[c]);
                checkRows(row);
            }
        }
    }

    /// A student reads here why LoRA in fp32 without autocast needs more than full fine-tuning.
    void breakdownShowsTheAdaptersCopies()
    {
        TrainingPlan plan = smallPlan();
        set(plan, "method.kind", "lora");
        const auto e = estimated(plan);
        const std::vector<BreakdownRow> rows = e->breakdown(Step::Steady);
        const BreakdownRow &activations = rows[static_cast<std::size_t>(Component::Activations)];
        const auto adapters = std::find_if(activations.children.begin(), activations.children.end(),
                                           [](const BreakdownRow &r) { return r.label == "adapters"; });
        QVERIFY(adapters != activations.children.end());
        const auto copies = std::find_if(adapters->children.begin(), adapters->children.end(),
                                         [](const BreakdownRow &r) { return r.label == "fp32 copy of an adapted Linear's input"; });
        QVERIFY(copies != adapters->children.end());
        QCOMPARE(copies->dtype, std::string("float32"));
        set(plan, "precision.autocast", "bfloat16");
        QVERIFY(estimated(plan)->savedActivations < e->savedActivations);
    }

    // -- timeline

    void timelineKeepsThePeakAtAnyThinning_data() { addRows(m_plans); }
    void timelineKeepsThePeakAtAnyThinning()
    {
        QFETCH(const int, index);
        const auto e = estimated(m_plans[static_cast<std::size_t>(index)].plan);
        for (const Step step : {Step::First, Step::Steady}) {
            for (const std::size_t samples : {std::size_t{1}, std::size_t{7}, std::size_t{100}, std::size_t{1000}, std::size_t{1} << 20}) {
                const Timeline t = e->timeline(step, samples);
                QVERIFY(!t.samples.empty() && t.samples.size() <= std::max<std::size_t>(samples, 1));
                QVERIFY(t.samples.size() <= t.events);
                const auto top = std::max_element(t.samples.begin(), t.samples.end(), [](const TimelineSample &a, const TimelineSample &b) {
                    return a.components.total() < b.components.total();
                });
                QCOMPARE(top->components.total(), peakOf(*e, step).allocated);
                QVERIFY(top->components == peakOf(*e, step).components || top->event != t.peakEvent);
                std::int64_t before = -1;
                for (const TimelineSample &s : t.samples) {
                    QVERIFY(std::int64_t{s.event} > before && s.event < t.events);
                    QVERIFY(s.components.total() <= s.reserved);
                    before = s.event;
                }
            }
            QVERIFY(e->timeline(step, 0).samples.empty());
        }
    }

    void timelineBandsCoverTheStep()
    {
        TrainingPlan plan = smallPlan();
        set(plan, "batch.gradient_accumulation", "2");
        const auto e = estimated(plan);
        const Timeline t = e->timeline(Step::Steady, 50);
        std::vector<std::string> names;
        std::uint32_t at = 0;
        for (const TimelineBand &band : t.phases) {
            QCOMPARE(band.from, at);
            QVERIFY(band.to > band.from);
            at = band.to;
            names.push_back(band.label);
        }
        QCOMPARE(at, t.events);
        QVERIFY(names == std::vector<std::string>({"forward", "loss", "backward", "forward", "loss", "backward", "optimizer"}));
        for (const TimelineBand &band : t.layers) {
            QVERIFY(band.label.starts_with("layer ") && band.to > band.from && band.to <= t.events);
        }
        QVERIFY(t.layers.size() >= 2 * 2 * 3);
    }

    /// Zooming cuts a stretch out of the whole.
    void timelineZooms()
    {
        const auto e = estimated(smallPlan());
        const Timeline whole = e->timeline(Step::Steady, SIZE_MAX);
        QCOMPARE(whole.samples.size(), std::size_t{whole.events});
        const Timeline part = e->timeline(Step::Steady, SIZE_MAX, 100, 140);
        QCOMPARE(part.samples.size(), std::size_t{40});
        QCOMPARE(part.events, whole.events);
        for (std::size_t i = 0; i < part.samples.size(); ++i) {
            QCOMPARE(part.samples[i].event, whole.samples[100 + i].event);
            QVERIFY(part.samples[i].components == whole.samples[100 + i].components);
            QCOMPARE(part.samples[i].reserved, whole.samples[100 + i].reserved);
        }
        QVERIFY(e->timeline(Step::Steady, 10, 5'000'000, 6'000'000).samples.empty());
        QVERIFY(e->timeline(Step::Steady, 10, 20, 10).samples.empty());
    }

    // -- alive

    void aliveSumsToAllocated_data() { addRows(m_plans); }
    void aliveSumsToAllocated()
    {
        QFETCH(const int, index);
        const auto e = estimated(m_plans[static_cast<std::size_t>(index)].plan);
        for (const Step step : {Step::First, Step::Steady}) {
            const Timeline t = e->timeline(step, 60);
            std::vector<std::optional<std::uint32_t>> events{std::nullopt};
            for (std::size_t i = 0; i < t.samples.size(); i += 9)
                events.push_back(t.samples[i].event);
            for (const std::optional<std::uint32_t> event : events) {
                ComponentBytes sum;
                const std::vector<AliveTensor> alive = e->alive(step, event);
                for (const AliveTensor &tensor : alive) {
                    QVERIFY(tensor.bytes > Bytes{0} && tensor.count > 0 && !tensor.label.empty());
                    sum[tensor.component] += tensor.bytes;
                }
                QVERIFY(std::is_sorted(alive.begin(), alive.end(),
                                       [](const AliveTensor &a, const AliveTensor &b) { return a.bytes > b.bytes; }));
                if (!event) {
                    QVERIFY(sum == peakOf(*e, step).components);
                } else {
                    const auto sample =
                        std::find_if(t.samples.begin(), t.samples.end(), [&](const TimelineSample &s) { return s.event == *event; });
                    QVERIFY(sum == sample->components);
                }
            }
        }
        QVERIFY(!e->alive(Step::Steady, UINT32_MAX).empty()); // beyond the end: its last event
    }

    // -- JSON

    void documentHasEveryKey()
    {
        TrainingPlan plan = onGpu("nvidia-rtx-4090-24gb");
        plan.name = "a name with \"quotes\" and \xe9\x80\x9a";
        const auto e = estimated(plan);
        const Json json = Json::parse(writeEstimate(*e));
        checkKeys(json, {{"headroom_estimate", number},
                         {"name", text},
                         {"parameters", object},
                         {"steady", object},
                         {"peak", object},
                         {"first_step", object},
                         {"saved_activations", number},
                         {"checkpointing", Json::value_t::null},
                         {"phases", list},
                         {"host", object},
                         {"band", object},
                         {"gpus", list},
                         {"notes", list}});
        QCOMPARE(json["headroom_estimate"].get<int>(), 1);
        QCOMPARE(json["name"].get<std::string>(), plan.name);
        checkKeys(json["parameters"], {{"total", number}, {"trainable", number}});
        checkKeys(json["steady"], {{"weights", number}, {"gradients", number}, {"optimizer", number}, {"allocated", number}});
        for (const char *key : {"peak", "first_step"}) {
            checkKeys(json[key],
                      {{"allocated", number}, {"reserved", number}, {"device", number}, {"phase", text}, {"components", object}});
            checkKeys(json[key]["components"],
                      {{"weights", number}, {"gradients", number}, {"optimizer", number}, {"activations", number}, {"temporary", number}});
        }
        checkKeys(json["host"], {{"steady", number}, {"peak", number}});
        QVERIFY(json["band"]["regime"].is_string());
        for (const char *key : {"allocated", "reserved", "device"})
            QVERIFY(json["band"].contains(key) && (json["band"][key].is_null() || json["band"][key].is_number()));
        std::vector<std::string> phases;
        for (const Json &phase : json["phases"]) {
            checkKeys(phase, {{"name", text}, {"allocated", number}, {"reserved", number}});
            phases.push_back(phase["name"]);
        }
        QVERIFY(phases == std::vector<std::string>({"load", "forward", "loss", "backward", "optimizer", "idle"}));
        QCOMPARE(json["gpus"].size(), std::size_t{1});
        for (const char *key : {"id", "verdict"})
            QVERIFY(json["gpus"][0][key].is_string());
        for (const char *key : {"capacity", "headroom", "allocated", "reserved", "device"})
            QVERIFY(json["gpus"][0][key].is_number_integer());
        QVERIFY(json["gpus"][0]["fits"].is_boolean());
        QVERIFY(!json["notes"].empty());
        for (const Json &note : json["notes"])
            checkKeys(note, {{"severity", text}, {"where", text}, {"text", text}});
        QCOMPARE(json["peak"]["allocated"].get<std::int64_t>(), e->peak.allocated.value);
        QCOMPARE(json["parameters"]["total"].get<std::int64_t>(), e->parametersTotal);
        QVERIFY(Json::parse(writeEstimate(*e, true)) == json);

        set(plan, "checkpointing", "full");
        const auto checkpointed = estimated(plan);
        const Json saved = Json::parse(writeEstimate(*checkpointed, false, Bytes{12345}))["checkpointing"];
        checkKeys(saved, {{"bytes_saved", number}, {"flops_recomputed", number}, {"flops_forward", number}});
        QCOMPARE(saved["bytes_saved"].get<std::int64_t>(), std::int64_t{12345});
        QCOMPARE(saved["flops_recomputed"].get<double>(), checkpointed->flopsRecomputed);
        QVERIFY(saved["flops_recomputed"] < saved["flops_forward"]);
        QVERIFY(Json::parse(writeEstimate(*checkpointed))["checkpointing"]["bytes_saved"].is_null()); // not asked for
        QVERIFY(writeEstimate(*e).find('\n') == std::string::npos);
    }

    // -- GPUs

    void everyGpuGetsAVerdict()
    {
        TrainingPlan plan = onGpu("nvidia-rtx-4090-24gb");
        plan.gpus.clear();
        for (const Gpu &gpu : gpus())
            plan.gpus.push_back(gpu.id);
        const auto e = estimated(plan);
        QCOMPARE(e->gpus.size(), gpus().size());
        for (std::size_t i = 0; i < e->gpus.size(); ++i) {
            const GpuEstimate &g = e->gpus[i];
            const Gpu &gpu = gpus()[i];
            QCOMPARE(g.id, gpu.id);
            QCOMPARE(g.capacity, gpu.capacity);
            QCOMPARE(g.headroom, g.capacity - g.device);
            QCOMPARE(g.fits, g.device <= g.capacity);
            const double margin = e->band.device.value_or(0) * double(g.device.value);
            const bool isTight = double(std::abs(g.headroom.value)) <= margin;
            QCOMPARE(g.verdict, isTight ? Verdict::Tight : g.fits ? Verdict::Fits : Verdict::DoesNotFit);
            QVERIFY(g.allocated <= g.reserved && g.reserved <= g.device);
        }
    }

    /// The figures of a GPU are the higher of first step and steady state.
    void firstStepCanDecide()
    {
        TrainingPlan plan = onGpu("nvidia-rtx-4090-24gb");
        set(plan, "optimizer.implementation", "foreach");
        const auto e = estimated(plan);
        QCOMPARE(e->gpus.at(0).device, std::max(e->peak.device, e->firstStep.device));
    }

    /// Close to its capacity the allocator gives back what it keeps before it gives up: device is what remains.
    void gpuThatJustFits_data()
    {
        QTest::addColumn<int>("length");
        QTest::addColumn<bool>("fitsAtOnce");
        QTest::addColumn<bool>("fits");
        QTest::newRow("with room") << 2048 << true << true;
        QTest::newRow("after the cache was released") << 6096 << false << true;
        QTest::newRow("not at all") << 12288 << false << false;
    }
    void gpuThatJustFits()
    {
        QFETCH(const int, length);
        QFETCH(const bool, fitsAtOnce);
        QFETCH(const bool, fits);
        TrainingPlan plan = onGpu("nvidia-rtx-4090-24gb");
        plan.model.preset = "meta-llama/Llama-3.2-1B";
        plan.batch.sequenceLength = length;
        set(plan, "method.kind", "lora");
        set(plan, "attention", "eager");
        set(plan, "checkpointing", "full");
        TrainingPlan anywhere = plan;
        anywhere.gpus.clear();
        const auto e = estimated(plan), unlimited = estimated(anywhere);
        const GpuEstimate &g = e->gpus.at(0);
        const Bytes outside = total(outsideOfPyTorch(plan, findGpu(plan.gpus[0])));
        const Bytes wanted = std::max(unlimited->peak.reserved, unlimited->firstStep.reserved) + outside;
        QCOMPARE(wanted <= g.capacity, fitsAtOnce);
        QCOMPARE(g.fits, fits);
        QCOMPARE(g.headroom >= Bytes{0}, fits);
        QCOMPARE(g.device, g.reserved + outside);
        // the plan's own figures are those on its first GPU, and no other GPU's
        QCOMPARE(g.device, std::max(e->peak.device, e->firstStep.device));
        QCOMPARE(g.reserved, std::max(e->peak.reserved, e->firstStep.reserved));
        QCOMPARE(g.allocated, std::max(e->peak.allocated, e->firstStep.allocated));
        TrainingPlan both = plan;
        both.gpus.push_back("nvidia-a100-sxm4-80gb");
        const auto wider = estimated(both);
        QCOMPARE(wider->peak.device, e->peak.device);
        const Bytes roomy = total(outsideOfPyTorch(both, findGpu(both.gpus[1])));
        QCOMPARE(wider->gpus.at(1).device, std::max(unlimited->peak.reserved, unlimited->firstStep.reserved) + roomy);
        if (fits) { // what PyTorch's tensors take is the same; only what is kept beside them changed
            const auto [low, high] = std::minmax(unlimited->peak.allocated, unlimited->firstStep.allocated);
            QVERIFY(g.allocated >= low - mib(1) && g.allocated <= high + mib(1));
            QCOMPARE(g.device < wanted, !fitsAtOnce);
        } else {
            QVERIFY(g.phase != Phase::Idle);
        }
    }

    /// Without a GPU: compute capability 8.0, and a note that says so.
    void withoutAGpu()
    {
        TrainingPlan plan = onGpu("");
        plan.gpus.clear();
        const auto e = estimated(plan);
        QVERIFY(e->gpus.empty());
        QVERIFY(std::any_of(e->notes.begin(), e->notes.end(),
                            [](const Note &n) { return n.text.find("compute capability 8.0") != std::string::npos; }));
        QCOMPARE(e->peak.device - e->peak.reserved, total(outsideOfPyTorch(plan, nullptr)));
    }

    /// Workspaces: two handles, of the size that the compute capability takes; the plan may leave them out.
    void workspacesFollowTheComputeCapability()
    {
        TrainingPlan plan = onGpu("nvidia-rtx-4090-24gb");
        set(plan, "runtime.allocator", "rounded");
        const Gpu *hopper = nullptr;
        for (const Gpu &gpu : gpus())
            if (gpu.computeMajor == 9)
                hopper = &gpu;
        QVERIFY(hopper != nullptr);
        QCOMPARE(cublasWorkspaceBytes(plan, findGpu("nvidia-rtx-4090-24gb")), std::int64_t{8519680}); // 8.125 MiB
        QCOMPARE(cublasWorkspaceBytes(plan, hopper), mib(32).value);
        const auto ada = estimated(plan);
        plan.gpus = {hopper->id};
        const auto withHopper = estimated(plan);
        QCOMPARE(withHopper->steady.allocated - ada->steady.allocated, Bytes{2 * (mib(32).value - 8519680)});
        set(plan, "runtime.cublas_workspace_bytes", "0");
        QCOMPARE(withHopper->steady.allocated - estimated(plan)->steady.allocated, mib(64));
    }
};

QTEST_APPLESS_MAIN(TestEstimateViews)
#include "test_estimate_views.moc"
