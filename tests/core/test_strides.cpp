// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/json_lines.h"
#include "tests/core/tape_events.h"

#include <QtTest>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace tapeevents;
using jsonlines::Json;

namespace {

Dims dims(const Json &list)
{
    Dims out;
    for (const Json &n : list)
        out.append(n.get<std::int64_t>());
    return out;
}

/// Rows of one kind of tests/data/strides/strides.jsonl, which make_strides.py had PyTorch write.
std::vector<Json> rows(std::string_view kind)
{
    std::vector<Json> out;
    for (Json &row : jsonlines::readLines(HEADROOM_SOURCE_DIR "/tests/data/strides/strides.jsonl"))
        if (row[0] == kind)
            out.push_back(std::move(row));
    return out;
}

} // namespace

/// Memory layouts, as PyTorch decides them. Whether reshape copies, whether a gradient may be kept as it is, and which
/// attention kernels copy their inputs all hang on strides.
class TestStrides : public QObject
{
    Q_OBJECT

private slots:
    /// TensorIterator: an elementwise result lies in memory as its operands do.
    void elementwiseResults()
    {
        const std::vector<Json> cases = rows("add");
        QCOMPARE(cases.size(), std::size_t{400});
        QString wrong;
        for (const Json &row : cases) {
            Tape tape;
            const Tensor a = tape.make(dims(row[1]), dims(row[2]), DType::Float32, ""),
                         b = tape.make(dims(row[3]), dims(row[4]), DType::Float32, "");
            const Dims sizes = broadcast(a.sizes(), b.sizes());
            if (!(sizes == dims(row[5])) || !(elementwiseStrides(a, b, sizes) == dims(row[6])))
                wrong += QString::fromStdString(fmt::format("\n  {}: Headroom {}", row.dump(), toString(elementwiseStrides(a, b, sizes))));
        }
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }

    /// computeStride: where sizes can be seen anew without a copy, and with which strides.
    void views()
    {
        const std::vector<Json> cases = rows("view");
        QCOMPARE(cases.size(), std::size_t{400});
        QString wrong;
        int refused = 0;
        for (const Json &row : cases) {
            Dims strides;
            const bool fits = viewStrides(dims(row[1]), dims(row[2]), dims(row[3]), strides);
            refused += row[4].is_null() ? 1 : 0;
            if (fits != !row[4].is_null() || (fits && !(strides == dims(row[4]))))
                wrong += QString::fromStdString(fmt::format("\n  {}: Headroom {}", row.dump(), fits ? toString(strides) : "no view"));
        }
        QVERIFY(refused > 40);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }

    /// is_contiguous, is_non_overlapping_and_dense, and the layout that empty_like, clone and to() preserve.
    void preservedLayouts()
    {
        const std::vector<Json> cases = rows("like");
        QCOMPARE(cases.size(), std::size_t{200});
        QString wrong;
        for (const Json &row : cases) {
            Tape tape;
            const Dims sizes = dims(row[1]), strides = dims(row[2]);
            const Tensor t = tape.make(sizes, strides, DType::Float32, "");
            if (isContiguous(sizes, strides) != row[3].get<bool>() || isDense(sizes, strides) != row[4].get<bool>() ||
                !(preservedStrides(t) == dims(row[5])))
                wrong += QString::fromStdString(fmt::format("\n  {}: Headroom {} {} {}", row.dump(), isContiguous(sizes, strides),
                                                            isDense(sizes, strides), toString(preservedStrides(t))));
        }
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }

    void rowMajorStrides()
    {
        QCOMPARE(toString(contiguousStrides({2, 3, 4})), std::string("[12, 4, 1]"));
        QCOMPARE(toString(contiguousStrides({2, 0, 4})), std::string("[4, 4, 1]"));
        QCOMPARE(toString(contiguousStrides({})), std::string("[]"));
        QVERIFY_THROWS_EXCEPTION(SizeOverflow, contiguousStrides({std::int64_t{1} << 40, std::int64_t{1} << 40, 1}));
    }
};

QTEST_APPLESS_MAIN(TestStrides)
#include "test_strides.moc"
