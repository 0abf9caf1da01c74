// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Models and GPUs are found by typing and taken by keyboard or mouse; what is not supported says why.
#include "ui/choosers/gpu_chooser.h"
#include "ui/choosers/model_chooser.h"
#include "ui/choosers/model_list.h"
#include "window_fixture.h"

#include <QAbstractItemModelTester>
#include <QAbstractItemView>
#include <QCompleter>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QSignalSpy>
#include <QTest>

using namespace headroom;

class TestChoosers : public QObject
{
    Q_OBJECT
private slots:
    void modelsHoldTheirContract();
    void unsupportedModelsSayWhy();
    void searchTakesWordsInAnyOrder();
    void typingAndEnterTakesAModel();
    void theListIsWalkedByKeyboard();
    void escapeKeepsTheModel();
    void nonsenseChoosesNothing();
    void gpusAreTickedByMouseAndKeyboard();
    void tickingKeepsTheOrderOfRows();
    void gpuSearchAndUnits();
    void unknownGpusAreNamed();
};

void TestChoosers::modelsHoldTheirContract()
{
    ModelList models;
    const QAbstractItemModelTester tester(&models, QAbstractItemModelTester::FailureReportingMode::QtTest);
    QCOMPARE(models.rowCount(), static_cast<int>(modelPresets().size()));
    WordFilter filter(ModelList::SearchRole);
    const QAbstractItemModelTester filterTester(&filter, QAbstractItemModelTester::FailureReportingMode::QtTest);
    filter.setSourceModel(&models);
    filter.setSearch("qwen");
    DisplaySettings display;
    GpuList gpuList(&display);
    const QAbstractItemModelTester gpuTester(&gpuList, QAbstractItemModelTester::FailureReportingMode::QtTest);
    gpuList.setChosen({"nvidia-rtx-4090-24gb"});
    gpuList.arrange();
    QCOMPARE(gpuList.rowCount(), static_cast<int>(gpus().size()));
}

void TestChoosers::unsupportedModelsSayWhy()
{
    const ModelList models;
    int unsupported = 0;
    for (int row = 0; row < models.rowCount(); ++row) {
        const ModelPreset &preset = modelPresets()[static_cast<std::size_t>(row)];
        const QModelIndex index = models.index(row);
        QCOMPARE(index.flags().testFlag(Qt::ItemIsEnabled), preset.supported);
        if (preset.supported)
            continue;
        ++unsupported;
        QVERIFY2(index.data(Qt::ToolTipRole).toString().contains(QString::fromStdString(preset.unsupportedReason)), preset.id.c_str());
        QVERIFY(!preset.unsupportedReason.empty());
    }
    QVERIFY(unsupported > 0);
}

void TestChoosers::searchTakesWordsInAnyOrder()
{
    ModelList models;
    WordFilter filter(ModelList::SearchRole);
    filter.setSourceModel(&models);
    filter.setSearch("8b QWEN3");
    QVERIFY(filter.rowCount() > 0);
    QStringList found;
    for (int row = 0; row < filter.rowCount(); ++row)
        found << filter.index(row, 0).data().toString();
    QVERIFY2(found.contains("Qwen/Qwen3-8B"), qPrintable(found.join(", ")));
    for (const QString &id : found)
        QVERIFY2(id.contains("8B", Qt::CaseInsensitive), qPrintable(id));
    filter.setSearch({});
    QCOMPARE(filter.rowCount(), models.rowCount());
}

void TestChoosers::typingAndEnterTakesAModel()
{
    ModelChooser chooser;
    chooser.setModel({"Qwen/Qwen3-8B", {}, {}});
    chooser.show();
    QSignalSpy chosen(&chooser, &ModelChooser::presetChosen);
    chooser.setFocus();
    chooser.selectAll();
    QTest::keyClicks(&chooser, "qwen3 0.6");
    QVERIFY(chooser.popupList()->popup()->isVisible());
    QTest::keyClick(&chooser, Qt::Key_Return);
    QCOMPARE(chosen.count(), 1);
    QVERIFY2(chosen.at(0).at(0).toString().startsWith("Qwen/Qwen3-0.6B"), qPrintable(chosen.at(0).at(0).toString()));
    QVERIFY(!chooser.popupList()->popup()->isVisible());
}

void TestChoosers::theListIsWalkedByKeyboard()
{
    ModelChooser chooser;
    chooser.setModel({"Qwen/Qwen3-8B", {}, {}});
    chooser.show();
    QSignalSpy chosen(&chooser, &ModelChooser::presetChosen);
    QTest::keyClick(&chooser, Qt::Key_Down);
    QAbstractItemView *list = chooser.popupList()->popup();
    QVERIFY(list->isVisible());
    QCOMPARE(list->model()->rowCount(), static_cast<int>(modelPresets().size()));
    QTest::keyClick(list, Qt::Key_Down);
    QTest::keyClick(list, Qt::Key_Down);
    const QString current = list->currentIndex().data().toString();
    QVERIFY(!current.isEmpty());
    QTest::keyClick(list, Qt::Key_Return);
    QCOMPARE(chosen.count(), 1);
    QCOMPARE(chosen.at(0).at(0).toString(), current);
}

void TestChoosers::escapeKeepsTheModel()
{
    ModelChooser chooser;
    chooser.setModel({"Qwen/Qwen3-8B", {}, {}});
    chooser.show();
    QSignalSpy chosen(&chooser, &ModelChooser::presetChosen);
    QTest::keyClicks(&chooser, "llama");
    QTest::keyClick(chooser.popupList()->popup(), Qt::Key_Escape);
    QTest::keyClick(&chooser, Qt::Key_Escape);
    QCOMPARE(chooser.text(), QString("Qwen/Qwen3-8B"));
    QCOMPARE(chosen.count(), 0);
}

void TestChoosers::nonsenseChoosesNothing()
{
    ModelChooser chooser;
    chooser.setModel({"Qwen/Qwen3-8B", {}, {}});
    chooser.show();
    QSignalSpy chosen(&chooser, &ModelChooser::presetChosen);
    chooser.selectAll();
    QTest::keyClicks(&chooser, "no such model anywhere");
    QTest::keyClick(&chooser, Qt::Key_Return);
    QCOMPARE(chosen.count(), 0);
    QCOMPARE(chooser.text(), QString("Qwen/Qwen3-8B"));
}

void TestChoosers::gpusAreTickedByMouseAndKeyboard()
{
    DisplaySettings display;
    GpuChooser chooser(&display);
    chooser.setChosen({"nvidia-rtx-4090-24gb"});
    chooser.resize(320, 240);
    chooser.show();
    connect(&chooser, &GpuChooser::chosenEdited, &chooser, &GpuChooser::setChosen);
    QSignalSpy edited(&chooser, &GpuChooser::chosenEdited);
    QListView *list = chooser.list();
    // What is chosen stands at the top.
    QCOMPARE(list->model()->index(0, 0).data(GpuList::IdRole).toString(), QString("nvidia-rtx-4090-24gb"));
    QCOMPARE(list->model()->index(0, 0).data(Qt::CheckStateRole).toInt(), int(Qt::Checked));

    const QModelIndex second = list->model()->index(1, 0);
    const std::string secondId = second.data(GpuList::IdRole).toString().toStdString();
    const QRect row = list->visualRect(second);
    QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, QPoint(row.left() + 10, row.center().y()));
    QCOMPARE(edited.count(), 1);
    QCOMPARE(edited.at(0).at(0).value<std::vector<std::string>>(), (std::vector<std::string>{"nvidia-rtx-4090-24gb", secondId}));

    list->setFocus();
    list->setCurrentIndex(list->model()->index(0, 0));
    QTest::keyClick(list, Qt::Key_Space);
    QCOMPARE(edited.count(), 2);
    QCOMPARE(edited.at(1).at(0).value<std::vector<std::string>>(), std::vector<std::string>{secondId});
}

void TestChoosers::tickingKeepsTheOrderOfRows()
{
    DisplaySettings display;
    GpuChooser chooser(&display);
    chooser.show();
    chooser.list()->setFocus();
    connect(&chooser, &GpuChooser::chosenEdited, &chooser, &GpuChooser::setChosen);
    const QModelIndex fourth = chooser.list()->model()->index(3, 0);
    const QString id = fourth.data(GpuList::IdRole).toString();
    chooser.list()->setCurrentIndex(fourth);
    QTest::keyClick(chooser.list(), Qt::Key_Space);
    QCOMPARE(chooser.list()->model()->index(3, 0).data(GpuList::IdRole).toString(), id);
    QCOMPARE(chooser.list()->model()->index(3, 0).data(Qt::CheckStateRole).toInt(), int(Qt::Checked));
}

void TestChoosers::gpuSearchAndUnits()
{
    DisplaySettings display;
    GpuChooser chooser(&display);
    chooser.show();
    QTest::keyClicks(chooser.search(), "4090");
    const QAbstractItemModel *matches = chooser.list()->model();
    QVERIFY(matches->rowCount() >= 1 && matches->rowCount() < 5);
    QVERIFY(matches->index(0, 0).data(GpuList::CapacityRole).toString().endsWith(" GiB"));
    display.setUnit(ByteUnit::Decimal);
    QVERIFY(matches->index(0, 0).data(GpuList::CapacityRole).toString().endsWith(" GB"));
}

void TestChoosers::unknownGpusAreNamed()
{
    DisplaySettings display;
    GpuChooser chooser(&display);
    chooser.setChosen({"nvidia-rtx-4090-24gb", "somebody-else-12gb"});
    const auto labels = chooser.findChildren<QLabel *>();
    QVERIFY(std::any_of(labels.begin(), labels.end(),
                        [](const QLabel *label) { return !label->isHidden() && label->text().contains("somebody-else-12gb"); }));
}

QTEST_MAIN(TestChoosers)
#include "test_choosers.moc"
