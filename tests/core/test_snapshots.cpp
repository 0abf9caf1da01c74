// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Memory snapshots of PyTorch: what is read of a converted one, what is refused, and how it is laid over a predicted step.
#include "core/measure/memory_timeline.h"
#include "core/measure/snapshot_overlay.h"

#include <QtTest>

#include <filesystem>
#include <fstream>

using namespace headroom;

namespace {

std::string smallTimeline(const std::string &piece = {}, const std::string &with = {})
{
    std::string text = R"({"headroom_memory_timeline": 1, "device": 0, "events": 3, "began_us": 1000,
 "at_start": {"allocated": 100, "reserved": 1000}, "at_end": {"allocated": 300, "reserved": 2000},
 "peak": {"allocated": 500, "reserved": 2000}, "out_of_memory": 0,
 "time_us": [0, 5, 9], "allocated": [500, 200, 300], "reserved": [2000, 2000, 2000],
 "segments": [{"size": 2000, "allocated": 300, "stream": 0, "pool": "small", "expandable": false}]})";
    if (!piece.empty()) {
        const std::size_t at = text.find(piece);
        if (at == std::string::npos)
            qFatal("the piece to replace is not there");
        text.replace(at, piece.size(), with);
    }
    return text;
}

/// Events that each change what is allocated, one a microsecond from `began` on.
MemoryTimeline recorded(std::int64_t began, const std::vector<std::int64_t> &allocated)
{
    MemoryTimeline timeline;
    timeline.beganAt = began;
    timeline.events = static_cast<std::int64_t>(allocated.size());
    for (std::size_t i = 0; i < allocated.size(); ++i)
        timeline.points.push_back({static_cast<std::int64_t>(i), Bytes{allocated[i]}, Bytes{1000 + allocated[i]}});
    return timeline;
}

Timeline predicted(const std::vector<std::pair<const char *, std::uint32_t>> &phases)
{
    Timeline timeline;
    for (const auto &[label, events] : phases) {
        timeline.phases.push_back({label, timeline.events, timeline.events + events});
        timeline.events += events;
    }
    return timeline;
}

std::vector<double> eventsOf(const SnapshotOverlay &overlay)
{
    std::vector<double> events;
    for (const OverlayPoint &point : overlay.points)
        events.push_back(point.event);
    return events;
}

std::vector<std::int64_t> allocatedOf(const SnapshotOverlay &overlay)
{
    std::vector<std::int64_t> allocated;
    for (const OverlayPoint &point : overlay.points)
        allocated.push_back(point.allocated.value);
    return allocated;
}

} // namespace

class TestSnapshots : public QObject
{
    Q_OBJECT

private slots:
    void everyFigureIsRead()
    {
        const Result<MemoryTimeline> timeline = readMemoryTimeline(smallTimeline());
        QVERIFY2(timeline.ok(), timeline.ok() ? "" : toString(timeline.issue()).c_str());
        QCOMPARE(timeline->beganAt, std::int64_t{1000});
        QCOMPARE(timeline->allocatedBefore, Bytes{100});
        QCOMPARE(timeline->reservedBefore, Bytes{1000});
        QCOMPARE(timeline->allocatedMost, Bytes{500});
        QCOMPARE(timeline->points.size(), std::size_t{3});
        QVERIFY(timeline->points[1] == (MemoryTimeline::Point{5, Bytes{200}, Bytes{2000}}));
        QVERIFY(!timeline->isThinned());
    }

    void badTimelinesAreRefusedInPlace_data()
    {
        QTest::addColumn<QString>("piece");
        QTest::addColumn<QString>("with");
        QTest::addColumn<QString>("where");
        QTest::addColumn<QString>("says");
        QTest::newRow("newer") << "line\": 1"
                               << "line\": 2"
                               << "headroom_memory_timeline"
                               << "newer";
        QTest::newRow("a result") << "headroom_memory_timeline"
                                  << "headroom_probe"
                                  << "headroom_memory_timeline"
                                  << "result of the probe";
        QTest::newRow("another key") << "\"device\""
                                     << "\"devise\""
                                     << "devise"
                                     << "did you mean \"device\"";
        QTest::newRow("negative") << "[500, 200"
                                  << "[500, -200"
                                  << "allocated[1]"
                                  << "whole number";
        QTest::newRow("fraction") << "[0, 5"
                                  << "[0, 5.5"
                                  << "time_us[1]"
                                  << "whole number";
        QTest::newRow("too much") << "[500, 200"
                                  << "[500, 9000000000000000000"
                                  << "allocated[1]"
                                  << "whole number";
        QTest::newRow("unlike lengths") << "[0, 5, 9]"
                                        << "[0, 5]"
                                        << "time_us"
                                        << "2 entries, allocated 3";
        QTest::newRow("more than there are") << "\"events\": 3"
                                             << "\"events\": 2"
                                             << "events"
                                             << "fewer than the 3";
        QTest::newRow("no list") << "[0, 5, 9]"
                                 << "7"
                                 << "time_us"
                                 << "must be a list";
        QTest::newRow("missing") << "\"began_us\": 1000,"
                                 << ""
                                 << "began_us"
                                 << "missing";
    }
    void badTimelinesAreRefusedInPlace()
    {
        QFETCH(QString, piece);
        QFETCH(QString, with);
        QFETCH(QString, where);
        QFETCH(QString, says);
        const Result<MemoryTimeline> timeline = readMemoryTimeline(smallTimeline(piece.toStdString(), with.toStdString()));
        QVERIFY(!timeline);
        QCOMPARE(QString::fromStdString(timeline.issue().where), where);
        QVERIFY2(QString::fromStdString(toString(timeline.issue())).contains(says), toString(timeline.issue()).c_str());
        QVERIFY(!timeline.issue().hint.empty());
    }

    /// The two sides have the same bounds: what the Python side writes at most is read.
    void theLargestTimelineIsRead()
    {
        constexpr std::size_t most = 100'000; // MOST_POINTS and MOST_SEGMENTS of resources/probe/headroom_probe/snapshot.py
        std::string list = "[123456789012";
        for (std::size_t i = 1; i < most; ++i)
            list += ", 123456789012";
        list += ']';
        const std::string segment =
            R"({"size": 123456789012, "allocated": 123456789012, "stream": 12345678, "pool": "small", "expandable": false})";
        std::string segments = '[' + segment;
        for (std::size_t i = 1; i < most; ++i)
            segments += ", " + segment;
        segments += ']';
        std::string text = smallTimeline("[0, 5, 9]", list);
        for (const auto &[piece, with] : {std::pair<std::string, std::string>("[500, 200, 300]", list),
                                          {"[2000, 2000, 2000]", list},
                                          {"\"events\": 3", "\"events\": 100001"}})
            text.replace(text.find(piece), piece.size(), with);
        text.replace(text.find("[{"), std::string::npos, segments + '}');
        const Result<MemoryTimeline> timeline = readMemoryTimeline(text);
        QVERIFY2(timeline.ok(), timeline.ok() ? "" : toString(timeline.issue()).c_str());
        QCOMPARE(timeline->points.size(), most);
        QVERIFY(timeline->isThinned());
        text.replace(text.find("[123456789012"), 1, "[1, ");
        QVERIFY(!readMemoryTimeline(text));
    }

    void filesAreToldApart()
    {
        const QTemporaryDir folder;
        const auto file = [&](const char *name, const std::string &content) {
            const std::filesystem::path path = folder.filePath(name).toStdString();
            std::ofstream(path, std::ios::binary) << content;
            return measuredFileOf(path);
        };
        QVERIFY(file("a.headroom-timeline.json", "") == MeasuredFile::Timeline);
        QVERIFY(file("a.json", smallTimeline()) == MeasuredFile::Timeline);
        QVERIFY(file("a.headroom-probe.json", "") == MeasuredFile::Result);
        QVERIFY(file("b.json", " {\n \"headroom_probe\": 1") == MeasuredFile::Result);
        QVERIFY(file("a.pickle", "") == MeasuredFile::Snapshot);
        QVERIFY(file("snapshot", "\x80\x04\x95") == MeasuredFile::Snapshot);
        QVERIFY(file("c.json", "{\"headroom_plan\": 1}") == MeasuredFile::Other);
        QVERIFY(file("d.json", "") == MeasuredFile::Other);
        QVERIFY(measuredFileOf(folder.path().toStdString()) == MeasuredFile::Other);
        QVERIFY(measuredFileOf("/no/such/file") == MeasuredFile::Other);
    }

    // --- over the prediction ---

    void withMarksPhasesLieOverPhases()
    {
        // Step 1 is over before the recording begins; step 2: four events forward, one in the loss, two backward, none in the optimizer.
        const MemoryTimeline snapshot = recorded(100, {10, 20, 30, 40, 90, 50, 5});
        const std::vector<ProbeMark> marks = {{{}, Phase::Load, 1},       {0, Phase::Forward, 10}, {0, Phase::Idle, 50},
                                              {1, Phase::Forward, 99},    {1, Phase::Loss, 104},   {1, Phase::Backward, 105},
                                              {1, Phase::Optimizer, 107}, {1, Phase::Idle, 108}};
        QCOMPARE(recordedStep(snapshot, marks), std::optional<int>(1));
        const Timeline step = predicted({{"forward", 8}, {"loss", 4}, {"backward", 4}, {"optimizer", 2}, {"idle", 2}});
        const SnapshotOverlay overlay = layOver(step, Estimate::Step::Steady, snapshot, marks);
        QCOMPARE(overlay.step, std::optional<int>(1));
        QCOMPARE(eventsOf(overlay), (std::vector<double>{0, 2, 4, 6, 8, 12, 14, 16, 18, 20}));
        QCOMPARE(allocatedOf(overlay), (std::vector<std::int64_t>{10, 20, 30, 40, 90, 50, 5, 5, 5, 5}));
        QCOMPARE(overlay.allocatedMost, Bytes{90});
        QCOMPARE(overlay.reservedMost, Bytes{1090});
        QVERIFY(overlay.points.front().begins);
        QCOMPARE(std::count_if(overlay.points.begin(), overlay.points.end(), [](const OverlayPoint &p) { return p.begins; }), 1);
        QVERIFY2(overlay.rule.starts_with("step 2 of the run, phase over phase"), overlay.rule.c_str());
        // The same recording says nothing of a first step.
        const SnapshotOverlay first = layOver(step, Estimate::Step::First, snapshot, marks);
        QVERIFY(first.isOtherStep && first.points.empty());
    }

    void anEqualStepIsLaidEventOverEvent()
    {
        const MemoryTimeline snapshot = recorded(100, {10, 20, 10, 0});
        const std::vector<ProbeMark> marks = {{2, Phase::Forward, 100}, {2, Phase::Backward, 102}};
        const SnapshotOverlay overlay = layOver(predicted({{"forward", 2}, {"backward", 2}}), Estimate::Step::Steady, snapshot, marks);
        QCOMPARE(eventsOf(overlay), (std::vector<double>{0, 1, 2, 3, 4}));
    }

    void microBatchesBetweenAreLeftOut()
    {
        const MemoryTimeline snapshot = recorded(0, {1, 2, 3, 4, 5, 6});
        std::vector<ProbeMark> marks;
        for (int micro = 0; micro < 3; ++micro) {
            marks.push_back({2, Phase::Forward, 2 * micro});
            marks.push_back({2, Phase::Backward, 2 * micro + 1});
        }
        const Timeline step = predicted({{"forward", 1}, {"backward", 1}, {"forward", 1}, {"backward", 1}});
        const SnapshotOverlay overlay = layOver(step, Estimate::Step::Steady, snapshot, marks);
        QCOMPARE(allocatedOf(overlay), (std::vector<std::int64_t>{1, 2, 5, 6, 6}));
        QVERIFY2(overlay.rule.ends_with("; of 3 micro-batches the first one and the last"), overlay.rule.c_str());
    }

    void aPhaseThatDidNotRunLeavesAGap()
    {
        const MemoryTimeline snapshot = recorded(0, {1, 2});
        const std::vector<ProbeMark> marks = {{2, Phase::Forward, 0}, {2, Phase::Backward, 1}};
        const Timeline step = predicted({{"forward", 2}, {"loss", 2}, {"backward", 2}});
        const SnapshotOverlay overlay = layOver(step, Estimate::Step::Steady, snapshot, marks);
        QCOMPARE(eventsOf(overlay), (std::vector<double>{0, 2, 4, 6}));
        QVERIFY(overlay.points[2].begins);
    }

    void withoutMarksTheWholeCoversTheStep()
    {
        const MemoryTimeline snapshot = recorded(0, {1, 2, 3, 4});
        for (const std::vector<ProbeMark> &marks : {std::vector<ProbeMark>{}, std::vector<ProbeMark>{{0, Phase::Forward, 5000}}}) {
            QVERIFY(!recordedStep(snapshot, marks));
            for (const auto kind : {Estimate::Step::First, Estimate::Step::Steady}) {
                const SnapshotOverlay overlay = layOver(predicted({{"forward", 4}, {"backward", 4}}), kind, snapshot, marks);
                QCOMPARE(eventsOf(overlay), (std::vector<double>{0, 2, 4, 6, 8}));
                QVERIFY(overlay.rule.find("not known") != std::string::npos);
            }
        }
    }

    void segmentsTakeNoWidth()
    {
        MemoryTimeline snapshot = recorded(0, {10, 10, 20, 20});
        snapshot.points[1].reserved = Bytes{5000}; // a segment was taken, and given back before the next allocation
        snapshot.points[3].reserved = Bytes{7000};
        const SnapshotOverlay overlay = layOver(predicted({{"forward", 4}}), Estimate::Step::Steady, snapshot, {});
        QCOMPARE(eventsOf(overlay), (std::vector<double>{0, 2, 4}));
        QCOMPARE(overlay.points[1].reserved, Bytes{5000});
    }

    void nothingOverNothing()
    {
        QVERIFY(layOver({}, Estimate::Step::Steady, recorded(0, {1}), {}).points.empty());
        QVERIFY(layOver(predicted({{"forward", 4}}), Estimate::Step::Steady, {}, {}).points.empty());
    }

    void thinningKeepsTheHighest()
    {
        std::vector<OverlayPoint> points;
        for (int i = 0; i < 1000; ++i)
            points.push_back({double(i), Bytes{i == 777 ? 5000 : i % 10}, Bytes{6000 - i}, i == 0});
        const auto all = thinned(points, 0, 1000, 50);
        QCOMPARE(all.size(), std::size_t{50});
        QCOMPARE(
            std::max_element(all.begin(), all.end(), [](const auto &a, const auto &b) { return a.allocated < b.allocated; })->allocated,
            Bytes{5000});
        // What holds before the part is kept, what comes after it is not.
        const auto part = thinned(points, 100.5, 110, 50);
        QCOMPARE(part.front().event, 100.0);
        QCOMPARE(part.back().event, 110.0);
        QVERIFY(thinned(points, 5, 5, 50).empty() && thinned(points, 0, 10, 0).empty());
    }
};

QTEST_APPLESS_MAIN(TestSnapshots)
#include "test_snapshots.moc"
