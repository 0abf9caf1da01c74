// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The breakdown: a sound model, figures in the chosen unit, copied and exported whole, linked with the other views.
#include "core/report/report.h"
#include "ui/breakdown/breakdown_model.h"
#include "ui/breakdown/breakdown_view.h"
#include "ui/breakdown/table_text.h"
#include "window_fixture.h"

#include <QAbstractItemModelTester>
#include <QClipboard>
#include <QSignalSpy>
#include <QTest>

using namespace headroom;

namespace {

BreakdownRow row(Component component, std::string label, Bytes bytes, std::vector<BreakdownRow> children = {})
{
    BreakdownRow made;
    made.component = component;
    made.label = std::move(label);
    made.bytes = bytes;
    made.count = 1;
    made.shape = "[1, 4096]";
    made.dtype = "bfloat16";
    made.rule = "because it says \"so\", really";
    made.source = "a paper";
    made.children = std::move(children);
    return made;
}

std::vector<BreakdownRow> sample(std::int64_t scale = 1)
{
    return {row(Component::Weights, "weights", gib(3 * scale),
                {row(Component::Weights, "attention", gib(1 * scale), {row(Component::Weights, "q_proj", gib(1 * scale))}),
                 row(Component::Weights, "mlp", gib(2 * scale))}),
            row(Component::Activations, "activations", gib(1 * scale), {row(Component::Activations, "attention", gib(1 * scale))})};
}

/// A view of the sample on the screen, and what it shares with other views.
struct ShownBreakdown {
    DisplaySettings display;
    Highlight highlight;
    BreakdownView view{&display, &highlight};

    ShownBreakdown()
    {
        view.resize(900, 300);
        view.show();
        view.breakdown()->setRows(sample(), gib(4));
    }
};

} // namespace

class TestBreakdown : public QObject
{
    Q_OBJECT
private slots:
    void theModelIsSound();
    void figuresFollowTheUnit();
    void sameRowsAreUpdatedInPlace();
    void otherRowsKeepWhatIsExpanded();
    void copiesWhatIsSelected();
    void csvHoldsEveryRow();
    void selectionIsSharedBothWays();
    void hoverIsTold();
};

void TestBreakdown::theModelIsSound()
{
    DisplaySettings display;
    BreakdownModel model(&display);
    const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    model.setRows(sample(), gib(4));
    model.setRows(sample(2), gib(8));
    display.setUnit(ByteUnit::Decimal);
    QCOMPARE(model.rowCount(), 2);
    QCOMPARE(model.rowCount(model.index(0, 0)), 2);
    QCOMPARE(model.find(Component::Activations, "attention").parent(), model.componentIndex(Component::Activations));
    QVERIFY(!model.find(Component::Gradients, "attention").isValid());
    model.setRows({}, {});
    QCOMPARE(model.rowCount(), 0);
}

void TestBreakdown::figuresFollowTheUnit()
{
    DisplaySettings display;
    BreakdownModel model(&display);
    model.setRows(sample(), gib(4));
    const QModelIndex size = model.index(0, BreakdownModel::Size);
    QCOMPARE(size.data().toString(), QString("3.00 GiB"));
    QCOMPARE(size.siblingAtColumn(BreakdownModel::Share).data().toString(), QLocale().toString(75.0, 'f', 1) + " %");
    QCOMPARE(size.data(Qt::ToolTipRole).toString(), QString("3,221,225,472 bytes"));
    QSignalSpy changed(&model, &QAbstractItemModel::dataChanged);
    display.setUnit(ByteUnit::Decimal);
    QVERIFY(changed.count() > 0);
    QCOMPARE(size.data().toString(), QString("3.22 GB"));
}

void TestBreakdown::sameRowsAreUpdatedInPlace()
{
    DisplaySettings display;
    BreakdownModel model(&display);
    model.setRows(sample(), gib(4));
    const QPersistentModelIndex deep = model.find(Component::Weights, "q_proj");
    QSignalSpy reset(&model, &QAbstractItemModel::modelReset);
    model.setRows(sample(2), gib(8));
    QCOMPARE(reset.count(), 0);
    QVERIFY(deep.isValid());
    QCOMPARE(deep.data(BreakdownModel::BytesRole).toLongLong(), gib(2).value);
}

void TestBreakdown::otherRowsKeepWhatIsExpanded()
{
    DisplaySettings display;
    Highlight highlight;
    BreakdownView view(&display, &highlight);
    BreakdownModel *model = view.breakdown();
    model->setRows(sample(), gib(4));
    view.expand(model->componentIndex(Component::Weights));
    std::vector<BreakdownRow> more = sample();
    more.push_back(row(Component::Temporary, "temporary", gib(1)));
    model->setRows(more, gib(5));
    QVERIFY(view.isExpanded(model->componentIndex(Component::Weights)));
    QVERIFY(!view.isExpanded(model->componentIndex(Component::Activations)));
}

void TestBreakdown::copiesWhatIsSelected()
{
    ShownBreakdown shown;
    BreakdownView &view = shown.view;
    view.setCurrentIndex(view.breakdown()->componentIndex(Component::Weights));
    QTest::keyClick(&view, Qt::Key_Down, Qt::ShiftModifier);
    QTest::keySequence(&view, QKeySequence::Copy);
    const QStringList lines = QApplication::clipboard()->text().split(QLatin1Char('\n'));
    QCOMPARE(lines.size(), 2);
    QVERIFY2(lines.at(0).startsWith("Weights\t3.00 GiB"), qPrintable(lines.at(0)));
    QVERIFY2(lines.at(1).startsWith("Activations\t1.00 GiB"), qPrintable(lines.at(1)));
}

void TestBreakdown::csvHoldsEveryRow()
{
    DisplaySettings display;
    BreakdownModel model(&display);
    model.setRows(sample(), gib(4));
    const QStringList lines = tableAsCsv(model, BreakdownModel::BytesRole).split(QStringLiteral("\r\n"), Qt::SkipEmptyParts);
    QCOMPARE(lines.size(), 7);
    QVERIFY(lines.at(0).startsWith("Level,Tensor,Size"));
    QVERIFY2(lines.at(1).startsWith("0,Weights,3.00 GiB"), qPrintable(lines.at(1)));
    QVERIFY2(lines.at(3).startsWith("2,q_proj,"), qPrintable(lines.at(3)));
    QVERIFY2(lines.at(1).contains("\"[1, 4096]\"") && lines.at(1).contains("\"because it says \"\"so\"\", really\""),
             qPrintable(lines.at(1)));
    QVERIFY(lines.at(1).endsWith(",3221225472"));
    QCOMPARE(csvField("a\rb"), std::string("\"a\rb\""));
    QCOMPARE(csvField("a; b"), std::string("a; b"));
}

void TestBreakdown::selectionIsSharedBothWays()
{
    ShownBreakdown shown;
    BreakdownView &view = shown.view;
    BreakdownModel *model = view.breakdown();
    shown.highlight.setSelected({Component::Activations, {}});
    QCOMPARE(view.currentIndex(), model->componentIndex(Component::Activations));
    QVERIFY(view.isExpanded(model->componentIndex(Component::Activations)));
    shown.highlight.setSelected({Component::Weights, "q_proj"});
    QCOMPARE(view.currentIndex(), model->find(Component::Weights, "q_proj"));
    view.setFocus();
    QTest::keyClick(&view, Qt::Key_Up);
    QVERIFY(shown.highlight.selected() == (HighlightTarget{Component::Weights, "attention"}));
}

void TestBreakdown::hoverIsTold()
{
    ShownBreakdown shown;
    BreakdownView &view = shown.view;
    shown.highlight.setSelected({Component::Weights, {}});
    QSignalSpy changed(&shown.highlight, &Highlight::changed);
    const QModelIndex activations = view.breakdown()->componentIndex(Component::Activations);
    QTest::mouseMove(view.viewport(), view.visualRect(activations).center());
    QTRY_VERIFY(shown.highlight.current().component == Component::Activations);
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(&view, &leave);
    QVERIFY(shown.highlight.current().component == Component::Weights);
    QVERIFY(changed.count() >= 2);
}

QTEST_MAIN(TestBreakdown)
#include "test_breakdown.moc"
