// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/allocator/replay.h"

#include <QFile>
#include <QTest>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace headroom;
using nlohmann::json;

namespace {

constexpr std::int64_t operator""_MiB(unsigned long long n) { return static_cast<std::int64_t>(n << 20); }

/// A line with these events.
std::string lineWith(std::string_view events, std::string_view config = "{}")
{
    return fmt::format(R"({{"config": {}, "events": [{}]}})", config, events);
}

} // namespace

/// Event lists as replay-allocator gets them: PyTorch's own figures event by event, and bad input.
class TestAllocatorReplay : public QObject
{
    Q_OBJECT

private slots:
    void followsPyTorch_data();
    void followsPyTorch();
    void refusesOptions_data();
    void refusesOptions();
    void refusesLines_data();
    void refusesLines();
    void refusesDeepNesting();
    void refusesTruncatedLines();
    void refusesTooManyStreams();
    void endsAtOutOfMemory();
    void reusesReleasedIds();
};

void TestAllocatorReplay::followsPyTorch_data()
{
    QTest::addColumn<QByteArray>("line");
    const auto add = [](const QString &fileName, const char *prefix) {
        QFile file(fileName);
        QVERIFY2(file.open(QIODevice::ReadOnly), qPrintable(fileName));
        while (!file.atEnd()) {
            const QByteArray line = file.readLine();
            const json parsed = json::parse(line.constData());
            QTest::newRow((prefix + parsed.at("id").get<std::string>()).c_str()) << line;
        }
    };
    add(HEADROOM_SOURCE_DIR "/tests/core/data/allocator_sample.jsonl", "sample: ");
    // All lists, where they are kept beside the repository.
    const QString all = QString(HEADROOM_SHARED) + "/truth/allocator/cases.jsonl";
    if (QFile::exists(all))
        add(all, "all: ");
}

void TestAllocatorReplay::followsPyTorch()
{
    QFETCH(QByteArray, line);
    const json sequence = json::parse(line.constData());
    const json &expected = sequence.at("expect");

    const auto answer = replayAllocatorLine(json{{"config", sequence.at("config")}, {"events", sequence.at("events")}}.dump());
    QVERIFY2(answer.ok(), answer.ok() ? "" : toString(answer.issue()).c_str());
    const json got = json::parse(*answer);

    const json &after = expected.at("after");
    QCOMPARE(got.at("after").size(), after.size());
    for (std::size_t i = 0; i < after.size(); ++i) {
        if (got.at("after")[i] != after[i])
            QFAIL(fmt::format("event {}: {} for {}", i, got.at("after")[i].dump(), after[i].dump()).c_str());
    }
    for (const char *figure : {"peak_allocated", "peak_reserved", "retries", "out_of_memory"}) {
        // The beginning of a list has no count of retries of its own.
        if (expected.contains(figure))
            QCOMPARE(got.at(figure).dump(), expected.at(figure).dump());
    }
}

void TestAllocatorReplay::refusesOptions_data()
{
    QTest::addColumn<QString>("where");
    QTest::addColumn<QString>("config");
    const auto row = [](const char *where, const char *config) { QTest::newRow(config) << QString(where) << QString(config); };
    row("config.capacity_bytes", R"({"capacity_bytes": -1})");
    row("config.capacity_bytes", R"({"capacity_bytes": 1.5})");
    row("config.capacity_bytes", R"({"capacity_bytes": "80 GiB"})");
    row("config.capacity_bytes", R"({"capacity_bytes": 9223372036854775808})");
    row("config.max_split_size_mb", R"({"max_split_size_mb": 20})");
    row("config.max_split_size_mb", R"({"max_split_size_mb": -64})");
    row("config.max_split_size_mb", R"({"max_split_size_mb": true})");
    row("config.expandable_segments", R"({"expandable_segments": "True"})");
    row("config.garbage_collection_threshold", R"({"garbage_collection_threshold": 1.0})");
    row("config.garbage_collection_threshold", R"({"garbage_collection_threshold": -0.5})");
    row("config.garbage_collection_threshold", R"({"garbage_collection_threshold": []})");
    row("config.memory_fraction", R"({"memory_fraction": 1.1})");
    row("config.memory_fraction", R"({"memory_fraction": -0.1})");
    row("config.memory_fraction", R"({"memory_fraction": "half"})");
    row("config.roundup_power2_divisions", R"({"roundup_power2_divisions": 4})");
    for (const char *text :
         {"0",      "3",       "-4",      "four",  "4 4",         "2147483648",    "99999999999", "[",   "[256",     "[256:",
          "[256:1", "[256:3]", "[255:2]", "[0:2]", "[256:1,512]", "[256:1 512:2]", "[256;1]",     "[>]", "[256:1]]", "[256:99999999999]"})
        QTest::newRow(text) << "config.roundup_power2_divisions" << QString(R"({"roundup_power2_divisions": "%1"})").arg(text);
    row("config.max_split_size", R"({"max_split_size": 64})");
    row("config", "[]");
    row("config", "7");
}

void TestAllocatorReplay::refusesOptions()
{
    QFETCH(QString, where);
    QFETCH(QString, config);
    const auto answer = replayAllocatorLine(lineWith("[1,0,512,0]", config.toStdString()));
    QVERIFY(!answer.ok());
    QCOMPARE(QString::fromStdString(answer.issue().where), where);
    QVERIFY(!answer.issue().what.empty());
    QVERIFY(!answer.issue().hint.empty());
    QCOMPARE(answer.issue().line, 1);
}

void TestAllocatorReplay::refusesLines_data()
{
    QTest::addColumn<QString>("where");
    QTest::addColumn<QString>("line");
    const auto row = [](const char *name, const char *where, std::string line) {
        QTest::newRow(name) << QString(where) << QString::fromStdString(std::move(line));
    };
    row("empty", "", "");
    row("not JSON", "", "events");
    row("a list", "", "[]");
    row("null", "", "null");
    row("trailing text", "", lineWith("") + "x");
    row("no events", "events", "{}");
    row("events null", "events", R"({"events": null})");
    row("events an object", "events", R"({"events": {}})");
    row("unknown key", "event", R"({"event": []})");
    row("duplicate key", "events", R"({"events": [], "events": []})");
    row("event null", "events[0]", lineWith("null"));
    row("event a number", "events[0]", lineWith("1"));
    row("event empty", "events[1]", lineWith("[1,0,512,0],[]"));
    row("event 0", "events[0]", lineWith("[0,0]"));
    row("event 2", "events[0]", lineWith("[2,0,512,0]"));
    row("sign a string", "events[0]", lineWith(R"(["1",0,512,0])"));
    row("sign a fraction", "events[0]", lineWith("[1.5,0,512,0]"));
    row("id a string", "events[0]", lineWith(R"([1,"a",512,0])"));
    row("id null", "events[0]", lineWith("[-1,null]"));
    row("id too large", "events[0]", lineWith("[1,18446744073709551616,512,0]"));
    row("no id", "events[0]", lineWith("[-1]"));
    row("no size", "events[0]", lineWith("[1,0]"));
    row("size a string", "events[0]", lineWith(R"([1,0,"512",0])"));
    row("size true", "events[0]", lineWith("[1,0,true,0]"));
    row("size negative", "events[0]", lineWith("[1,0,-1,0]"));
    row("size a fraction", "events[0]", lineWith("[1,0,0.5,0]"));
    row("size 1 EiB", "events[0]", lineWith("[1,0,1152921504606846976,0]"));
    row("size above 64 bits", "events[0]", lineWith("[1,0,99999999999999999999,0]"));
    row("size infinite", "events[0]", lineWith("[1,0,1e308,0]"));
    row("stream negative", "events[0]", lineWith("[1,0,512,-1]"));
    row("stream above 32 bits", "events[0]", lineWith("[1,0,512,4294967296]"));
    row("stream null", "events[0]", lineWith("[1,0,512,null]"));
    row("too many items", "events[0]", lineWith("[1,0,512,0,0]"));
    row("release with a size", "events[1]", lineWith("[1,0,512,0],[-1,0,512]"));
    row("unknown id", "events[1]", lineWith("[1,0,512,0],[-1,1]"));
    row("released twice", "events[2]", lineWith("[1,0,512,0],[-1,0],[-1,0]"));
    row("allocated twice", "events[1]", lineWith("[1,0,512,0],[1,0,512,0]"));
    row("allocated twice, nothing", "events[1]", lineWith("[1,0,0,0],[1,0,0,0]"));
}

void TestAllocatorReplay::refusesLines()
{
    QFETCH(QString, where);
    QFETCH(QString, line);
    const auto answer = replayAllocatorLine(line.toStdString());
    QVERIFY(!answer.ok());
    QCOMPARE(QString::fromStdString(answer.issue().where), where);
    QVERIFY(!answer.issue().what.empty());
    QVERIFY(!answer.issue().hint.empty());
}

void TestAllocatorReplay::refusesDeepNesting()
{
    for (const std::size_t depth : {std::size_t(9), std::size_t(100), std::size_t(1000000)}) {
        const std::string brackets(depth, '[');
        for (const std::string &line : {brackets, lineWith(brackets + std::string(depth, ']')), "{\"events\":" + brackets}) {
            const auto answer = replayAllocatorLine(line);
            QVERIFY(!answer.ok());
            QVERIFY(answer.issue().what.size() < 500);
        }
    }
}

void TestAllocatorReplay::refusesTruncatedLines()
{
    const std::string whole =
        lineWith("[1,0,512,0],[1,1,3000000,2],[-1,0]", R"({"capacity_bytes": 1000000000, "roundup_power2_divisions": "[1:2,>:4]"})");
    QVERIFY(replayAllocatorLine(whole).ok());
    for (std::size_t length = 0; length < whole.size(); ++length)
        QVERIFY2(!replayAllocatorLine(std::string_view(whole).substr(0, length)).ok(), whole.substr(0, length).c_str());
    // A byte that is no text, anywhere.
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string broken = whole;
        broken[at] = '\xff';
        QVERIFY(!replayAllocatorLine(broken).ok());
    }
}

void TestAllocatorReplay::refusesTooManyStreams()
{
    std::string events;
    for (int i = 0; i < 1024; ++i)
        events += fmt::format("{}[1,{},512,{}]", i == 0 ? "" : ",", i, i * 7);
    const auto answer = replayAllocatorLine(lineWith(events));
    QVERIFY(answer.ok());
    QCOMPARE(json::parse(*answer).at("peak_reserved").get<std::int64_t>(), 1024 * 2_MiB);
    const auto refused = replayAllocatorLine(lineWith(events + ",[1,1024,512,1]"));
    QVERIFY(!refused.ok());
    QCOMPARE(refused.issue().where, std::string("events[1024]"));
}

void TestAllocatorReplay::endsAtOutOfMemory()
{
    const auto answer = replayAllocatorLine(lineWith("[1,0,1000000,0],[1,1,60000000,0],[1,2,512,0]", R"({"capacity_bytes": 52428800})"));
    QVERIFY(answer.ok());
    const json got = json::parse(*answer);
    QCOMPARE(got.at("after").dump(), std::string("[[1000448,2097152],[1000448,2097152]]"));
    QCOMPARE(got.at("retries").get<int>(), 1);
    const json &figures = got.at("out_of_memory");
    QCOMPARE(figures.at("event").get<int>(), 1);
    QCOMPARE(figures.at("tried_bytes").get<std::int64_t>(), 58_MiB);
    QCOMPARE(figures.at("capacity_bytes").get<std::int64_t>(), 50_MiB);
    QCOMPARE(figures.at("free_bytes").get<std::int64_t>(), 48_MiB);
    QCOMPARE(figures.at("allocated_bytes").get<std::int64_t>(), 1000448);
    QCOMPARE(figures.at("reserved_unallocated_bytes").get<std::int64_t>(), 2_MiB - 1000448);
    const QString message = QString::fromStdString(figures.at("message"));
    QVERIFY2(message.contains("Tried to allocate 58.00 MiB. GPU 0 has a total capacity of 50.00 MiB of which 48.00 MiB is free."),
             qPrintable(message));
    QVERIFY2(message.contains("977.00 KiB is allocated by PyTorch, and 1.05 MiB is reserved"), qPrintable(message));
}

void TestAllocatorReplay::reusesReleasedIds()
{
    const auto answer = replayAllocatorLine(lineWith("[1,-5,512],[-1,-5],[1,-5,1024,0],[1,0,0,0],[-1,0]"));
    QVERIFY2(answer.ok(), answer.ok() ? "" : toString(answer.issue()).c_str());
    QCOMPARE(json::parse(*answer).at("after").dump(),
             std::string("[[512,2097152],[0,2097152],[1024,2097152],[1024,2097152],[1024,2097152]]"));
    QVERIFY(json::parse(*answer).at("out_of_memory").is_null());
}

QTEST_APPLESS_MAIN(TestAllocatorReplay)
#include "test_allocator_replay.moc"
