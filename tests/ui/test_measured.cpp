// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The Measured tab: runs are imported, told apart, kept with the plan and compared; a run is started, followed and cancelled.
#include "window_fixture.h"

#include "core/measure/probe_result.h"
#include "ui/charts/memory_chart.h"
#include "ui/charts/timeline_chart.h"
#include "ui/charts/timeline_table.h"
#include "ui/measured/comparison_model.h"
#include "ui/measured/measure_dialog.h"
#include "ui/measured/measured_runs.h"
#include "ui/measured/measured_view.h"
#include "ui/measured/probe_process.h"
#include "ui/window/message_bar.h"

#include <QAbstractItemModelTester>
#include <QCheckBox>
#include <QClipboard>
#include <QDialogButtonBox>
#include <QDropEvent>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QRadioButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTabWidget>
#include <QTreeView>
#include <QTreeWidget>

using namespace headroom;
using namespace headroom::test;

namespace {

const QString results = QStringLiteral(HEADROOM_SOURCE_DIR "/tests/data/results/");
const QString dryRun = results + "qwen3-8b-lora-dry-run.headroom-probe.json";
const QString gpuRun = results + "qwen3-8b-lora-rtx-4090-made-up.headroom-probe.json";
const QString snapshot = results + "qwen3-8b-lora-rtx-4090-made-up.headroom-timeline.json";
const QString outOfMemory = results + "qwen3-8b-lora-out-of-memory-made-up.headroom-probe.json";
const QString example = QStringLiteral(HEADROOM_SOURCE_DIR "/presets/examples/qwen3-8b-lora-24gb.headroom.json");

EstimateRunner::Function engine()
{
    return [](const TrainingPlan &plan, std::stop_token cancel) { return estimate(plan, std::move(cancel)); };
}

/// The example in the test's own folder: runs are kept beside it.
QString examplePlan(const Folder &folder)
{
    QFile file(example);
    return file.open(QIODevice::ReadOnly) ? folder.write("plan.headroom.json", file.readAll()) : QString();
}

QString cell(MainWindow &window, const char *figure, int column)
{
    const QModelIndex index = window.measured()->model()->find(figure);
    return index.isValid() ? index.siblingAtColumn(column).data().toString() : QStringLiteral("no row");
}

bool compared(MainWindow &window, const char *figure)
{
    return QTest::qWaitFor([&] { return window.measured()->model()->find(figure).isValid(); });
}

QPushButton *buttonOf(QWidget *of, const QString &text)
{
    for (QPushButton *button : of->findChildren<QPushButton *>())
        if (button->text().remove('&') == text)
            return button;
    return nullptr;
}

bool isSaid(QWidget *of, const QString &text)
{
    for (const QLabel *label : of->findChildren<QLabel *>())
        if (label->isVisible() && label->text().contains(text))
            return true;
    return false;
}

} // namespace

class TestMeasured : public QObject
{
    Q_OBJECT

    /// A stand-in for headroom-probe: a script that does what `body` says; $4 is the result's file.
    static QString program(const Folder &folder, const QByteArray &body)
    {
        const QString file = folder.write("probe.sh", "#!/bin/sh\necho \"$@\" >" + folder.path("arguments").toUtf8() + "\n" + body + "\n");
        QFile::setPermissions(file, QFile::ReadOwner | QFile::ExeOwner);
        return file;
    }

    static std::unique_ptr<MainWindow> openedWith(const Folder &folder, const QString &program)
    {
        WindowPaths paths = folder.paths();
        paths.probeProgram = program;
        auto window = std::make_unique<MainWindow>(engine(), paths);
        window->start(examplePlan(folder));
        window->show();
        const bool isActive = QTest::qWaitForWindowActive(window.get());
        return isActive && settled(*window) ? std::move(window) : nullptr;
    }

    static void measure(MainWindow &window, const QString &action, const std::function<void(MeasureDialog *)> &act)
    {
        whenAsked<MeasureDialog>(act);
        actionOf(window, action)->trigger();
    }

    static void accept(MeasureDialog *dialog)
    {
        QTest::mouseClick(dialog->findChild<QDialogButtonBox *>()->button(QDialogButtonBox::Ok), Qt::LeftButton);
    }

private slots:
    void emptyTabSaysWhatToDo()
    {
        const Folder folder;
        const auto window = opened(folder);
        QVERIFY(window);
        window->tabs()->setCurrentWidget(window->measured());
        QVERIFY(isSaid(window->measured(), "Nothing has been measured yet"));
        QVERIFY(!buttonOf(window->measured(), "Remove")->isEnabled());
        QVERIFY(!actionOf(*window, "Remove the chosen run")->isEnabled());
        QVERIFY(!actionOf(*window, "Cancel measuring")->isEnabled());
    }

    void anImportedRunStandsBesideThePrediction()
    {
        const Folder folder;
        const auto window = opened(folder, engine(), examplePlan(folder));
        QVERIFY(window);
        QAbstractItemModelTester tester(window->measured()->model(), QAbstractItemModelTester::FailureReportingMode::QtTest);
        QVERIFY(window->importResult(gpuRun));
        QCOMPARE(window->tabs()->currentWidget(), window->measured());
        QVERIFY(compared(*window, "peak.device"));
        QCOMPARE(cell(*window, "peak.allocated", ComparisonModel::Predicted), QString("20.00 GiB"));
        QCOMPARE(cell(*window, "peak.allocated", ComparisonModel::Measured), QString("20.06 GiB"));
        QCOMPARE(cell(*window, "peak.allocated", ComparisonModel::Error), QString("-0.29 %"));
        QVERIFY(cell(*window, "peak.allocated", ComparisonModel::Difference).startsWith('-'));
        QCOMPARE(cell(*window, "parameters.total", ComparisonModel::Measured), QString("8,234,382,336"));
        QVERIFY(isSaid(window->measured(), "allocated -0.29 %"));
        QVERIFY(!buttonOf(window->measured(), "Take the run's plan")->isVisible());
        // Units switch here as everywhere.
        actionOf(*window, "Sizes in GB")->trigger();
        QCOMPARE(cell(*window, "peak.allocated", ComparisonModel::Predicted), QString("21.48 GB"));
        actionOf(*window, "Sizes in GiB")->trigger();
    }

    void thePredictionFollowsThePlan()
    {
        const Folder folder;
        const auto window = opened(folder, engine(), examplePlan(folder));
        QVERIFY(window && window->importResult(dryRun) && compared(*window, "peak.allocated"));
        QCOMPARE(cell(*window, "peak.allocated", ComparisonModel::Error), QString("0 %"));
        QVERIFY(!window->document().setField(*findField("batch.sequence_length"), std::int64_t{1024}));
        QTRY_VERIFY(cell(*window, "peak.allocated", ComparisonModel::Error) != QString("0 %"));
        QVERIFY(isSaid(window->measured(), "Sequence length"));
        // And back, by taking the plan that ran, which undo takes back.
        QPushButton *take = buttonOf(window->measured(), "Take the run's plan");
        QVERIFY(take->isVisible());
        QTest::mouseClick(take, Qt::LeftButton);
        QCOMPARE(window->document().plan().batch.sequenceLength, std::int64_t{2048});
        QCOMPARE(window->document().plan().model.preset, std::string("Qwen/Qwen3-8B"));
        QTRY_COMPARE(cell(*window, "peak.allocated", ComparisonModel::Error), QString("0 %"));
        QVERIFY(!take->isVisible());
        actionOf(*window, "Undo")->trigger();
        QCOMPARE(window->document().plan().batch.sequenceLength, std::int64_t{1024});
    }

    void aRunThatDiedSaysWhere()
    {
        const Folder folder;
        const auto window = opened(folder, engine(), examplePlan(folder));
        QVERIFY(window && window->importResult(outOfMemory) && compared(*window, "first_step.phases.loss.allocated"));
        QVERIFY(isSaid(window->measured(), "ran out of memory in step 1, in backward"));
        QVERIFY(isSaid(window->measured(), "Micro-batch (2 sequences there, 1 sequence here)"));
    }

    void runsAreKeptWithThePlanAndToldApart()
    {
        const Folder folder;
        const QString plan = examplePlan(folder);
        {
            const auto window = opened(folder, engine(), plan);
            QVERIFY(window && window->importResult(dryRun) && window->importResult(gpuRun));
            QVERIFY(window->importResult(dryRun)); // once is enough
            QCOMPARE(window->runs()->runs().size(), std::size_t{2});
            QVERIFY(QFile::exists(folder.path("plan.runs/qwen3-8b-lora-dry-run.headroom-probe.json")));
        }
        const auto window = opened(folder, engine(), plan);
        QVERIFY(window);
        window->tabs()->setCurrentWidget(window->measured());
        QTreeWidget *list = window->measured()->list();
        QCOMPARE(list->topLevelItemCount(), 2);
        QStringList where;
        for (int i = 0; i < 2; ++i) {
            where << list->topLevelItem(i)->text(1);
            QVERIFY(!list->topLevelItem(i)->text(2).isEmpty());
            QVERIFY(list->topLevelItem(i)->toolTip(0).contains("transformers 5.24.0"));
        }
        where.sort();
        QCOMPARE(where, (QStringList{"NVIDIA GeForce RTX 4090, torch 2.13.0", "dry run, torch 2.13.0+cpu"}));
        // A click shows the other one.
        const int other = window->runs()->current() == 0 ? 1 : 0;
        const bool isGpu = list->topLevelItem(other)->text(1).startsWith("NVIDIA");
        QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, list->visualItemRect(list->topLevelItem(other)).center());
        QCOMPARE(window->runs()->current(), other);
        QTRY_COMPARE(window->measured()->model()->find("peak.device").isValid(), isGpu);
        // And a run is removed after a question.
        int asked = 0;
        answer(QMessageBox::Yes, &asked);
        QTest::mouseClick(buttonOf(window->measured(), "Remove"), Qt::LeftButton);
        QCOMPARE(asked, 1);
        QCOMPARE(window->runs()->runs().size(), std::size_t{1});
    }

    void runsOfANewPlanMoveWhenItIsSaved()
    {
        const Folder folder;
        const auto window = opened(folder, engine());
        QVERIFY(window && window->importResult(dryRun));
        const QString unsaved = window->runs()->runs().front().file;
        QVERIFY(unsaved.startsWith(folder.path("data")));
        MeasuredRuns *runs = window->runs();
        QVERIFY(!runs->follow({}, folder.path("kept.headroom.json")));
        QCOMPARE(runs->runs().size(), std::size_t{1});
        QCOMPARE(runs->runs().front().file, folder.path("kept.runs/qwen3-8b-lora-dry-run.headroom-probe.json"));
        QVERIFY(!QFile::exists(unsaved));
    }

    void aNewPlanHasNoRuns()
    {
        const Folder folder;
        const auto window = opened(folder, engine());
        QVERIFY(window && window->importResult(dryRun));
        int asked = 0;
        answer(QMessageBox::Discard, &asked);
        actionOf(*window, "New")->trigger();
        QCOMPARE(asked, 1);
        QVERIFY(window->runs()->runs().empty());
        QVERIFY(!window->measured()->model()->find("peak.allocated").isValid() || window->measured()->model()->rowCount() == 0);
    }

    void badResultsAreRefusedInPlace_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("says");
        QTest::newRow("empty") << QByteArray() << "empty";
        QTest::newRow("newer") << QByteArray("{\"headroom_probe\": 7}") << "newer";
        QTest::newRow("nested") << QByteArray(1'000'000, '[') << "nested";
        QTest::newRow("not UTF-8") << QByteArray("{\"\xff\": 1}") << "UTF-8";
        QTest::newRow("a plan") << QByteArray("{\"headroom_plan\": 1}") << "this is a plan";
    }
    void badResultsAreRefusedInPlace()
    {
        QFETCH(QByteArray, text);
        QFETCH(QString, says);
        const Folder folder;
        const auto window = opened(folder);
        QVERIFY(window);
        const TrainingPlan before = window->document().plan();
        QVERIFY(!window->importResult(folder.write("bad.headroom-probe.json", text)));
        QCOMPARE(window->messages()->messages().size(), 1);
        QVERIFY2(window->messages()->messages().first().contains(says, Qt::CaseInsensitive),
                 qPrintable(window->messages()->messages().first()));
        QVERIFY(window->runs()->runs().empty());
        QVERIFY(window->document().plan() == before);
    }

    void aDroppedResultIsImported()
    {
        const Folder folder;
        const auto window = opened(folder, engine(), examplePlan(folder));
        QVERIFY(window);
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(gpuRun)});
        // A drop goes to what the drag has entered.
        QDragEnterEvent enter(QPoint(300, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(window.get(), &enter);
        QDropEvent drop(QPointF(300, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(window.get(), &drop);
        QCOMPARE(window->runs()->runs().size(), std::size_t{1});
        QVERIFY(window->document().file().endsWith("plan.headroom.json"));
    }

    void chartsCarryTheMeasuredPeaks()
    {
        const Folder folder;
        const auto window = opened(folder, engine(), examplePlan(folder));
        QVERIFY(window && window->importResult(gpuRun) && compared(*window, "peak.device"));
        const auto marks = [&] {
            std::vector<Bytes> found;
            window->memoryChart()->grab();
            for (const BarShape &shape : window->memoryChart()->shapes())
                if (shape.kind == BarShape::Kind::Measured)
                    found.push_back(shape.bytes);
            return found;
        };
        const ProbeResult &result = window->runs()->currentRun()->result;
        QTRY_COMPARE(marks(), (std::vector<Bytes>{result.steps[2].allocated, *result.steps[2].reserved, *result.steps[2].device}));
        window->setStep(Estimate::Step::First);
        QTRY_COMPARE(marks(), (std::vector<Bytes>{result.steps[0].allocated, *result.steps[0].reserved, *result.steps[0].device}));
        QVERIFY(window->memoryChart()->accessibleDescription().contains("Measured allocated"));
        const auto timeline = window->timeline()->measuredMarks();
        QVERIFY(std::find(timeline.begin(), timeline.end(), std::pair(Phase::Forward, result.steps[0].phases[0].allocated)) !=
                timeline.end());
        // Without a run they go.
        int asked = 0;
        answer(QMessageBox::Yes, &asked);
        actionOf(*window, "Remove the chosen run")->trigger();
        QTRY_VERIFY(marks().empty());
        QVERIFY(window->timeline()->measuredMarks().empty());
    }

    void rowsAreCopied()
    {
        const Folder folder;
        const auto window = opened(folder, engine(), examplePlan(folder));
        QVERIFY(window && window->importResult(gpuRun) && compared(*window, "peak.allocated"));
        QTreeView *table = window->measured()->table();
        table->setCurrentIndex(window->measured()->model()->find("peak.allocated"));
        table->setFocus();
        QTest::keyClick(table, Qt::Key_C, Qt::ControlModifier);
        QVERIFY2(QApplication::clipboard()->text().startsWith("allocated\t20.00 GiB\t20.06 GiB\t"),
                 qPrintable(QApplication::clipboard()->text()));
        QVERIFY(window->measured()->csv().contains("backward, allocated"));
    }

    // --- snapshots ---

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
        measure(*window, "On a GPU of this machine", &TestMeasured::accept);
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

    void everyRankOfARunIsKept()
    {
        const Folder folder;
        const auto window =
            openedWith(folder, program(folder, "cp '" + gpuRun.toUtf8() +
                                                   "' \"$4\"\nsed 's/\"rank\": 0/\"rank\": 1/; s/\"ranks\": 1/\"ranks\": 2/' '" +
                                                   gpuRun.toUtf8() + "' >\"${4%.headroom-probe.json}.rank1.headroom-probe.json\""));
        QVERIFY(window);
        measure(*window, "On a GPU of this machine", &TestMeasured::accept);
        QTRY_COMPARE(window->runs()->runs().size(), std::size_t{2});
        QCOMPARE(window->runs()->currentRun()->result.rank, 0);
        QVERIFY(window->runs()->runs().front().name.endsWith("-gpu-rank1"));
    }

    /// It was dearly measured: a plan's folder that takes nothing costs no run.
    void aRunThatCannotBeStoredIsKeptElsewhere()
    {
        const Folder folder;
        const auto window =
            openedWith(folder, program(folder, "cp '" + gpuRun.toUtf8() +
                                                   "' \"$4\"\nsed 's/\"rank\": 0/\"rank\": 1/; s/\"ranks\": 1/\"ranks\": 2/' '" +
                                                   gpuRun.toUtf8() + "' >\"${4%.headroom-probe.json}.rank1.headroom-probe.json\""));
        QVERIFY(window);
        folder.write("plan.runs", "a file");
        measure(*window, "On a GPU of this machine", &TestMeasured::accept);
        const QDir kept(folder.path("data/kept-runs"));
        QTRY_COMPARE(kept.entryList(QDir::Files).size(), 2);
        QTRY_COMPARE(window->messages()->messages().size(), 1); // of both ranks
        const QString said = window->messages()->messages().join('\n');
        for (const char *text : {"a file has the name of the folder", "rename that file", "kept-runs"})
            QVERIFY2(said.contains(text), qPrintable(said));
        // An import says so too; once the file is out of the way, what was kept comes in.
        QVERIFY(!window->importResult(dryRun));
        QVERIFY(window->messages()->messages().join('\n').count("rename that file") >= 2);
        QVERIFY(QFile::remove(folder.path("plan.runs")));
        for (const QString &name : kept.entryList(QDir::Files)) {
            QVERIFY(said.contains(name));
            QVERIFY(window->importResult(kept.filePath(name)));
        }
        QCOMPARE(window->runs()->runs().size(), std::size_t{2});
        QVERIFY(window->runs()->runs()[0].result.rank != window->runs()->runs()[1].result.rank);
    }

    // --- what goes with a plan that has no file ---

    /// They were left by a window that ended with an unsaved plan, and another plan is opened with the next start.
    void runsLeftByAnUnsavedPlanAreNotLost()
    {
        const Folder folder;
        const QString plan = examplePlan(folder);
        {
            const auto window = opened(folder, engine());
            QVERIFY(window && window->importResult(dryRun) && window->close());
        }
        const auto window = opened(folder, engine(), plan);
        QVERIFY(window);
        QCOMPARE(window->document().file(), plan);
        QVERIFY2(window->messages()->messages().join('\n').contains("was kept as"), "said");
        QVERIFY(QFile::exists(folder.path("data/unsaved.runs/qwen3-8b-lora-dry-run.headroom-probe.json")));
    }

    void newShowsRunsThatNobodyWasAskedAbout()
    {
        const Folder folder;
        const auto window = opened(folder, engine(), examplePlan(folder));
        QVERIFY(window);
        MeasuredRuns left(MeasuredRuns::unsavedFolder(folder.path("data/working-plan.json")));
        QVERIFY(!left.add(dryRun));
        actionOf(*window, "New")->trigger();
        QCOMPARE(window->runs()->runs().size(), std::size_t{1});
        QVERIFY(QFile::exists(left.runs().front().file));
        QCOMPARE(window->messages()->messages().size(), 1);
        int asked = 0;
        answer(QMessageBox::Discard, &asked);
        actionOf(*window, "New")->trigger();
        QCOMPARE(asked, 1);
        QVERIFY(window->runs()->runs().empty());
    }

    void newAsksForRunsOfAnUnsavedPlan()
    {
        const Folder folder;
        const auto window = opened(folder, engine());
        QVERIFY(window && window->importResult(dryRun));
        QVERIFY(!window->document().isModified());
        int asked = 0;
        answer(QMessageBox::Cancel, &asked);
        actionOf(*window, "New")->trigger();
        QCOMPARE(asked, 1);
        QCOMPARE(window->runs()->runs().size(), std::size_t{1});
    }

    void whatIsDiscardedIsNotMetAgain()
    {
        const Folder folder;
        {
            const auto window = opened(folder, engine());
            QVERIFY(window && window->importResult(dryRun));
            QVERIFY(!window->document().setField(*findField("batch.sequence_length"), std::int64_t{1024}));
            int asked = 0;
            answer(QMessageBox::Discard, &asked);
            QVERIFY(window->close());
            QCOMPARE(asked, 1);
        }
        const auto window = opened(folder, engine());
        QVERIFY(window && window->runs()->runs().empty());
    }

    void anUnchangedPlanComesBackWithItsRuns()
    {
        const Folder folder;
        {
            const auto window = opened(folder, engine());
            QVERIFY(window && window->importResult(dryRun) && window->close()); // without a question
        }
        const auto window = opened(folder, engine());
        QVERIFY(window);
        QCOMPARE(window->runs()->runs().size(), std::size_t{1});
    }

    void twoWindowsKeepTheirRunsApart()
    {
        const Folder folder;
        const auto first = opened(folder, engine()), second = opened(folder, engine());
        QVERIFY(first && second);
        QVERIFY(first->importResult(dryRun) && second->importResult(gpuRun));
        QVERIFY(QFileInfo(first->runs()->runs().front().file).path() != QFileInfo(second->runs()->runs().front().file).path());
        first->runs()->clearUnsaved();
        QVERIFY(QFile::exists(second->runs()->runs().front().file));
    }

    void runsComeWithThePlanThatAnotherWindowLeft()
    {
        const Folder folder;
        const QString left = MeasuredRuns::unsavedFolder(folder.path("data/working-plan-2.json"));
        QCOMPARE(left, folder.path("data/unsaved-runs-2"));
        MeasuredRuns other(left), own(MeasuredRuns::unsavedFolder(folder.path("data/working-plan.json")));
        QVERIFY(!other.add(dryRun) && !other.addSnapshot({}, snapshot));
        own.adopt(left);
        QCOMPARE(own.runs().size(), std::size_t{1});
        QCOMPARE(own.snapshots().size(), std::size_t{1});
        QVERIFY(own.hasUnsaved());
        QVERIFY(QDir(left).isEmpty());
    }

    // --- measuring ---

    void measuringGivesARun()
    {
        const Folder folder;
        const QString probe = program(folder, "echo 'step 1 of 3: forward' >&2\ncp '" + dryRun.toUtf8() + "' \"$4\"");
        const auto window = openedWith(folder, probe);
        QVERIFY(window);
        measure(*window, "Dry run", [](MeasureDialog *dialog) {
            QVERIFY(dialog->findChild<QRadioButton *>("dry")->isChecked());
            dialog->findChild<QLineEdit *>("python")->setText("/a b/python; $(x)");
            dialog->findChild<QSpinBox *>("steps")->setValue(5);
            accept(dialog);
        });
        QTRY_COMPARE(window->runs()->runs().size(), std::size_t{1});
        QVERIFY(window->runs()->currentRun()->name.endsWith("-dry-run"));
        QVERIFY(compared(*window, "peak.allocated"));
        QFile arguments(folder.path("arguments"));
        QVERIFY(arguments.open(QIODevice::ReadOnly));
        const QByteArray given = arguments.readAll();
        QVERIFY2(given.startsWith("run ") && given.contains("--steps 5 --python /a b/python; $(x) --dry-run"), given);
        // It is remembered.
        measure(*window, "Dry run", [](MeasureDialog *dialog) {
            QCOMPARE(dialog->findChild<QLineEdit *>("python")->text(), QString("/a b/python; $(x)"));
            QCOMPARE(dialog->findChild<QSpinBox *>("steps")->value(), 5);
            dialog->reject();
        });
        QCOMPARE(window->runs()->runs().size(), std::size_t{1});
    }

    void measuringCanBeCancelled()
    {
        const Folder folder;
        const auto window = openedWith(folder, program(folder, "trap 'exit 130' TERM\necho 'importing libraries' >&2\nsleep 60 & wait"));
        QVERIFY(window);
        measure(*window, "On another machine over SSH", [](MeasureDialog *dialog) {
            QPushButton *ok = dialog->findChild<QDialogButtonBox *>()->button(QDialogButtonBox::Ok);
            QVERIFY(!ok->isEnabled()); // which machine?
            dialog->findChild<QLineEdit *>("host")->setText("-oProxyCommand=x");
            QVERIFY(!ok->isEnabled());
            dialog->findChild<QLineEdit *>("host")->setText("user@");
            QVERIFY(!ok->isEnabled());
            dialog->findChild<QLineEdit *>("host")->setText("user@gpu");
            QVERIFY(ok->isEnabled());
            accept(dialog);
        });
        QTRY_VERIFY(isSaid(window->measured(), "importing libraries"));
        QVERIFY(!actionOf(*window, "Dry run")->isEnabled());
        QSignalSpy cancelled(window->probe(), &ProbeProcess::cancelled);
        QTest::mouseClick(buttonOf(window->measured(), "Cancel"), Qt::LeftButton);
        QTRY_COMPARE_WITH_TIMEOUT(cancelled.count(), 1, 20'000);
        QVERIFY(!window->probe()->isRunning());
        QVERIFY(actionOf(*window, "Dry run")->isEnabled());
        QVERIFY(window->runs()->runs().empty());
        QVERIFY(window->messages()->messages().isEmpty());
        QFile arguments(folder.path("arguments"));
        QVERIFY(arguments.open(QIODevice::ReadOnly) && arguments.readAll().contains("--ssh user@gpu"));
    }

    void whatGoesWrongIsSaid_data()
    {
        QTest::addColumn<QByteArray>("body");
        QTest::addColumn<QString>("says");
        QTest::newRow("library missing") << QByteArray("echo 'torch is missing' >&2; exit 3") << "torch is missing";
        QTest::newRow("the plan, by the name that the user knows")
            << QByteArray("echo \"headroom_probe: $2: attention: no kernel\" >&2; exit 2")
            << "headroom_probe: plan.headroom.json: attention";
        QTest::newRow("killed") << QByteArray("kill -KILL $$") << "Measuring failed";
        QTest::newRow("garbage") << QByteArray("head -c 200000 /dev/urandom >&2; exit 1") << "Measuring failed";
        QTest::newRow("broken result") << QByteArray("echo '{' >\"$4\"") << "not valid JSON";
    }
    void whatGoesWrongIsSaid()
    {
        QFETCH(QByteArray, body);
        QFETCH(QString, says);
        const Folder folder;
        const auto window = openedWith(folder, program(folder, body));
        QVERIFY(window);
        measure(*window, "On a GPU of this machine", &TestMeasured::accept);
        QTRY_COMPARE(window->messages()->messages().size(), 1);
        QVERIFY2(window->messages()->messages().first().contains(says), qPrintable(window->messages()->messages().first()));
        QVERIFY(window->runs()->runs().empty());
    }

    void aProgramThatIsNotThereIsSaid()
    {
        const Folder folder;
        const auto window = openedWith(folder, folder.path("no-such-program"));
        QVERIFY(window);
        measure(*window, "On a GPU of this machine", &TestMeasured::accept);
        QTRY_COMPARE(window->messages()->messages().size(), 1);
        QVERIFY(window->messages()->messages().first().contains("could not be started"));
        QVERIFY(!window->probe()->isRunning());
    }

    void closingTheWindowEndsTheRun()
    {
        const Folder folder;
        auto window = openedWith(
            folder, program(folder, "trap 'touch " + folder.path("ended").toUtf8() + "; exit 130' TERM\necho on >&2\nsleep 60 & wait"));
        QVERIFY(window);
        measure(*window, "On a GPU of this machine", &TestMeasured::accept);
        QTRY_VERIFY(isSaid(window->measured(), "on"));
        QTest::qWait(200);
        window.reset();
        QTRY_VERIFY(QFile::exists(folder.path("ended")));
    }

    /// headroom-probe is asked a second time, which makes it kill what does not hear; only then is it killed itself.
    void closingTheWindowEndsADeafRunToo()
    {
        const Folder folder;
        auto window = openedWith(folder, program(folder, "trap 'echo asked >>" + folder.path("asked").toUtf8() +
                                                             "' TERM\necho on >&2\ni=0\nwhile [ $i -lt 300 ]; do sleep 0.1; i=$((i + 1)); "
                                                             "[ \"$(wc -l <" +
                                                             folder.path("asked").toUtf8() + ")\" = 2 ] && exit 130; done 2>/dev/null"));
        QVERIFY(window);
        measure(*window, "On a GPU of this machine", &TestMeasured::accept);
        QTRY_VERIFY(isSaid(window->measured(), "on"));
        QTest::qWait(200);
        window.reset();
        QFile asked(folder.path("asked"));
        QVERIFY(asked.open(QIODevice::ReadOnly));
        QCOMPARE(asked.readAll(), QByteArray("asked\nasked\n"));
    }

    void theComparisonIsExportedAsThePlanIs()
    {
        const Folder folder;
        const auto window = opened(folder, engine(), examplePlan(folder));
        QVERIFY(window && window->importResult(dryRun) && compared(*window, "peak.allocated"));
        const QString before = window->measured()->csv();
        QVERIFY(!window->document().setField(*findField("batch.sequence_length"), std::int64_t{1024}));
        QCOMPARE(window->measured()->csv(), before); // the estimate is still being made
        const QString file = folder.path("comparison.csv");
        whenAsked<QFileDialog>([file](QFileDialog *dialog) {
            dialog->findChild<QLineEdit *>("fileNameEdit")->setText(file);
            QMetaObject::invokeMethod(dialog, "accept", Qt::QueuedConnection);
        });
        actionOf(*window, "Export the comparison as CSV")->trigger();
        QTRY_VERIFY(QFile::exists(file));
        QFile written(file);
        QVERIFY(written.open(QIODevice::ReadOnly));
        const QByteArray text = written.readAll();
        QVERIFY(text != before.toUtf8());
        QCOMPARE(text, window->measured()->csv().toUtf8());
    }

    /// What was asked of a run that is shown no more does not come up with another one.
    void anExportEndsWithItsRun()
    {
        const Folder folder;
        const auto window = opened(folder, engine(), examplePlan(folder));
        QVERIFY(window && window->importResult(dryRun) && compared(*window, "peak.allocated"));
        int asked = 0;
        QTimer refusal;
        connect(&refusal, &QTimer::timeout, this, [&] {
            if (auto *dialog = qobject_cast<QFileDialog *>(QApplication::activeModalWidget())) {
                ++asked;
                dialog->reject();
            }
        });
        refusal.start(5);
        const auto exportWhileBusy = [&](std::int64_t length) {
            QVERIFY(!window->document().setField(*findField("batch.sequence_length"), length));
            actionOf(*window, "Export the comparison as CSV")->trigger();
        };
        const auto isComparedWith = [&](const QString &allocated) {
            return QTest::qWaitFor([&] { return cell(*window, "peak.allocated", ComparisonModel::Measured) == allocated; });
        };
        exportWhileBusy(1024); // and the run is removed
        QVERIFY(!window->runs()->remove(0));
        QVERIFY(settled(*window) && window->importResult(gpuRun));
        QVERIFY(isComparedWith("20.06 GiB"));
        exportWhileBusy(2048); // and another one comes
        QVERIFY(window->importResult(dryRun));
        QVERIFY(QTest::qWaitFor([&] { return cell(*window, "peak.allocated", ComparisonModel::Measured) != "20.06 GiB"; }));
        QTest::qWait(50);
        QCOMPARE(asked, 0);
    }
};

QTEST_MAIN(TestMeasured)
#include "test_measured.moc"
