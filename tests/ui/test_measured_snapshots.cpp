// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Memory snapshots of PyTorch: read, kept with their run, laid over the predicted timeline.
#include "measured_fixture.h"

#include "ui/charts/timeline_chart.h"
#include "ui/charts/timeline_table.h"
#include "ui/measured/probe_process.h"
#include "ui/window/message_bar.h"

#include <QAbstractItemModelTester>
#include <QCheckBox>
#include <QDropEvent>
#include <QMimeData>
#include <QTreeWidget>

using namespace headroom;
using namespace headroom::test;

class TestMeasuredSnapshots : public QObject
{
    Q_OBJECT

private slots:
    void aSnapshotLiesOverTheTimeline()
    {
        const Folder folder;
        const auto window = opened(folder, engine(), examplePlan(folder));
        QVERIFY(window);
        QVERIFY(window->openSnapshot(snapshot));
        QCOMPARE(window->tabs()->currentWidget(), window->timeline());
        QVERIFY(QFile::exists(folder.path("plan.runs/qwen3-8b-lora-rtx-4090-made-up.headroom-timeline.json")));
        TimelineChart *chart = window->timeline();
        // Nobody says where its phases begin: all of it over all of the step.
        QTRY_COMPARE(chart->snapshotOverlay().allocatedMost, Bytes{21538530816});
        QVERIFY(!chart->snapshotOverlay().step);
        QVERIFY2(chart->accessibleDescription().contains("where its phases begin is not known"),
                 qPrintable(chart->accessibleDescription()));
        // The run in which it was recorded says so.
        QVERIFY(window->importResult(gpuRun));
        window->tabs()->setCurrentWidget(chart);
        QTRY_COMPARE(chart->snapshotOverlay().step, std::optional<int>(2));
        QVERIFY(chart->accessibleDescription().contains("step 3 of the run, phase over phase"));
        QVERIFY(chart->accessibleDescription().contains("of 16 micro-batches the first one and the last"));
        // A first step is another kind of step.
        window->setStep(Estimate::Step::First);
        QTRY_VERIFY(chart->snapshotOverlay().points.empty());
        QVERIFY(chart->accessibleDescription().contains("not drawn: of step 3"));
        window->setStep(Estimate::Step::Steady);
        QTRY_VERIFY(!chart->snapshotOverlay().points.empty());

        // Crosshair and table say it too.
        chart->setCrosshair(chart->shown().peakEvent);
        QVERIFY2(chart->crosshairText().contains("Measured: 20.06 GiB allocated, 20.96 GiB reserved"), qPrintable(chart->crosshairText()));
        QAbstractTableModel *table = chart->table();
        QCOMPARE(table->columnCount(), int(TimelineTable::ColumnCount));
        QCOMPARE(table->headerData(TimelineTable::MeasuredAllocated, Qt::Horizontal).toString(), QString("Measured allocated (GiB)"));
        qlonglong highest = 0;
        for (int row = 0; row < table->rowCount(); ++row)
            highest = std::max(highest, table->index(row, TimelineTable::MeasuredAllocated).data(Qt::UserRole).toLongLong());
        QCOMPARE(highest, 21538530816LL);
        const QAbstractItemModelTester tester(table);

        // Switched off and on again.
        QAction *shown = actionOf(*window, "Show the snapshot on the timeline");
        QVERIFY(shown->isChecked());
        shown->trigger();
        QTRY_VERIFY(chart->snapshotOverlay().points.empty());
        QCOMPARE(chart->table()->columnCount(), int(TimelineTable::MeasuredAllocated));
        QVERIFY(!chart->accessibleDescription().contains("napshot"));
        shown->trigger();
        QTRY_VERIFY(!chart->snapshotOverlay().points.empty());
        // By its row too, where the tab lists it.
        window->tabs()->setCurrentWidget(window->measured());
        QTreeWidget *list = window->measured()->snapshotList();
        QVERIFY(list->isVisible());
        QCOMPARE(list->topLevelItemCount(), 1);
        QCOMPARE(list->topLevelItem(0)->text(1), QString("qwen3-8b-lora-rtx-4090-made-up"));
        list->topLevelItem(0)->setCheckState(0, Qt::Unchecked);
        QTRY_COMPARE(window->runs()->shownSnapshot(), -1);
        QVERIFY(!shown->isChecked());
        list->topLevelItem(0)->setCheckState(0, Qt::Checked);
        QTRY_COMPARE(window->runs()->shownSnapshot(), 0);
        // And removed after a question.
        int asked = 0;
        answer(QMessageBox::Yes, &asked);
        actionOf(*window, "Remove the shown snapshot")->trigger();
        QCOMPARE(asked, 1);
        QVERIFY(window->runs()->snapshots().empty() && !list->isVisible() && !shown->isEnabled());
        QVERIFY(!QFile::exists(folder.path("plan.runs/qwen3-8b-lora-rtx-4090-made-up.headroom-timeline.json")));
    }

    void snapshotsAreKeptWithThePlan()
    {
        const Folder folder;
        const QString plan = examplePlan(folder);
        {
            const auto window = opened(folder, engine(), plan);
            QVERIFY(window && window->openSnapshot(snapshot) && window->openSnapshot(snapshot)); // once is enough
            QCOMPARE(window->runs()->snapshots().size(), std::size_t{1});
        }
        const auto window = opened(folder, engine(), plan);
        QVERIFY(window);
        QCOMPARE(window->runs()->snapshots().size(), std::size_t{1});
        QTRY_VERIFY(!window->timeline()->snapshotOverlay().points.empty());
    }

    void aDroppedPickleIsReadByPython()
    {
        const Folder folder;
        // $3 is the timeline's file.
        const auto window = openedWith(folder, program(folder, "echo converting >&2\ncp '" + snapshot.toUtf8() + "' \"$3\""));
        QVERIFY(window);
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(folder.write("a snapshot.pickle", "\x80\x04N."))});
        QDragEnterEvent enter(QPoint(300, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(window.get(), &enter);
        QDropEvent drop(QPointF(300, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(window.get(), &drop);
        QTRY_COMPARE(window->runs()->snapshots().size(), std::size_t{1});
        QCOMPARE(window->runs()->snapshots().front().name, QString("a snapshot"));
        QTRY_VERIFY(!window->timeline()->snapshotOverlay().points.empty());
        QVERIFY(window->messages()->messages().isEmpty());
        QFile arguments(folder.path("arguments"));
        QVERIFY(arguments.open(QIODevice::ReadOnly));
        const QByteArray given = arguments.readAll();
        QVERIFY2(given.startsWith("snapshot --output ") && given.endsWith("-- " + folder.path("a snapshot.pickle").toUtf8() + "\n"), given);
    }

    void badSnapshotsAreSaid_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QByteArray>("content");
        QTest::addColumn<QString>("says");
        QTest::newRow("hostile pickle") << "x.pickle" << QByteArray("cos\nsystem\n")
                                        << "The snapshot could not be read. headroom_probe: refused";
        QTest::newRow("no timeline") << "x.headroom-timeline.json" << QByteArray("{}") << "headroom_memory_timeline";
        QTest::newRow("newer") << "x.headroom-timeline.json" << QByteArray("{\"headroom_memory_timeline\": 9}") << "newer";
        QTest::newRow("empty") << "x.headroom-timeline.json" << QByteArray() << "empty";
    }
    void badSnapshotsAreSaid()
    {
        QFETCH(QString, name);
        QFETCH(QByteArray, content);
        QFETCH(QString, says);
        const Folder folder;
        const auto window = openedWith(folder, program(folder, "echo 'headroom_probe: refused' >&2; exit 2"));
        QVERIFY(window);
        window->openSnapshot(folder.write(name, content));
        QTRY_COMPARE(window->messages()->messages().size(), 1);
        QVERIFY2(window->messages()->messages().first().contains(says, Qt::CaseInsensitive),
                 qPrintable(window->messages()->messages().first()));
        QVERIFY(window->runs()->snapshots().empty());
    }

    void aRunRecordsItsSnapshot()
    {
        const Folder folder;
        const auto window =
            openedWith(folder, program(folder, "case $1 in\nrun) cp '" + gpuRun.toUtf8() + "' \"$4\"; cp '" + gpuRun.toUtf8() +
                                                   "' \"${4%.headroom-probe.json}.rank1.headroom-probe.json\"\n"
                                                   "echo pickle >\"${4%/*}/snapshot.pickle\" ;;\n*) cp '" +
                                                   snapshot.toUtf8() + "' \"$3\" ;;\nesac"));
        QVERIFY(window);
        measure(*window, "On a GPU of this machine", [](MeasureDialog *dialog) {
            QVERIFY(!dialog->findChild<QCheckBox *>("snapshot")->isChecked());
            dialog->findChild<QCheckBox *>("snapshot")->setChecked(true);
            accept(dialog);
        });
        QTRY_COMPARE(window->runs()->snapshots().size(), std::size_t{1});
        // The same result twice is one: two ranks that differ are two, in which the first one is shown.
        QCOMPARE(window->runs()->runs().size(), std::size_t{1});
        QCOMPARE(window->tabs()->currentWidget(), window->measured());
        window->tabs()->setCurrentWidget(window->timeline());
        QTRY_COMPARE(window->timeline()->snapshotOverlay().step, std::optional<int>(2));
        measure(*window, "Dry run", [](MeasureDialog *dialog) {
            QVERIFY(!dialog->findChild<QCheckBox *>("snapshot")->isEnabled()); // nothing is recorded without a GPU
            dialog->reject();
        });
    }

    /// The run is said to have failed, not its snapshot, which is converted all the same and can be cancelled meanwhile.
    void aRunThatBreaksOffLeavesItsSnapshot()
    {
        const Folder folder;
        const QString go = folder.path("go");
        const auto window =
            openedWith(folder, program(folder, "case $1 in\nrun) cp '" + gpuRun.toUtf8() +
                                                   "' \"$4\"; echo pickle >\"${4%/*}/snapshot.pickle\"; echo 'KeyError: 7' >&2; exit 1 ;;\n"
                                                   "*) i=0; while [ ! -e '" +
                                                   go.toUtf8() + "' ] && [ $i -lt 300 ]; do sleep 0.1; i=$((i + 1)); done; cp '" +
                                                   snapshot.toUtf8() + "' \"$3\" ;;\nesac"));
        QVERIFY(window);
        measure(*window, "On a GPU of this machine", accept);
        QTRY_COMPARE(window->messages()->messages(), QStringList{"Measuring failed. KeyError: 7"});
        QCOMPARE(window->runs()->runs().size(), std::size_t{1});
        QTRY_VERIFY(isSaid(window->measured(), "Converting the snapshot"));
        QVERIFY(window->probe()->isRunning());
        QVERIFY(!actionOf(*window, "Dry run")->isEnabled() && !buttonOf(window->measured(), "Measure...")->isEnabled());
        QVERIFY(actionOf(*window, "Cancel measuring")->isEnabled() && buttonOf(window->measured(), "Cancel")->isVisible());
        folder.write("go", "go");
        QTRY_COMPARE(window->runs()->snapshots().size(), std::size_t{1});
        QCOMPARE(window->messages()->messages().size(), 1);
        QVERIFY(actionOf(*window, "Dry run")->isEnabled() && !actionOf(*window, "Cancel measuring")->isEnabled());
        QVERIFY(!buttonOf(window->measured(), "Cancel")->isVisible());
    }

    /// As "headroom plan a.pickle b.pickle c.pickle" opens them.
    void severalPicklesAreReadOneAfterTheOther()
    {
        const Folder folder;
        // $5 is the pickle; a line's end more makes another file of the same timeline.
        const auto window =
            openedWith(folder, program(folder, "case $5 in\n*b.pickle) echo 'headroom_probe: refused' >&2; exit 2 ;;\n"
                                               "*) cp '" +
                                                   snapshot.toUtf8() + "' \"$3\"; case $5 in *c.pickle) echo >>\"$3\" ;; esac ;;\nesac"));
        QVERIFY(window);
        for (const char *name : {"a.pickle", "b.pickle", "c.pickle"})
            QVERIFY(window->openSnapshot(folder.write(name, "\x80\x04N.")));
        QTRY_COMPARE(window->runs()->snapshots().size(), std::size_t{2});
        QCOMPARE(window->runs()->snapshots()[0].name, QString("a"));
        QCOMPARE(window->runs()->snapshots()[1].name, QString("c"));
        QCOMPARE(window->messages()->messages(), QStringList{"The snapshot could not be read. headroom_probe: refused"});
        QVERIFY(!window->probe()->isRunning());
    }

    void aHiddenSnapshotIsFoundByItsFile()
    {
        const Folder folder;
        const auto window = opened(folder, engine(), examplePlan(folder));
        QFile source(snapshot);
        QVERIFY(window && source.open(QIODevice::ReadOnly));
        QByteArray content = source.readAll();
        const auto open = [&](const char *name) { // each another file
            return window->openSnapshot(folder.write(name, content += '\n'));
        };
        QVERIFY(open("a.headroom-timeline.json") && open("b.headroom-timeline.json"));
        const MeasuredRuns &runs = *window->runs();
        const auto shown = [&] { return runs.shownSnapshot() < 0 ? QString() : runs.snapshots()[std::size_t(runs.shownSnapshot())].name; };
        QAction *action = actionOf(*window, "Show the snapshot on the timeline");
        window->runs()->setShownSnapshot(0);
        action->trigger();
        QCOMPARE(shown(), QString());
        action->trigger();
        QCOMPARE(shown(), QString("a"));
        // It goes while it is hidden: the newest is shown, not the one in its place.
        action->trigger();
        QVERIFY(!window->runs()->removeSnapshot(0) && open("c.headroom-timeline.json"));
        window->runs()->setShownSnapshot(-1);
        action->trigger();
        QCOMPARE(shown(), QString("c"));
    }

    void hintsOfSnapshotsFollowTheUnit()
    {
        const Folder folder;
        const auto window = opened(folder, engine(), examplePlan(folder));
        QVERIFY(window && window->openSnapshot(snapshot));
        const auto hint = [&] { return window->measured()->snapshotList()->topLevelItem(0)->toolTip(0); };
        QVERIFY2(hint().contains("20.06 GiB allocated"), qPrintable(hint()));
        window->display().setUnit(ByteUnit::Decimal);
        QVERIFY2(hint().contains("21.54 GB allocated"), qPrintable(hint())); // 21538530816 bytes
    }
};

QTEST_MAIN(TestMeasuredSnapshots)
#include "test_measured_snapshots.moc"
