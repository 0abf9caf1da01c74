// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/allocator/caching_allocator.h"
#include "core/allocator/free_blocks.h"
#include "core/allocator/size_rules.h"

#include <QTest>

#include <random>
#include <set>

using namespace headroom;

namespace {

constexpr std::int64_t operator""_MiB(unsigned long long n) { return static_cast<std::int64_t>(n << 20); }

AllocatorOptions withCapacity(std::int64_t bytes)
{
    AllocatorOptions options;
    options.capacity = {bytes};
    return options;
}

/// allocated and reserved together, in MiB, for rules where all sizes are whole.
QString mib(const CachingAllocator &allocator)
{
    return QString("%1 of %2").arg(allocator.allocated() / double(1_MiB)).arg(allocator.reserved() / double(1_MiB));
}

} // namespace

/// The rules of the caching allocator one by one. Whole event lists with PyTorch's own figures: test_allocator_replay.cpp.
class TestAllocator : public QObject
{
    Q_OBJECT

private slots:
    void roundsRequests_data();
    void roundsRequests();
    void choosesSegments_data();
    void choosesSegments();

    void takesNothingForNothing();
    void keepsAtMostOneMiBUnsplit();
    void prefersTheSmallestThenTheLowest();
    void mergesNeighbours();
    void keepsStreamsAndPoolsApart();
    void refusesOversizeBlocks();
    void releasesTheCacheAndRetries();
    void tellsWhatWasTried();
    void limitsByFraction();
    void collectsOldSegments();
    void growsExpandableSegments();
    void unmapsPages();
    void passesOverExpandableSegmentsInGarbageCollection();
    void refusesAnExbibyte();
    void survivesAnUnlimitedDevice_data();
    void survivesAnUnlimitedDevice();
    void isAsNewAfterReset();
    void indexAgreesWithAnOrderedSet();
};

void TestAllocator::roundsRequests_data()
{
    QTest::addColumn<QString>("divisions");
    QTest::addColumn<qint64>("bytes");
    QTest::addColumn<qint64>("rounded");
    const auto row = [](const char *divisions, qint64 bytes, qint64 rounded) {
        QTest::addRow("%lld, divisions '%s'", static_cast<long long>(bytes), divisions) << QString(divisions) << bytes << rounded;
    };
    row("", 1, 512);
    row("", 512, 512);
    row("", 513, 1024);
    row("", 1000000007, 1000000512);
    // Quarters: 1024 to 2048 in steps of 512 only above 4 x 512 bytes.
    row("4", 100, 512);
    row("4", 2048, 2048);
    row("4", 2049, 2560);
    row("4", 2560, 2560);
    row("4", 5000, 5120);
    row("4", 9000, 10240);
    row("4", 33_MiB, 40_MiB);
    row("4", 64_MiB, 64_MiB);
    row("4", 60_MiB + 1, 64_MiB);
    row("1", 9000, 9216);
    row(" 8 ", 33_MiB, 36_MiB);
    // The interval is that of the size's power of two; the first one named holds for all below it.
    row("[1:2,16:4,>:8]", 100000, 131072);
    row("[1:2,16:4,>:8]", 5_MiB, 5_MiB); // from 2 to 16 MiB nothing is named
    // 16:4 is overwritten by '>', as in PyTorch 2.4.
    row("[1:2,16:4,>:8]", 17_MiB, 18_MiB);
    row("[ 256 : 1 , 512 : 2 ]", 300_MiB + 1, 300_MiB + 512);
    row("[256:1,512:2]", 600_MiB, 768_MiB);
    row("[256:1,512:2]", 1100_MiB, 1100_MiB);
    row("[>:2]", 5_MiB, 6_MiB);
    row("[65536:2]", 5_MiB, 6_MiB);
    row("[65536:2]", 40960_MiB, 49152_MiB);
    row("[4:0,8:2]", 5_MiB, 5_MiB);
    row("[4:0,8:2]", 9_MiB, 12_MiB);
    // The largest request there is does not overflow.
    row("2", (qint64(1) << 60) - 1, qint64(1) << 60);
}

void TestAllocator::roundsRequests()
{
    QFETCH(QString, divisions);
    QFETCH(qint64, bytes);
    QFETCH(qint64, rounded);
    const auto table = allocator::RoundupDivisions::parse(divisions.toStdString());
    QVERIFY(table.ok());
    QCOMPARE(static_cast<qint64>(allocator::roundRequest(static_cast<std::uint64_t>(bytes), *table)), rounded);
}

void TestAllocator::choosesSegments_data()
{
    QTest::addColumn<qint64>("request");
    QTest::addColumn<qint64>("segment");
    const auto row = [](const char *name, qint64 request, qint64 segment) { QTest::newRow(name) << request << segment; };
    row("small", 1, 2_MiB);
    row("largest small", 1_MiB, 2_MiB);
    row("smallest large", 1_MiB + 1, 20_MiB);
    row("below 10 MiB", 10_MiB - 512, 20_MiB);
    row("10 MiB after rounding", 10_MiB - 511, 10_MiB);
    row("10 MiB", 10_MiB, 10_MiB);
    row("above 10 MiB", 10_MiB + 1, 12_MiB);
    row("1001 MiB", 1001_MiB, 1002_MiB);
}

void TestAllocator::choosesSegments()
{
    QFETCH(qint64, request);
    QFETCH(qint64, segment);
    CachingAllocator allocator;
    QVERIFY(allocator.allocate(request) != CachingAllocator::noBlock);
    QCOMPARE(qint64(allocator.reserved()), segment);
}

void TestAllocator::takesNothingForNothing()
{
    CachingAllocator allocator;
    QCOMPARE(allocator.allocate(0), CachingAllocator::noBlock);
    QVERIFY(!allocator.outOfMemory());
    allocator.release(CachingAllocator::noBlock);
    QCOMPARE(allocator.blockBytes(CachingAllocator::noBlock), 0);
    QCOMPARE(mib(allocator), QString("0 of 0"));
}

void TestAllocator::keepsAtMostOneMiBUnsplit()
{
    CachingAllocator allocator;
    const auto whole = allocator.allocate(11_MiB);
    QCOMPARE(allocator.blockBytes(whole), 12_MiB); // 1 MiB remains: kept
    const auto split = allocator.allocate(11_MiB - 512);
    QCOMPARE(allocator.blockBytes(split), 11_MiB - 512); // 512 bytes more remain: split off
    const auto below = allocator.allocate(12_MiB + 512);
    QCOMPARE(allocator.blockBytes(below), 12_MiB + 512); // of 14 MiB: more than 1 MiB remains
    QCOMPARE(allocator.reserved(), 38_MiB);
    // In the small pool 512 bytes are split off.
    const auto first = allocator.allocate(1_MiB);
    const auto second = allocator.allocate(1_MiB - 512);
    QCOMPARE(allocator.blockBytes(first), 1_MiB);
    QCOMPARE(allocator.blockBytes(second), 1_MiB - 512);
    const auto third = allocator.allocate(512);
    QCOMPARE(allocator.blockBytes(third), 512);
    QCOMPARE(allocator.reserved(), 40_MiB);
}

void TestAllocator::prefersTheSmallestThenTheLowest()
{
    CachingAllocator allocator;
    const auto a = allocator.allocate(40_MiB);
    const auto b = allocator.allocate(30_MiB);
    const auto c = allocator.allocate(40_MiB);
    for (const auto block : {c, b, a})
        allocator.release(block);
    // 29.5 MiB: the block of 30 is the tightest. Then both of 40 are: the lower one is a.
    QCOMPARE(allocator.blockBytes(allocator.allocate(29_MiB + 1_MiB / 2)), 30_MiB);
    const auto half = allocator.allocate(20_MiB);
    QCOMPARE(mib(allocator), QString("50 of 110"));
    // The tail of a (20 MiB) is the tightest now.
    const auto other = allocator.allocate(20_MiB);
    allocator.release(half);
    allocator.release(other);
    // 40 MiB fit twice: a has merged again.
    allocator.allocate(40_MiB);
    allocator.allocate(40_MiB);
    QCOMPARE(mib(allocator), QString("110 of 110"));
}

void TestAllocator::mergesNeighbours()
{
    for (const auto &order : {std::array{0, 1, 2}, std::array{2, 1, 0}, std::array{0, 2, 1}, std::array{1, 0, 2}}) {
        CachingAllocator allocator;
        const auto whole = allocator.allocate(60_MiB);
        allocator.release(whole);
        std::array<CachingAllocator::Block, 3> parts{};
        for (auto &part : parts)
            part = allocator.allocate(20_MiB);
        for (const int i : order)
            allocator.release(parts[static_cast<std::size_t>(i)]);
        QVERIFY(allocator.allocate(60_MiB) != CachingAllocator::noBlock);
        QCOMPARE(mib(allocator), QString("60 of 60"));
    }
    // Two segments never merge.
    CachingAllocator allocator;
    const auto a = allocator.allocate(20_MiB), b = allocator.allocate(20_MiB);
    allocator.release(a);
    allocator.release(b);
    allocator.allocate(40_MiB);
    QCOMPARE(mib(allocator), QString("40 of 80"));
}

void TestAllocator::keepsStreamsAndPoolsApart()
{
    CachingAllocator allocator;
    allocator.release(allocator.allocate(20_MiB, 7));
    allocator.release(allocator.allocate(1_MiB, 7));
    allocator.allocate(20_MiB, 0);
    QCOMPARE(mib(allocator), QString("20 of 42"));
    allocator.allocate(1_MiB, 3000000000u);
    QCOMPARE(mib(allocator), QString("21 of 44"));
    allocator.allocate(1_MiB, 7);
    allocator.allocate(19_MiB, 7);
    QCOMPARE(mib(allocator), QString("42 of 44")); // 19 MiB keep the 20th
    allocator.allocate(1_MiB + 512, 7);            // the free half of 2 MiB is of the small pool
    QCOMPARE(allocator.reserved(), 64_MiB);
}

void TestAllocator::refusesOversizeBlocks()
{
    AllocatorOptions options = withCapacity(1000_MiB);
    options.maxSplitSizeMb = 64;
    CachingAllocator allocator(options);
    allocator.release(allocator.allocate(100_MiB));
    const auto below = allocator.allocate(40_MiB); // below 64 MiB: not from the block of 100
    QCOMPARE(mib(allocator), QString("40 of 140"));
    const auto near = allocator.allocate(80_MiB + 512); // within 20 MiB: the whole block
    QCOMPARE(mib(allocator), QString("140 of 140"));
    allocator.release(near);
    allocator.allocate(80_MiB); // 20 MiB less are too many
    QCOMPARE(mib(allocator), QString("120 of 220"));
    allocator.release(below);

    // Short of memory: one oversize block that suffices goes, the cache stays (no retry).
    allocator.allocate(760_MiB);
    QCOMPARE(mib(allocator), QString("840 of 980"));
    allocator.allocate(90_MiB);
    QCOMPARE(mib(allocator), QString("940 of 980"));
    QCOMPARE(allocator.retries(), 0);
}

void TestAllocator::releasesTheCacheAndRetries()
{
    CachingAllocator allocator(withCapacity(100_MiB));
    const auto a = allocator.allocate(30_MiB);
    allocator.release(allocator.allocate(40_MiB, 1));
    allocator.release(allocator.allocate(1000));
    const auto half = allocator.allocate(6_MiB);
    QCOMPARE(mib(allocator), QString("36 of 92"));
    const auto b = allocator.allocate(50_MiB);
    QCOMPARE(allocator.retries(), 1);
    QCOMPARE(mib(allocator), QString("86 of 100")); // the 20 MiB of `half` stay, it is split
    QVERIFY(!allocator.outOfMemory());
    for (const auto block : {a, half, b})
        allocator.release(block);
    QCOMPARE(mib(allocator), QString("0 of 100"));
    allocator.allocate(100_MiB); // to the last byte
    QCOMPARE(mib(allocator), QString("100 of 100"));
    QCOMPARE(allocator.retries(), 2);
}

void TestAllocator::tellsWhatWasTried()
{
    CachingAllocator allocator(withCapacity(31_MiB));
    const auto block = allocator.allocate(14_MiB);
    QCOMPARE(allocator.allocate(3_MiB / 2), CachingAllocator::noBlock);
    QVERIFY(allocator.outOfMemory());
    QCOMPARE(allocator.outOfMemory()->tried.value, 20_MiB);
    QCOMPARE(allocator.outOfMemory()->capacity.value, 31_MiB);
    QCOMPARE(allocator.outOfMemory()->free.value, 17_MiB);
    QCOMPARE(allocator.outOfMemory()->allocated.value, 14_MiB);
    QCOMPARE(allocator.outOfMemory()->reservedUnallocated.value, 0);
    QCOMPARE(allocator.retries(), 1);
    // It goes on after the failure.
    allocator.release(block);
    QVERIFY(allocator.allocate(3_MiB / 2) != CachingAllocator::noBlock);
    QCOMPARE(mib(allocator), QString("1.5 of 14"));
}

void TestAllocator::limitsByFraction()
{
    AllocatorOptions options = withCapacity(100_MiB);
    options.memoryFraction = 0.5;
    CachingAllocator allocator(options);
    allocator.allocate(30_MiB);
    QCOMPARE(allocator.allocate(22_MiB), CachingAllocator::noBlock);
    QCOMPARE(allocator.outOfMemory()->capacity.value, 50_MiB);
    QCOMPARE(allocator.outOfMemory()->free.value, 70_MiB);
    QVERIFY(allocator.allocate(20_MiB) != CachingAllocator::noBlock);
    QCOMPARE(mib(allocator), QString("50 of 50"));
}

void TestAllocator::collectsOldSegments()
{
    AllocatorOptions options = withCapacity(800_MiB);
    options.memoryFraction = 0.5;
    options.garbageCollectionThreshold = 0.25; // 100 MiB
    CachingAllocator allocator(options);
    const auto old = allocator.allocate(60_MiB);
    const auto young = allocator.allocate(40_MiB);
    allocator.release(old);
    for (int i = 0; i < 8; ++i)
        allocator.release(allocator.allocate(20_MiB, 1));
    QCOMPARE(mib(allocator), QString("40 of 120"));
    allocator.release(young);
    // Above the limit by 20 MiB: the oldest segment goes, which suffices; the others are younger than the mean.
    allocator.allocate(70_MiB);
    QCOMPARE(mib(allocator), QString("70 of 130"));
    QCOMPARE(allocator.retries(), 0);

    // Without a fraction the threshold does nothing.
    options.memoryFraction.reset();
    allocator.reset(options);
    allocator.release(allocator.allocate(300_MiB));
    allocator.allocate(310_MiB);
    QCOMPARE(mib(allocator), QString("310 of 610"));
}

void TestAllocator::growsExpandableSegments()
{
    AllocatorOptions options = withCapacity(1000_MiB);
    options.expandableSegments = true;
    CachingAllocator allocator(options);
    std::vector<CachingAllocator::Block> blocks;
    for (int i = 0; i < 8; ++i)
        blocks.push_back(allocator.allocate(16_MiB));
    QCOMPARE(mib(allocator), QString("128 of 140"));
    // 12 MiB are the tail: 8 MiB are missing, a page of 20 MiB is mapped.
    blocks.push_back(allocator.allocate(20_MiB));
    QCOMPARE(mib(allocator), QString("148 of 160"));
    // A hole of 16 MiB before the tail of 12 MiB, though that fits better: the tail counts with all that it can become.
    allocator.release(blocks[0]);
    const auto inHole = allocator.allocate(11_MiB);
    allocator.allocate(12_MiB);
    QCOMPARE(mib(allocator), QString("155 of 160"));
    allocator.release(inHole);
    // Small pages are 2 MiB.
    allocator.allocate(513);
    QCOMPARE(allocator.allocated(), 144_MiB + 1024);
    QCOMPARE(allocator.reserved(), 162_MiB);
    // All that is asked for is counted, and no more.
    allocator.allocate(1_MiB + 512);
    QCOMPARE(allocator.allocated(), 145_MiB + 1024 + 512);
}

void TestAllocator::unmapsPages()
{
    AllocatorOptions options = withCapacity(100_MiB);
    options.expandableSegments = true;
    CachingAllocator allocator(options);
    const auto a = allocator.allocate(50_MiB);
    const auto b = allocator.allocate(10_MiB);
    allocator.release(a);
    QCOMPARE(mib(allocator), QString("10 of 60"));
    // 40 MiB are left, 20 MiB too few: the two whole pages of a are given back and mapped again, now before a's third page.
    const auto c = allocator.allocate(60_MiB);
    QCOMPARE(allocator.retries(), 1);
    QCOMPARE(mib(allocator), QString("70 of 80"));
    allocator.release(b);
    allocator.release(c);
    const auto all = allocator.allocate(100_MiB);
    QVERIFY(all != CachingAllocator::noBlock);
    QCOMPARE(mib(allocator), QString("100 of 100"));
    QCOMPARE(allocator.allocate(1), CachingAllocator::noBlock);
    QCOMPARE(allocator.outOfMemory()->tried.value, 2_MiB);
    QCOMPARE(allocator.outOfMemory()->free.value, 0);
    allocator.release(all);
    // The page of the other pool is had by unmapping.
    QVERIFY(allocator.allocate(1) != CachingAllocator::noBlock);
    QCOMPARE(mib(allocator), QString("%1 of 2").arg(512 / double(1_MiB)));
}

void TestAllocator::passesOverExpandableSegmentsInGarbageCollection()
{
    AllocatorOptions options = withCapacity(400_MiB);
    options.expandableSegments = true;
    options.memoryFraction = 0.5;
    options.garbageCollectionThreshold = 0.1;
    options.maxSplitSizeMb = 40;
    CachingAllocator allocator(options);
    allocator.release(allocator.allocate(100_MiB));
    allocator.allocate(30_MiB, 1);
    QCOMPARE(mib(allocator), QString("30 of 140"));
    allocator.allocate(100_MiB, 1); // beyond the fraction: the cache is released
    QCOMPARE(mib(allocator), QString("130 of 140"));
    QCOMPARE(allocator.retries(), 1);
}

void TestAllocator::refusesAnExbibyte()
{
    CachingAllocator allocator;
    const auto block = allocator.allocate(20_MiB);
    QCOMPARE(allocator.allocate(std::int64_t(1) << 60), CachingAllocator::noBlock);
    QCOMPARE(allocator.outOfMemory()->tried.value, std::int64_t(1) << 60);
    QCOMPARE(allocator.allocate(INT64_MAX), CachingAllocator::noBlock);
    QCOMPARE(allocator.retries(), 0);
    allocator.release(block);
    QCOMPARE(mib(allocator), QString("0 of 20"));
}

void TestAllocator::survivesAnUnlimitedDevice_data()
{
    QTest::addColumn<bool>("expandable");
    QTest::newRow("segments") << false;
    QTest::newRow("expandable segments") << true;
}

void TestAllocator::survivesAnUnlimitedDevice()
{
    QFETCH(bool, expandable);
    AllocatorOptions options;
    options.expandableSegments = expandable;
    CachingAllocator allocator(options);
    // Up to 2^63 bytes of device memory, or the address space of a segment, one of the largest requests after the other.
    int served = 0;
    for (int i = 0; i < 20; ++i) {
        const auto block = allocator.allocate((std::int64_t(1) << 60) - 1, static_cast<std::uint32_t>(i % 3));
        if (block != CachingAllocator::noBlock)
            ++served;
        QVERIFY(allocator.allocated() >= 0);
        QVERIFY(allocator.reserved() >= allocator.allocated());
    }
    QCOMPARE(served, expandable ? 0 : 7);
    QVERIFY(allocator.outOfMemory());

    // No memory at all.
    options.capacity = {0};
    allocator.reset(options);
    for (int i = 0; i < 3; ++i)
        QCOMPARE(allocator.allocate(1), CachingAllocator::noBlock);
    QCOMPARE(allocator.outOfMemory()->capacity.value, 0);
    QCOMPARE(mib(allocator), QString("0 of 0"));
}

void TestAllocator::isAsNewAfterReset()
{
    AllocatorOptions options = withCapacity(100_MiB);
    options.expandableSegments = true;
    CachingAllocator allocator(options);
    allocator.allocate(30_MiB, 5);
    allocator.allocate(100, 6);
    QCOMPARE(allocator.allocate(200_MiB), CachingAllocator::noBlock);
    QCOMPARE(allocator.retries(), 1);

    allocator.reset(withCapacity(50_MiB));
    QCOMPARE(mib(allocator), QString("0 of 0"));
    QCOMPARE(allocator.retries(), 0);
    QVERIFY(!allocator.outOfMemory());
    // Nothing of the earlier streams' cache is left, nor are segments expandable any longer.
    allocator.allocate(3_MiB, 6);
    QCOMPARE(mib(allocator), QString("3 of 20"));
    allocator.allocate(17_MiB, 5);
    QCOMPARE(mib(allocator), QString("21 of 38"));
}

/// The index of free blocks against the obvious one, with sizes on both sides of its bitmap and many of one size.
void TestAllocator::indexAgreesWithAnOrderedSet()
{
    using namespace headroom::allocator;
    std::mt19937 random(1);
    BlockStore blocks;
    FreeBlocks index;
    std::set<std::tuple<std::uint64_t, std::uint64_t, BlockIndex>> expected;
    const auto anySize = [&] {
        constexpr std::array<std::uint64_t, 10> sizes{
            512, 1024, 32768, 1 << 20, (1 << 20) + 512, (20 << 20) + 512, (20 << 20) + 1024, 20 << 20, 3 << 20, std::uint64_t(1) << 50};
        return random() % 3 ? sizes[random() % sizes.size()] : (random() % 9000 + 1) * 512;
    };
    std::vector<BlockIndex> in;
    for (int step = 0; step < 20000; ++step) {
        const bool shrink = step / 2000 % 2 == 1;
        if (in.empty() || random() % 10 < (shrink ? 3u : 7u)) {
            const BlockIndex i = blocks.make(random() % 100000 * std::uint64_t(512), anySize(), 0, headroom::allocator::Block::State::Free);
            if (!expected.insert({blocks[i].size, blocks[i].address, i}).second || expected.size() != in.size() + 1)
                QFAIL("the test's own set is wrong");
            in.push_back(i);
            index.insert(blocks.data(), i);
        } else {
            const std::size_t at = random() % in.size();
            const BlockIndex i = in[at];
            expected.erase({blocks[i].size, blocks[i].address, i});
            index.remove(blocks.data(), i);
            blocks.recycle(i);
            in[at] = in.back();
            in.pop_back();
        }
        const std::uint64_t size = anySize();
        const BlockIndex found = index.bestFit(blocks.data(), size);
        const auto best = expected.lower_bound({size, 0, 0});
        QCOMPARE(found == noBlockIndex, best == expected.end());
        if (best != expected.end()) {
            QCOMPARE(blocks[found].size, std::get<0>(*best));
            QCOMPARE(blocks[found].address, std::get<1>(*best));
        }
    }
    index.clear();
    QCOMPARE(index.bestFit(blocks.data(), 512), noBlockIndex);
}

QTEST_APPLESS_MAIN(TestAllocator)
#include "test_allocator.moc"
