// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/units/bytes.h"
#include "core/units/checked.h"
#include "core/units/strict_json.h"
#include "core/units/text.h"

#include <QtTest>

#include <array>
#include <limits>

using namespace headroom;

class TestUnits : public QObject
{
    Q_OBJECT

private slots:
    /// Sizes are always labelled, powers of two and of ten never mixed.
    void formatsBytes_data()
    {
        QTest::addColumn<qlonglong>("bytes");
        QTest::addColumn<QString>("binary");
        QTest::addColumn<QString>("decimal");
        const auto row = [](const char *name, qlonglong bytes, const char *binary, const char *decimal) {
            QTest::newRow(name) << bytes << QString(binary) << QString(decimal);
        };
        row("nothing", 0, "0 B", "0 B");
        row("below a thousand", 999, "999 B", "999 B");
        row("a thousand", 1000, "1000 B", "1.00 kB");
        row("a kibibyte", 1024, "1.00 KiB", "1.02 kB");
        row("rounds up into the next unit", 1048575, "1.00 MiB", "1.05 MB");
        row("an RTX 4090", 25757220864, "23.99 GiB", "25.76 GB");
        row("negative", -6764573491, "-6.30 GiB", "-6.76 GB");
        row("the most", std::numeric_limits<qlonglong>::max(), "8.00 EiB", "9.22 EB");
    }
    void formatsBytes()
    {
        QFETCH(qlonglong, bytes);
        QTEST(QString::fromStdString(formatBytes({bytes})), "binary");
        QTEST(QString::fromStdString(formatBytes({bytes}, ByteUnit::Decimal)), "decimal");
    }

    void formatsForHeadings()
    {
        QCOMPARE(formatGiga(gib(15), ByteUnit::Binary, 1), std::string("15.0"));
        QCOMPARE(formatGiga({15000000000}, ByteUnit::Decimal, 3), std::string("15.000"));
        QCOMPARE(std::string(gigaName(ByteUnit::Decimal)), std::string("GB"));
    }

    void groupsThousands()
    {
        QCOMPARE(formatCount(0), std::string("0"));
        QCOMPARE(formatCount(999), std::string("999"));
        QCOMPARE(formatCount(1000), std::string("1,000"));
        QCOMPARE(formatCount(8234382336), std::string("8,234,382,336"));
        QCOMPARE(formatCount(-123456), std::string("-123,456"));
    }

    /// An absurd size is an error that can be reported, never a wrapped number.
    void refusesToOverflow()
    {
        constexpr auto most = std::numeric_limits<std::int64_t>::max();
        QCOMPARE(checkedMultiply(1LL << 31, 1LL << 31), std::int64_t{1} << 62);
        QVERIFY_THROWS_EXCEPTION(SizeOverflow, checkedMultiply(most, 2));
        QVERIFY_THROWS_EXCEPTION(SizeOverflow, checkedAdd(most, 1));
        QVERIFY_THROWS_EXCEPTION(SizeOverflow, roundUp(most, 512));
        QCOMPARE(roundUp(1, 512), std::int64_t{512});
        QCOMPARE(roundUp(512, 512), std::int64_t{512});
    }

    void putsIssuesIntoOneLine()
    {
        QCOMPARE(toString({"a.json", 3, "batch.micro_batch", "must be at least 1", "write 1"}),
                 std::string("a.json:3: batch.micro_batch: must be at least 1 (write 1)"));
        QCOMPARE(toString({"", 3, "", "wrong", ""}), std::string("line 3: wrong"));
        QCOMPARE(toString({"a.json", 0, "", "wrong", ""}), std::string("a.json: wrong"));
        QCOMPARE(toString({"", 0, "gpus", "wrong", ""}), std::string("gpus: wrong"));
    }

    void knowsUtf8()
    {
        QVERIFY(isValidUtf8("Qwen3 \xe9\x80\x9a\xe4\xb9\x89 \xf0\x9f\x98\x80"));
        for (const char *broken : {"\xff", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe9\x80", "a\x80"})
            QVERIFY2(!isValidUtf8(broken), broken);
    }

    /// What a message quotes is short, printable and whole characters.
    void excerptsAreSafe()
    {
        QCOMPARE(excerpt("short"), std::string("short"));
        QCOMPARE(excerpt("a\nb\xff"), std::string("a?b?"));
        QCOMPARE(excerpt("\xe9\x80\x9a\xe9\x80\x9a", 4), std::string("\xe9\x80\x9a..."));
        QVERIFY(excerpt(std::string(10000000, 'x')).size() < 100);
    }

    void suggestsWhatWasMeant()
    {
        constexpr std::array<std::string_view, 4> names{"micro_batch", "sequence_length", "gradient_accumulation", "sdpa"};
        QVERIFY(nearest("micro_bach", names) == "micro_batch");
        QVERIFY(nearest("mirco-batch", names) == "micro_batch");
        QVERIFY(nearest("SDPA", names) == "sdpa");
        QVERIFY(nearest("sequence", names) == "sequence_length");
        QVERIFY(!nearest("quantum", names));
        QVERIFY(!nearest("", names));
    }

    /// Every value knows its line, so that a later check can name it.
    void jsonRemembersLines()
    {
        const Result<JsonValue> json = parseJson("{\n\"a\": [1,\n2.5\n],\n\"b\": null\n}");
        QVERIFY(json.ok());
        QCOMPARE(json->line, 1);
        QCOMPARE(json->find("a")->line, 2);
        QCOMPARE((*json->find("a")->array())[0].line, 2);
        QCOMPARE((*json->find("a")->array())[1].line, 3);
        QCOMPARE(json->find("b")->line, 5);
        QVERIFY(json->find("c") == nullptr);
    }

    void jsonNumbers()
    {
        const auto value = [](std::string_view text) { return parseJson(text).value(); };
        QVERIFY(value("4").wholeNumber() == 4);
        QVERIFY(value("4.0").wholeNumber() == 4);
        QVERIFY(value("-0").wholeNumber() == 0);
        QVERIFY(!value("4.5").wholeNumber());
        QVERIFY(!value("1e30").wholeNumber());
        QVERIFY(!value("18446744073709551615").wholeNumber());
        QVERIFY(value("9223372036854775807").wholeNumber() == std::numeric_limits<std::int64_t>::max());
        QVERIFY(value("1e30").number() == 1e30);
        QVERIFY(!value("true").wholeNumber());
        QVERIFY(!value("\"4\"").number());
    }

    /// Written text reads back as the same value, in one line and indented.
    void jsonRoundTrips()
    {
        const std::string text = "{\"a\":[1,2.5,-1e+30,\"x\\\"\\u0001\\n\"],\"b\":{\"c\":{},\"d\":[]},\"e\":[{\"f\":true}],\"g\":null}";
        const Result<JsonValue> json = parseJson(text);
        QVERIFY(json.ok());
        QCOMPARE(writeJson(*json), text);
        const Result<JsonValue> again = parseJson(writeJson(*json, 2));
        QVERIFY(again.ok());
        QCOMPARE(writeJson(*again), text);
    }

    /// Hostile text costs neither time nor memory: limits are errors like any other.
    void jsonHasLimits()
    {
        QVERIFY(parseJson(std::string(64, '[') + std::string(64, ']')).ok());
        QCOMPARE(parseJson(std::string(65, '[') + std::string(65, ']')).issue().line, 1);
        QVERIFY(!parseJson(std::string(10000000, '[')).ok());
        QVERIFY(!parseJson("\"" + std::string(1000, 'x') + "\"", {}, {.bytes = 1000}).ok());
        QVERIFY(parseJson("[1,2]", {}, {.values = 3}).ok());
        QVERIFY(!parseJson("[1,2,3]", {}, {.values = 3}).ok());

        std::string many = "{\"k\":0";
        for (int i = 0; i < 100000; ++i)
            many += ",\"" + std::to_string(i) + "\":0";
        QVERIFY(parseJson(many + "}").ok());
        const Result<JsonValue> twice = parseJson(many + ",\n\"5\":0}", "root");
        QVERIFY(!twice.ok());
        QCOMPARE(twice.issue().where, std::string("root.5"));
        QCOMPARE(twice.issue().line, 2);
    }

    void jsonErrorsNameTheirPlace()
    {
        const Issue issue = parseJson("{\"a\":\n{\"b\":[1,\ntru]}}", "plan").issue();
        QCOMPARE(issue.where, std::string("plan.a.b"));
        QCOMPARE(issue.line, 3);
        QVERIFY(!issue.hint.empty());
        // What was read last is not quoted: it may be megabytes long.
        QVERIFY(parseJson("\"" + std::string(1000000, 'x')).issue().what.size() < 300);
    }

    void readsFilesOfReason()
    {
        QTemporaryDir folder;
        const auto path = [&](const char *name) { return std::filesystem::path(folder.filePath(name).toStdString()); };
        QFile file(folder.filePath("a.txt"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        QCOMPARE(file.write("hello"), 5);
        file.close();
        QCOMPARE(readTextFile(path("a.txt")).value(), std::string("hello"));
        QVERIFY(!readTextFile(path("a.txt"), 4).ok());
        QVERIFY(!readTextFile(path("missing.txt")).ok());
        QVERIFY(!readTextFile(folder.path().toStdString()).ok());
        QCOMPARE(readTextFile(path("missing.txt")).issue().file, path("missing.txt").string());
        const auto whatIs = [](const std::filesystem::path &name) { return readTextFile(name).issue().what; };
        QCOMPARE(whatIs(path("missing.txt")), std::string("no such file"));
        QCOMPARE(whatIs(path("a.txt") / "b"), std::string("no such file"));
        QCOMPARE(whatIs(folder.path().toStdString()), std::string("is a folder"));
        QCOMPARE(whatIs({}), std::string("the file's name is empty"));
        QVERIFY(whatIs(path(std::string(5000, 'x').c_str())).starts_with("cannot be read: "));
        if (QFile::exists("/dev/zero"))
            QCOMPARE(whatIs("/dev/zero"), std::string("is a pipe or a device"));
        // Files of /proc say that they are empty, and some go on without end.
        if (QFile::exists("/proc/self/status"))
            QVERIFY(!readTextFile("/proc/self/status").value().empty() && !readTextFile("/proc/self/status", 10).ok());
    }
};

QTEST_APPLESS_MAIN(TestUnits)
#include "test_units.moc"
