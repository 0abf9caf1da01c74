// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What a run asks of the device, and that the replay is the allocator driven event by event.
#include "plan_spread.h"

#include "core/estimate/segments.h"
#include "core/training/step_repeat.h"

#include <QtTest>

#include <algorithm>
#include <map>

using namespace headroom;

namespace {

/// The highest sum of what is taken; nothing where a segment is taken twice, or given back that was not taken, or otherwise than
/// it was.
std::optional<Bytes> highestSum(const SegmentPlan &plan)
{
    std::map<std::uint64_t, Bytes> taken;
    Bytes sum, highest;
    for (const SegmentEvent &event : plan.events) {
        if (event.bytes.value <= 0)
            return std::nullopt;
        if (event.taken) {
            if (!taken.emplace(event.address, event.bytes).second)
                return std::nullopt;
            sum += event.bytes;
        } else {
            const auto found = taken.find(event.address);
            if (found == taken.end() || found->second != event.bytes)
                return std::nullopt;
            sum = sum - event.bytes;
            taken.erase(found);
        }
        highest = std::max(highest, sum);
    }
    return highest;
}

constexpr Bytes withoutEnd{std::int64_t{1} << 50};

} // namespace

class TestSegments : public QObject
{
    Q_OBJECT

private slots:
    void segmentsAddUpToWhatIsReserved_data()
    {
        QTest::addColumn<bool>("expandable");
        QTest::newRow("segments") << false;
        QTest::newRow("expandable segments") << true;
    }
    void segmentsAddUpToWhatIsReserved()
    {
        QFETCH(bool, expandable);
        TrainingPlan plan = planspread::smallPlan();
        plan.runtime.expandableSegments = expandable;
        const auto estimate = planspread::estimated(plan);
        const SegmentPlan segments = segmentPlan(*estimate, withoutEnd);
        QVERIFY(!segments.shortage);
        const std::optional<Bytes> highest = highestSum(segments);
        QVERIFY(highest);
        QCOMPARE(segments.peak, *highest);
        // The run's highest is that of its steps, or of loading.
        QCOMPARE(segments.peak, std::max({estimate->peak.reserved, estimate->firstStep.reserved, estimate->phases[0].reserved}));
        QCOMPARE(segments.events.front().step, -1);
        QVERIFY(segments.events.front().phase == Phase::Load);
        // In the order of the run.
        for (std::size_t i = 1; i < segments.events.size(); ++i)
            QVERIFY(segments.events[i].step >= segments.events[i - 1].step);
        // c10's sizes (CUDACachingAllocator.cpp): segments of 2 and 20 MiB or multiples of 2 MiB.
        for (const SegmentEvent &event : segments.events)
            QCOMPARE(event.bytes.value % (2 << 20), std::int64_t{0});
    }

    void whereMemoryEndsItIsSaid()
    {
        const auto estimate = planspread::estimated(planspread::smallPlan());
        const SegmentPlan whole = segmentPlan(*estimate, withoutEnd);
        // Exactly enough is enough.
        const SegmentPlan exact = segmentPlan(*estimate, whole.peak);
        QVERIFY(!exact.shortage);
        QCOMPARE(exact.peak, whole.peak);
        // Far too little: while loading.
        const SegmentPlan loading = segmentPlan(*estimate, Bytes{4 << 20});
        QVERIFY(loading.shortage);
        QVERIFY(loading.shortage->phase == Phase::Load);
        QCOMPARE(loading.shortage->step, -1);
        QVERIFY(loading.peak.value <= 4 << 20);
        QVERIFY(loading.shortage->tried > loading.shortage->free);
        QCOMPARE(loading.shortage->free + loading.shortage->reserved, Bytes{4 << 20});
        // Enough to load, too little to train.
        Bytes loaded;
        for (const SegmentEvent &event : whole.events)
            if (event.step < 0)
                loaded += event.taken ? event.bytes : -event.bytes;
        const SegmentPlan training = segmentPlan(*estimate, loaded);
        QVERIFY(training.shortage);
        QCOMPARE(training.shortage->step, 0);
        QVERIFY(highestSum(training));
        QVERIFY(segmentPlan(*estimate, Bytes{-1}).shortage);
    }

    /// The last step done again, the log of segments and memory that comes to an end among it.
    void replayIsTheAllocatorDrivenByHand_data()
    {
        m_plans = planspread::spread();
        TrainingPlan split = planspread::smallPlan();
        planspread::set(split, "runtime.max_split_size_mb", "40");
        m_plans.push_back({"max_split_size_mb", split});
        // Large enough for segments of many sizes.
        for (const char *preset : {"Qwen/Qwen2.5-0.5B", "meta-llama/Llama-3.2-1B"})
            for (const char *method : {"full", "lora", "qlora"})
                for (const char *checkpointing : {"none", "full"})
                    for (const char *length : {"500", "2048", "5000"})
                        for (const char *microBatches : {"1", "2"}) {
                            TrainingPlan plan;
                            plan.model.preset = preset;
                            for (const auto &[path, value] : {std::pair{"method.kind", method},
                                                              {"checkpointing", checkpointing},
                                                              {"batch.sequence_length", length},
                                                              {"batch.gradient_accumulation", microBatches}})
                                planspread::set(plan, path, value);
                            m_plans.push_back(
                                {QByteArray(preset) + ' ' + method + ' ' + checkpointing + ' ' + length + ' ' + microBatches, plan});
                        }
        planspread::addRows(m_plans);
    }
    void replayIsTheAllocatorDrivenByHand()
    {
        QFETCH(const int, index);
        const TrainingPlan &plan = m_plans[static_cast<std::size_t>(index)].plan;
        const auto estimate = planspread::estimated(plan);
        const StepRecord &record = *estimate->record;
        const autograd::Trace &trace = record.trace();
        const auto &again = record.run()->lastStepReplaces;
        QVERIFY(again.has_value());
        AllocatorOptions options = allocatorOptions(plan);
        const Replay unlimited = replay(trace, options, record.workspaceBytes());
        const std::int64_t highest = unlimited.reserved.highest(0, static_cast<std::uint32_t>(trace.events.size()));
        for (const Bytes capacity : {options.capacity, Bytes{highest - 1}, Bytes{highest / 2}}) {
            options.capacity = capacity;
            SegmentLog log;
            const Replay replayed = replay(trace, options, record.workspaceBytes(), {}, &*again, &log);

            CachingAllocator allocator(options);
            std::vector<SegmentChange> changes;
            allocator.logSegments(&changes);
            std::vector<CachingAllocator::Block> blocks(trace.storages.size(), CachingAllocator::noBlock);
            std::vector<std::int64_t> blockBytes(trace.storages.size()), reserved(trace.events.size());
            std::vector<std::uint32_t> changedAt;
            std::optional<std::uint32_t> outOfMemory;
            const auto lastStep = training::lastStep(trace), size = static_cast<std::uint32_t>(trace.events.size());
            const auto drive = [&](std::uint32_t from, std::uint32_t to) {
                for (std::uint32_t i = from; i < to && !outOfMemory; ++i) {
                    if (std::find(trace.cacheReleases.begin(), trace.cacheReleases.end(), i) != trace.cacheReleases.end())
                        allocator.emptyCache();
                    const autograd::Event event = trace.events[i];
                    const autograd::StorageRecord &storage = trace.storages[event.storage];
                    if (event.release) {
                        allocator.release(blocks[event.storage]);
                    } else {
                        blocks[event.storage] = allocator.allocate(requestedBytes(storage, record.workspaceBytes()), storage.stream);
                        if (blocks[event.storage] == CachingAllocator::noBlock && allocator.outOfMemory()) {
                            outOfMemory = i;
                            return;
                        }
                        blockBytes[event.storage] = allocator.blockBytes(blocks[event.storage]);
                    }
                    changedAt.resize(changes.size(), i);
                    reserved[i] = allocator.reserved();
                }
            };
            drive(0, lastStep);
            const std::int64_t calls = allocator.deviceCalls();
            drive(lastStep, size);
            const bool takesSegments = allocator.deviceCalls() > calls;
            if (!outOfMemory) {
                for (const training::Replacement &replacement : *again)
                    blocks[replacement.taken] = blocks[replacement.left];
                drive(lastStep, size);
            }
            QVERIFY(replayed.outOfMemory == outOfMemory);
            const std::uint32_t end = outOfMemory.value_or(size);
            for (std::uint32_t i = 0; i < end; ++i)
                if (replayed.reserved.after(i) != reserved[i])
                    QFAIL(qPrintable(QString("event %1: %2 for %3").arg(i).arg(replayed.reserved.after(i)).arg(reserved[i])));
            QCOMPARE(replayed.reserved.highest(0, end), end == 0 ? 0 : *std::max_element(reserved.begin(), reserved.begin() + end));
            QVERIFY(replayed.blockBytes == blockBytes);
            QVERIFY(changes == log.changes && !changes.empty());
            QVERIFY(changedAt == log.events);
            QVERIFY(capacity.value != highest / 2 || outOfMemory.has_value());
            if (takesSegments && !outOfMemory)
                ++(replayed.lastStepIsSame ? m_shownToBeSame : m_drivenAgain);
        }
    }
    /// A step that finds a free block of 30 MiB, and takes a segment after it has used that: done again, the first request finds that
    /// segment instead where it fits better.
    void aLaterSegmentThatFitsBetterIsFoundTheNextTime_data()
    {
        QTest::addColumn<qint64>("segment");
        QTest::addColumn<bool>("isSame");
        QTest::newRow("it fits better") << qint64{12} << false;
        QTest::newRow("it is as large as the free block") << qint64{30} << true;
        QTest::newRow("it is larger") << qint64{40} << true;
        QTest::newRow("it is too small") << qint64{10} << true;
    }
    void aLaterSegmentThatFitsBetterIsFoundTheNextTime()
    {
        QFETCH(const qint64, segment);
        QFETCH(const bool, isSame);
        constexpr std::int64_t mebibyte = 1 << 20;
        autograd::Trace trace;
        const auto born = [&](std::int64_t mebibytes) {
            trace.storages.emplace_back().bytes = mebibytes * mebibyte;
            const auto id = static_cast<autograd::StorageId>(trace.storages.size() - 1);
            trace.events.push_back({id, 0});
            return id;
        };
        const auto dies = [&](autograd::StorageId id) { trace.events.push_back({id, 1}); };
        const auto stepBegins = [&](std::int16_t step) {
            trace.marks.push_back({static_cast<std::uint32_t>(trace.events.size()), autograd::TracePhase::Forward, step, 0});
        };
        stepBegins(0);
        dies(born(30));
        stepBegins(1);
        const autograd::StorageId first = born(11), rest = born(19), last = born(segment);
        for (const autograd::StorageId id : {first, rest, last})
            dies(id);
        const auto again = training::replacements(trace);
        QVERIFY(again && again->empty());
        const Replay replayed = replay(trace, {}, 0, {}, &*again);
        QCOMPARE(replayed.lastStepIsSame, isSame);
        // Of 12 MiB for 11 nothing is cut off, and the last request needs a second segment.
        QCOMPARE(replayed.blockBytes[first], (isSame ? 11 : 12) * mebibyte);
        const std::int64_t once = (30 + segment) * mebibyte;
        QCOMPARE(replayed.reserved.after(training::lastStep(trace)), once);
        QCOMPARE(replayed.reserved.after(static_cast<std::uint32_t>(trace.events.size() - 1)), isSame ? once : once + segment * mebibyte);
    }
    void cleanupTestCase()
    {
        if (m_shownToBeSame + m_drivenAgain > 100) // and not a row alone
            QVERIFY(m_shownToBeSame > 20 && m_drivenAgain > 20);
    }

private:
    std::vector<planspread::NamedPlan> m_plans;
    int m_shownToBeSame = 0, m_drivenAgain = 0; ///< last steps that take segments
};

QTEST_APPLESS_MAIN(TestSegments)
#include "test_segments.moc"
