// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The window as a whole: from a control to every view and back, with files, units, baseline, errors said in place.
#include "core/plan/plan_json.h"
#include "ui/breakdown/breakdown_view.h"
#include "ui/charts/memory_chart.h"
#include "ui/charts/timeline_chart.h"
#include "ui/choosers/model_chooser.h"
#include "ui/palette.h"
#include "ui/panel/field_row.h"
#include "ui/panel/plan_panel.h"
#include "ui/panel/stop_slider.h"
#include "ui/window/message_bar.h"
#include "ui/window/verdict_bar.h"
#include "window_fixture.h"

#include <QAbstractSpinBox>
#include <QDropEvent>
#include <QLabel>
#include <QListWidget>
#include <QMenuBar>
#include <QMimeData>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QStatusBar>
#include <QTabBar>
#include <QTabWidget>
#include <QTest>
#include <QToolButton>

using namespace headroom;
using test::Folder;

class TestWindow : public QObject
{
    Q_OBJECT
private slots:
    void init();
    void cleanup();
    void opensWithAUsefulPlan();
    void theEngineFillsEveryView();
    void theEstimateFollowsADrag();
    void theWorstGpuComesFirst();
    void unitsSwitchEverywhere();
    void firstStepAndSteadyState();
    void pinnedBaselineIsTheReference();
    void issuesStandAtTheFieldAndInTheList();
    void notesLeadToTheirField();
    void aChosenPresetIsAnUndoableChange();
    void droppedFilesAreOpened();
    void brokenFilesAreSaidInPlace();
    void closingAsksAboutUnsavedWork_data();
    void closingAsksAboutUnsavedWork();
    void theLastPlanComesBack();
    void aFileAtTheStartKeepsUnsavedWork();
    void damagedWorkIsNamed();
    void geometryUnitsAndFoldsAreRemembered();
    void aClickedComponentIsShownInTheBreakdown();
    void everyFocusableWidgetHasAName();
    void everythingIsReachedByKeyboard();
    void noTwoActionsShareAShortcut();
    void paletteChangesAreFollowed();
    void coloursHaveContrast();

private:
    void open(EstimateRunner::Function function = test::foreseeable(), const QString &file = {})
    {
        m_window.reset();
        m_window = test::opened(*m_folder, std::move(function), file);
        QVERIFY(m_window);
    }
    QAction *action(const QString &text) const { return test::actionOf(*m_window, text); }
    void setField(const char *path, const FieldValue &value)
    {
        const auto issue = m_window->document().setField(*findField(path), value);
        QVERIFY(!issue);
    }
    /// Drags a file over the window and lets it go.
    void drop(const QString &file)
    {
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(file)});
        QDragEnterEvent enter(QPoint(400, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(m_window.get(), &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent event(QPointF(400, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(m_window.get(), &event);
    }
    std::unique_ptr<Folder> m_folder;
    std::unique_ptr<MainWindow> m_window;
};

void TestWindow::init()
{
    m_folder = std::make_unique<Folder>();
    open();
}

void TestWindow::cleanup()
{
    m_window.reset();
    m_folder.reset();
}

void TestWindow::opensWithAUsefulPlan()
{
    QVERIFY(m_window->shown());
    QCOMPARE(m_window->modelChooser()->text(), QString("Qwen/Qwen3-8B"));
    QVERIFY2(m_window->verdict()->headline().startsWith("Fits on RTX 4090"), qPrintable(m_window->verdict()->headline()));
    QVERIFY(!m_window->isWindowModified());
    QVERIFY(!QApplication::activeModalWidget());
    QVERIFY(m_window->messages()->messages().isEmpty());
    QCOMPARE(m_window->tabs()->count(), 3);
}

void TestWindow::theEngineFillsEveryView()
{
    open([](const TrainingPlan &plan, std::stop_token cancel) { return estimate(plan, std::move(cancel)); });
    const auto shown = m_window->shown();
    QVERIFY2(shown, qPrintable(m_window->verdict()->details()));
    QVERIFY2(m_window->verdict()->headline().startsWith("Fits on RTX 4090"), "the first plan is one that fits");
    QCOMPARE(m_window->memoryChart()->bars().size(), std::size_t{1});
    QTRY_VERIFY(!m_window->timeline()->shown().samples.empty());
    m_window->tabs()->setCurrentWidget(m_window->breakdown());
    const QAbstractItemModel *rows = m_window->breakdown()->model();
    qint64 sum = 0;
    for (int row = 0; row < rows->rowCount(); ++row)
        sum += rows->index(row, 0).data(BreakdownModel::BytesRole).toLongLong();
    QCOMPARE(sum, shown->peak.allocated.value);
    action("First step")->trigger();
    sum = 0;
    for (int row = 0; row < rows->rowCount(); ++row)
        sum += rows->index(row, 0).data(BreakdownModel::BytesRole).toLongLong();
    QCOMPARE(sum, shown->firstStep.allocated.value);
}

void TestWindow::theEstimateFollowsADrag()
{
    auto *slider = static_cast<StopSlider *>(m_window->panel()->row("batch.sequence_length")->editor().slider());
    QSignalSpy results(&m_window->runner(), &EstimateRunner::finished);
    const QPoint from = slider->handleCentre(slider->value());
    QTest::mousePress(slider, Qt::LeftButton, {}, from);
    for (int position = slider->value() + 1; position <= slider->maximum(); position += 3) {
        QTest::mouseMove(slider, slider->handleCentre(position));
        QVERIFY(test::settled(*m_window));
        QCOMPARE(m_window->shown()->plan.batch.sequenceLength, m_window->document().plan().batch.sequenceLength);
    }
    QTest::mouseRelease(slider, Qt::LeftButton, {}, slider->handleCentre(slider->maximum()));
    QVERIFY(results.count() > 5);
    QCOMPARE(m_window->document().undoStack()->count(), 1);
    action("Undo")->trigger();
    QVERIFY(test::settled(*m_window));
    QCOMPARE(m_window->shown()->plan.batch.sequenceLength, 2048);
    QVERIFY(action("Redo")->isEnabled());
}

void TestWindow::theWorstGpuComesFirst()
{
    m_window->document().setGpus({"nvidia-h100-sxm5-80gb", "nvidia-rtx-4090-24gb"});
    setField("batch.sequence_length", std::int64_t{2'000'000}); // 28.6 GiB
    QVERIFY(test::settled(*m_window));
    QVERIFY2(m_window->verdict()->headline().startsWith("Does not fit on RTX 4090"), qPrintable(m_window->verdict()->headline()));
    QVERIFY2(m_window->verdict()->details().contains("Fits on H100"), qPrintable(m_window->verdict()->details()));
    m_window->document().setGpus({});
    QVERIFY(test::settled(*m_window));
    QVERIFY(m_window->verdict()->headline().contains("No GPU"));
}

void TestWindow::unitsSwitchEverywhere()
{
    m_window->tabs()->setCurrentWidget(m_window->breakdown());
    BreakdownRow row;
    row.label = "weights";
    row.bytes = gib(1);
    m_window->breakdown()->breakdown()->setRows({row}, gib(2));
    const auto texts = [this] {
        QStringList all{m_window->verdict()->headline(), m_window->verdict()->details()};
        const QAbstractItemModel *table = m_window->breakdown()->model();
        all << table->index(0, BreakdownModel::Size).data().toString();
        for (const QLabel *label : m_window->statusBar()->findChildren<QLabel *>())
            all << label->text();
        const QAbstractItemModel *chart = m_window->memoryChart()->table();
        for (int column = 0; column < chart->columnCount(); ++column)
            all << chart->headerData(column, Qt::Horizontal).toString();
        return all.join(QLatin1Char('\n'));
    };
    // A GPU's name has its marketing size, a whole number; amounts have a point.
    const QRegularExpression binary("[0-9][.][0-9]+ [MG]iB|[(]GiB[)]"), decimal("[0-9][.][0-9]+ [MG]B|[(]GB[)]");
    QVERIFY2(texts().contains(binary) && !texts().contains(decimal), qPrintable(texts()));
    action("Sizes in GB")->trigger();
    QVERIFY2(texts().contains(decimal) && !texts().contains(binary), qPrintable(texts()));
    action("Sizes in GiB")->trigger();
    QVERIFY(texts().contains(binary) && !texts().contains(decimal));
}

void TestWindow::firstStepAndSteadyState()
{
    QVERIFY(m_window->verdict()->details().startsWith("Steady state"));
    action("First step")->trigger();
    QVERIFY(m_window->verdict()->details().startsWith("First step"));
    QVERIFY(m_window->memoryChart()->step() == Estimate::Step::First);
}

void TestWindow::pinnedBaselineIsTheReference()
{
    QVERIFY(!action("Release baseline")->isEnabled());
    action("Pin baseline")->trigger();
    QCOMPARE(m_window->document().baseline(), m_window->shown());
    setField("batch.micro_batch", std::int64_t{4});
    QVERIFY(!m_window->panel()->row("batch.micro_batch")->resetButton()->isHidden());
    action("Release baseline")->trigger();
    QVERIFY(!m_window->document().baseline());
    action("Undo")->trigger();
    QVERIFY(m_window->document().baseline());
}

void TestWindow::issuesStandAtTheFieldAndInTheList()
{
    open([](const TrainingPlan &plan, std::stop_token cancel) -> EstimateRunner::Outcome {
        if (plan.optimizer.inBackward)
            return Issue{{}, 0, "optimizer.in_backward", "cannot be done here", "switch it off"};
        return test::foreseeable()(plan, std::move(cancel));
    });
    setField("optimizer.in_backward", true);
    QVERIFY(test::settled(*m_window));
    QVERIFY(!m_window->shown());
    QVERIFY(m_window->verdict()->headline().contains("cannot be estimated"));
    QVERIFY(m_window->verdict()->details().contains("cannot be done here"));
    QVERIFY(m_window->panel()->row("optimizer.in_backward")->issue().contains("switch it off"));
    QVERIFY(!QApplication::activeModalWidget());
    action("Undo")->trigger();
    QVERIFY(test::settled(*m_window));
    QVERIFY(m_window->shown());
    QVERIFY(m_window->panel()->row("optimizer.in_backward")->issue().isEmpty());
}

void TestWindow::notesLeadToTheirField()
{
    VerdictBar *verdict = m_window->verdict();
    QCOMPARE(verdict->notes()->count(), 1);
    QVERIFY(!verdict->notes()->isVisible());
    QTest::mouseClick(verdict->notesButton(), Qt::LeftButton);
    QVERIFY(verdict->notes()->isVisible());
    verdict->notes()->setFocus();
    verdict->notes()->setCurrentRow(0);
    QTest::keyClick(verdict->notes(), Qt::Key_Return);
    QCOMPARE(QApplication::focusWidget(), m_window->panel()->row("batch.sequence_length")->editor().box());
}

void TestWindow::aChosenPresetIsAnUndoableChange()
{
    ModelChooser *chooser = m_window->modelChooser();
    QTest::keyClick(m_window.get(), Qt::Key_L, Qt::ControlModifier);
    QVERIFY(chooser->hasFocus());
    QTest::keyClicks(chooser, "qwen3-0.6b");
    QTest::keyClick(chooser, Qt::Key_Return);
    QVERIFY2(m_window->document().plan().model.preset.rfind("Qwen/Qwen3-0.6B", 0) == 0, m_window->document().plan().model.preset.c_str());
    action("Undo")->trigger();
    QCOMPARE(chooser->text(), QString("Qwen/Qwen3-8B"));
}

void TestWindow::droppedFilesAreOpened()
{
    TrainingPlan plan;
    plan.name = "dropped";
    plan.batch.sequenceLength = 512;
    const QString file = m_folder->write("dropped.headroom.json", QByteArray::fromStdString(writePlan(plan)));
    drop(file);
    QCOMPARE(m_window->document().plan().name, std::string("dropped"));
    QCOMPARE(m_window->document().file(), file);
    QVERIFY(m_window->windowTitle().contains("dropped.headroom.json"));
    QMimeData text;
    text.setText("nothing to open");
    QDragEnterEvent refused(QPoint(400, 300), Qt::CopyAction, &text, Qt::LeftButton, Qt::NoModifier);
    refused.ignore();
    QApplication::sendEvent(m_window.get(), &refused);
    QVERIFY(!refused.isAccepted());
}

void TestWindow::brokenFilesAreSaidInPlace()
{
    const QString file = m_folder->write("broken.headroom.json", R"({"headroom_plan": 1, "batch": {"micro_batch": -4}})");
    const TrainingPlan before = m_window->document().plan();
    drop(file);
    QVERIFY(m_window->document().plan() == before);
    QVERIFY(!QApplication::activeModalWidget());
    QCOMPARE(m_window->messages()->messages().size(), 1);
    const QString message = m_window->messages()->messages().first();
    QVERIFY2(message.contains("broken.headroom.json") && message.contains("batch.micro_batch"), qPrintable(message));
    QVERIFY(m_window->messages()->isVisible());
    QTest::mouseClick(m_window->messages()->findChild<QToolButton *>(), Qt::LeftButton);
    QVERIFY(!m_window->messages()->isVisible());
}

void TestWindow::closingAsksAboutUnsavedWork_data()
{
    QTest::addColumn<int>("button");
    QTest::addColumn<bool>("closes");
    QTest::newRow("cancel") << int(QMessageBox::Cancel) << false;
    QTest::newRow("discard") << int(QMessageBox::Discard) << true;
    QTest::newRow("save") << int(QMessageBox::Save) << true;
}

void TestWindow::closingAsksAboutUnsavedWork()
{
    QFETCH(int, button);
    QFETCH(bool, closes);
    const QString file = m_folder->path("mine.headroom.json");
    QVERIFY(!m_window->document().saveAs(file));
    setField("batch.micro_batch", std::int64_t{5});
    QVERIFY(m_window->isWindowModified());
    int asked = 0;
    test::answer(static_cast<QMessageBox::StandardButton>(button), &asked);
    QCOMPARE(m_window->close(), closes);
    QCOMPARE(asked, 1);
    const auto saved = readPlanFile(file.toStdString());
    QVERIFY(saved.ok());
    QCOMPARE(saved->batch.microBatch, button == QMessageBox::Save ? 5 : 1);
    if (!closes)
        return;
    open();
    QCOMPARE(m_window->document().plan().batch.microBatch, button == QMessageBox::Save ? 5 : 1);
    QVERIFY(!m_window->isWindowModified());
}

void TestWindow::theLastPlanComesBack()
{
    setField("batch.micro_batch", std::int64_t{6});
    // As a crash leaves it: the window never closed, the copy was written by itself.
    QTRY_VERIFY(QFile::exists(m_folder->path("data/working-plan.json")));
    QVERIFY(QFile::copy(m_folder->path("data/working-plan.json"), m_folder->path("copy")));
    m_window.reset();
    QFile::remove(m_folder->path("data/working-plan.json"));
    QVERIFY(QFile::copy(m_folder->path("copy"), m_folder->path("data/working-plan.json")));
    open();
    QCOMPARE(m_window->document().plan().batch.microBatch, 6);
    QVERIFY(m_window->isWindowModified());
    QCOMPARE(m_window->shown()->plan.batch.microBatch, 6);
}

void TestWindow::aFileAtTheStartKeepsUnsavedWork()
{
    setField("batch.micro_batch", std::int64_t{6});
    TrainingPlan plan;
    plan.name = "given";
    const QString file = m_folder->write("given.headroom.json", QByteArray::fromStdString(writePlan(plan)));
    open(test::foreseeable(), file);
    QCOMPARE(m_window->document().plan().name, std::string("given"));
    QCOMPARE(m_window->messages()->messages().size(), 1);
    const auto kept = readPlanFile(m_folder->path("data/unsaved.headroom.json").toStdString());
    QVERIFY(kept.ok());
    QCOMPARE(kept->batch.microBatch, 6);
}

void TestWindow::damagedWorkIsNamed()
{
    m_window.reset();
    m_folder->write("data/working-plan.json", "{ not a plan");
    open();
    QCOMPARE(m_window->messages()->messages().size(), 1);
    QVERIFY(m_window->messages()->messages().first().contains("working-plan.damaged.json"));
    QVERIFY(m_window->shown());
}

void TestWindow::geometryUnitsAndFoldsAreRemembered()
{
    m_window->resize(1111, 777);
    action("Sizes in GB")->trigger();
    action("First step")->trigger();
    m_window->panel()->setFoldedGroups({"batch"});
    QVERIFY(m_window->close());
    open();
    QCOMPARE(m_window->size(), QSize(1111, 777));
    QVERIFY(m_window->display().unit() == ByteUnit::Decimal);
    QVERIFY(action("Sizes in GB")->isChecked());
    QVERIFY(m_window->memoryChart()->step() == Estimate::Step::First);
    QCOMPARE(m_window->panel()->foldedGroups(), QStringList("batch"));
}

void TestWindow::aClickedComponentIsShownInTheBreakdown()
{
    emit m_window->memoryChart()->clicked(Component::Activations);
    QCOMPARE(m_window->tabs()->currentWidget(), m_window->breakdown());
    QVERIFY(m_window->highlight().selected().component == Component::Activations);
}

void TestWindow::everyFocusableWidgetHasAName()
{
    m_window->verdict()->notesButton()->setChecked(true);
    m_window->messages()->show(MessageBar::Kind::Error, "something");
    QStringList nameless;
    for (const QWidget *widget : m_window->findChildren<QWidget *>()) {
        // Lists that drop down are windows of their own, named by what they drop from.
        if (!(widget->focusPolicy() & Qt::TabFocus) || widget->window() != m_window.get() ||
            widget->objectName().startsWith(QLatin1String("qt_")))
            continue;
        // Labels that can be selected are read by their text; inner parts by what they are part of.
        if (qobject_cast<const QLabel *>(widget) || qobject_cast<const QAbstractSpinBox *>(widget->parentWidget()) ||
            qobject_cast<const QTabBar *>(widget) || qobject_cast<const QMenuBar *>(widget))
            continue;
        if (widget->accessibleName().isEmpty())
            nameless << QStringLiteral("%1 %2 in %3")
                            .arg(widget->metaObject()->className(), widget->objectName(),
                                 widget->parentWidget() ? widget->parentWidget()->metaObject()->className() : "");
    }
    QVERIFY2(nameless.isEmpty(), qPrintable(nameless.join(QLatin1Char('\n'))));
}

void TestWindow::everythingIsReachedByKeyboard()
{
    m_window->modelChooser()->setFocus();
    QSet<QWidget *> visited;
    for (int i = 0; i < 300; ++i) {
        visited.insert(QApplication::focusWidget());
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
        QVERIFY(QApplication::focusWidget());
    }
    PlanPanel *panel = m_window->panel();
    for (const char *path :
         {"method.kind", "method.rank", "batch.micro_batch", "batch.sequence_length", "precision.recipe", "checkpointing"})
        for (QWidget *widget : panel->row(path)->editor().focusWidgets())
            QVERIFY2(visited.contains(widget), path);
    QVERIFY(visited.contains(m_window->verdict()->notesButton()));
}

void TestWindow::noTwoActionsShareAShortcut()
{
    QHash<QString, QString> taken;
    for (const QAction *candidate : m_window->findChildren<QAction *>()) {
        if (candidate->shortcutContext() != Qt::WindowShortcut)
            continue;
        for (const QKeySequence &keys : candidate->shortcuts()) {
            QVERIFY2(!taken.contains(keys.toString()), qPrintable(candidate->text() + " and " + taken.value(keys.toString())));
            taken.insert(keys.toString(), candidate->text());
        }
    }
    QVERIFY(taken.size() > 10);
}

void TestWindow::paletteChangesAreFollowed()
{
    const QPalette before = QApplication::palette();
    QPalette dark;
    dark.setColor(QPalette::Window, QColor(0x22, 0x24, 0x28));
    dark.setColor(QPalette::Base, QColor(0x1a, 0x1c, 0x20));
    for (QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        dark.setColor(role, QColor(0xe8, 0xe8, 0xe8));
    QApplication::setPalette(dark);
    QCoreApplication::processEvents();
    QVERIFY(isDark(m_window->palette()));
    const QImage drawing = action("Undo")->icon().pixmap(32, 32, QIcon::Normal).toImage();
    int bright = 0;
    for (int y = 0; y < drawing.height(); ++y)
        for (int x = 0; x < drawing.width(); ++x)
            bright += qAlpha(drawing.pixel(x, y)) > 200 && qGray(drawing.pixel(x, y)) > 120;
    QApplication::setPalette(before);
    QVERIFY2(bright > 10, "drawings are in the palette's text colour");
}

void TestWindow::coloursHaveContrast()
{
    for (Component component : allComponents)
        QVERIFY(contrastRatio(textOver(componentColour(component)), componentColour(component)) >= 4.5);
    for (const QColor &background : {QColor(Qt::white), QColor(0xef, 0xf0, 0xf1), QColor(0x1a, 0x1c, 0x20), QColor(Qt::black)})
        QVERIFY(contrastRatio(readableOn(overLimitColour(), background), background) >= 4.5);
}

QTEST_MAIN(TestWindow)
#include "test_window.moc"
