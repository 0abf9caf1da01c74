// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The charts in their window: tables and files by keyboard, what goes wrong said in place, why nothing is shown.
#include "ui/breakdown/breakdown_view.h"
#include "ui/charts/memory_chart.h"
#include "ui/charts/timeline_chart.h"
#include "ui/panel/field_row.h"
#include "ui/panel/plan_panel.h"
#include "ui/window/message_bar.h"
#include "ui/window/verdict_bar.h"
#include "window_fixture.h"

#include <QDialogButtonBox>
#include <QDir>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QMenuBar>
#include <QStatusBar>
#include <QTabWidget>
#include <QTest>
#include <QToolButton>

using namespace headroom;
using test::Folder;

class TestWindowCharts : public QObject
{
    Q_OBJECT
private slots:
    void init();
    void cleanup();
    void tablesAreReachedByKeyboard();
    void theViewMenuHoldsTheChartsMenus();
    void aNameWithoutEndingGetsTheChosenKinds();
    void aFileIsNotReplacedUnasked();
    void whatCannotBeWrittenIsSaidInPlace();
    void aRefusedPlanSaysWhyWhereTheChartsWere();
    void notesOnWhatHasNoFieldSaySo();
    void theModelComesFromTheEstimate();
    void aBaselineIsDrawnOnTheTimeline();
    void theViewsBelowFollowASliderThatDoesNotRest();

private:
    QAction *action(const QString &text) const { return test::actionOf(*m_window, text); }
    /// Writes a name into the next dialog for a file and accepts it.
    static void nameFile(const QString &name, const QString &filter = {})
    {
        test::whenAsked<QFileDialog>([name, filter](QFileDialog *dialog) {
            if (!filter.isEmpty())
                dialog->selectNameFilter(filter);
            auto *line = dialog->findChild<QLineEdit *>(QStringLiteral("fileNameEdit"));
            QVERIFY(line);
            line->setText(name);
            QTest::mouseClick(dialog->findChild<QDialogButtonBox *>()->button(QDialogButtonBox::Save), Qt::LeftButton);
        });
    }

    std::unique_ptr<Folder> m_folder;
    std::unique_ptr<MainWindow> m_window;
};

void TestWindowCharts::init()
{
    QCoreApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
    m_folder = std::make_unique<Folder>();
    m_window = test::opened(*m_folder);
    QVERIFY(m_window);
}

void TestWindowCharts::cleanup()
{
    m_window.reset();
    m_folder.reset();
}

void TestWindowCharts::tablesAreReachedByKeyboard()
{
    QTest::keyClick(m_window.get(), Qt::Key_5, Qt::ControlModifier);
    QVERIFY(m_window->memoryChart()->isTableShown());
    QVERIFY(!m_window->timeline()->isTableShown());
    QTest::keyClick(m_window.get(), Qt::Key_5, Qt::ControlModifier);
    QVERIFY(!m_window->memoryChart()->isTableShown());
    m_window->tabs()->setCurrentWidget(m_window->breakdown());
    QTest::keyClick(m_window.get(), Qt::Key_6, Qt::ControlModifier);
    QVERIFY(m_window->timeline()->isTableShown());
    QCOMPARE(m_window->tabs()->currentWidget(), m_window->timeline());
}

void TestWindowCharts::theViewMenuHoldsTheChartsMenus()
{
    const QMenu *view = nullptr;
    for (const QAction *menu : m_window->menuBar()->actions())
        if (menu->text() == QLatin1String("&View"))
            view = menu->menu();
    QVERIFY(view);
    for (const ChartWidget *chart :
         {static_cast<ChartWidget *>(m_window->memoryChart()), static_cast<ChartWidget *>(m_window->timeline())}) {
        QVERIFY(view->actions().contains(chart->menu()->menuAction()));
        QVERIFY(chart->menu()->actions().contains(chart->showTableAction()));
        QVERIFY(!chart->showTableAction()->shortcut().isEmpty());
    }
}

void TestWindowCharts::aNameWithoutEndingGetsTheChosenKinds()
{
    const auto save = [this](ChartWidget *chart, const QString &entry, const QString &name, const QString &filter = {}) {
        nameFile(name, filter);
        for (QAction *candidate : chart->menu()->actions())
            if (candidate->text().remove(QLatin1Char('&')).startsWith(entry))
                candidate->trigger();
    };
    save(m_window->memoryChart(), "Save picture", m_folder->path("Qwen2.5 bars"));
    QVERIFY(QFile::exists(m_folder->path("Qwen2.5 bars.png")));
    // The next dialog begins in the folder of the last one.
    save(m_window->memoryChart(), "Save picture", "bars", "SVG drawing (*.svg)");
    QVERIFY(QFile::exists(m_folder->path("bars.svg")));
    save(m_window->timeline(), "Save table", "steps");
    QVERIFY(QFile::exists(m_folder->path("steps.csv")));
    save(m_window->timeline(), "Save picture", "steps.svg");
    QVERIFY(QFile::exists(m_folder->path("steps.svg")) && !QFile::exists(m_folder->path("steps.svg.png")));
    nameFile("whole");
    action("Export the breakdown")->trigger();
    QVERIFY(QFile::exists(m_folder->path("whole.csv")));
    nameFile("mine");
    action("Save as")->trigger();
    QVERIFY(QFile::exists(m_folder->path("mine.headroom.json")));
    QVERIFY(m_window->messages()->messages().isEmpty());
}

void TestWindowCharts::aFileIsNotReplacedUnasked()
{
    const QString file = m_folder->write("steps.csv", "precious");
    nameFile(m_folder->path("steps"));
    int asked = 0;
    test::answer(QMessageBox::No, &asked);
    emit m_window->timeline()->saveTableRequested();
    QCOMPARE(asked, 1);
    QFile kept(file);
    QVERIFY(kept.open(QIODevice::ReadOnly));
    QCOMPARE(kept.readAll(), QByteArray("precious"));
}

void TestWindowCharts::whatCannotBeWrittenIsSaidInPlace()
{
    QVERIFY(QDir().mkpath(m_folder->path("steps.csv")));
    nameFile(m_folder->path("steps"));
    emit m_window->timeline()->saveTableRequested();
    QVERIFY(!QApplication::activeModalWidget());
    QCOMPARE(m_window->messages()->messages().size(), 1);
    QVERIFY2(m_window->messages()->messages().first().contains("steps.csv"), qPrintable(m_window->messages()->messages().first()));
}

void TestWindowCharts::aRefusedPlanSaysWhyWhereTheChartsWere()
{
    m_window = test::opened(*m_folder, [](const TrainingPlan &plan, std::stop_token cancel) -> EstimateRunner::Outcome {
        if (plan.optimizer.inBackward)
            return Issue{{}, 0, "optimizer.in_backward", "cannot be done here", "switch it off"};
        return test::foreseeable()(plan, std::move(cancel));
    });
    QVERIFY(m_window);
    QVERIFY(!m_window->document().setField(*findField("optimizer.in_backward"), true));
    QVERIFY(test::settled(*m_window));
    for (const ChartWidget *chart : {static_cast<ChartWidget *>(m_window->memoryChart()), static_cast<ChartWidget *>(m_window->timeline())})
        QVERIFY2(chart->accessibleDescription().contains("cannot be done here"), qPrintable(chart->accessibleDescription()));
    action("Undo")->trigger();
    QVERIFY(test::settled(*m_window));
    QVERIFY(m_window->memoryChart()->accessibleDescription().contains("fits"));
    QVERIFY(!m_window->timeline()->accessibleDescription().contains("cannot"));
}

void TestWindowCharts::notesOnWhatHasNoFieldSaySo()
{
    emit m_window->verdict()->jumpRequested("method.targets[2]");
    QCOMPARE(QApplication::focusWidget(), m_window->panel()->row("method.targets")->editor().box());
    emit m_window->verdict()->jumpRequested("nowhere.at.all");
    QVERIFY2(m_window->statusBar()->currentMessage().contains("nowhere.at.all"), qPrintable(m_window->statusBar()->currentMessage()));
}

void TestWindowCharts::theModelComesFromTheEstimate()
{
    m_window = test::opened(*m_folder, [](const TrainingPlan &plan, std::stop_token) -> EstimateRunner::Outcome {
        auto estimate = test::foreseeableEstimate(plan);
        estimate->model.layers = 77;
        return std::shared_ptr<const Estimate>(estimate);
    });
    QVERIFY(m_window);
    // A file that cannot be read now: who draws must not read it again.
    m_window->document().setModel({{}, {}, "gone/config.json"});
    QVERIFY(test::settled(*m_window));
    QStringList texts;
    for (const QLabel *label : m_window->panel()->findChildren<QLabel *>())
        texts << label->text();
    QCOMPARE(texts.filter("77 layers").size(), 1);
}

void TestWindowCharts::aBaselineIsDrawnOnTheTimeline()
{
    m_window = test::opened(*m_folder, [](const TrainingPlan &plan, std::stop_token cancel) { return estimate(plan, std::move(cancel)); });
    QVERIFY(m_window);
    QTRY_VERIFY(!m_window->timeline()->shown().samples.empty());
    QVERIFY(m_window->timeline()->ghost().empty());
    QTest::keyClick(m_window.get(), Qt::Key_B, Qt::ControlModifier);
    QVERIFY(!m_window->document().setField(*findField("checkpointing"), std::string("none")));
    QVERIFY(test::settled(*m_window));
    QTRY_VERIFY(!m_window->timeline()->ghost().empty());
    Bytes highest;
    for (const GhostPoint &point : m_window->timeline()->ghost())
        highest = std::max(highest, point.allocated);
    QCOMPARE(highest, m_window->document().baseline()->peak.allocated);
    QVERIFY(m_window->timeline()->accessibleDescription().contains("Baseline"));
    QTest::keyClick(m_window.get(), Qt::Key_B, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY(m_window->timeline()->ghost().empty());
}

void TestWindowCharts::theViewsBelowFollowASliderThatDoesNotRest()
{
    m_window = test::opened(*m_folder, [](const TrainingPlan &plan, std::stop_token cancel) { return estimate(plan, std::move(cancel)); });
    QVERIFY(m_window);
    const auto drawn = [this] {
        Bytes highest;
        for (const TimelineSample &sample : m_window->timeline()->shown().samples)
            highest = std::max(highest, sample.components.total());
        return highest;
    };
    QTRY_COMPARE(drawn(), m_window->shown()->peak.allocated);
    // The next change follows each painted chart at once: there is always a newer estimate on its way.
    const auto next = [this] {
        const Field &field = *findField("batch.sequence_length");
        const std::int64_t tokens = m_window->document().plan().batch.sequenceLength;
        QVERIFY(!m_window->document().setField(field, tokens < 4096 ? tokens + 128 : 1024));
    };
    const auto dragging = connect(m_window->memoryChart(), &ChartWidget::painted, this, next, Qt::QueuedConnection);
    const Bytes before = drawn();
    next();
    QTRY_VERIFY(drawn() != before);
    const Bytes between = drawn();
    QTRY_VERIFY(drawn() != between);
    disconnect(dragging);
    QVERIFY(test::settled(*m_window));
    QTRY_COMPARE(drawn(), m_window->shown()->peak.allocated);
}

QTEST_MAIN(TestWindowCharts)
#include "test_window_charts.moc"
