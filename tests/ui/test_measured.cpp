// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The Measured tab: runs are imported, compared with the prediction, drawn and exported.
#include "measured_fixture.h"

#include "ui/charts/memory_chart.h"
#include "ui/charts/timeline_chart.h"
#include "ui/window/message_bar.h"

#include <QAbstractItemModelTester>
#include <QClipboard>
#include <QDropEvent>
#include <QFileDialog>
#include <QLineEdit>
#include <QMimeData>
#include <QTreeView>

using namespace headroom;
using namespace headroom::test;

class TestMeasured : public QObject
{
    Q_OBJECT

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
