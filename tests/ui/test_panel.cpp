// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The form: a row for each field, changed by mouse and keyboard, disabled with a reason, marked where changed.
#include "core/training/step.h"
#include "ui/choosers/gpu_chooser.h"
#include "ui/panel/component_dots.h"
#include "ui/panel/field_row.h"
#include "ui/panel/fold_section.h"
#include "ui/panel/number_box.h"
#include "ui/panel/plan_panel.h"
#include "ui/panel/stop_slider.h"
#include "ui/panel/value_scale.h"
#include "window_fixture.h"

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QScrollBar>
#include <QSignalSpy>
#include <QStandardItemModel>
#include <QTest>
#include <QToolButton>

using namespace headroom;

class TestPanel : public QObject
{
    Q_OBJECT
private slots:
    void init();
    void scalesCoverTheirRange();
    void everyFieldHasARow();
    void aMouseDragIsOneUndoStep();
    void aClickOnTheSliderJumps();
    void keysMoveTheSlider();
    void typedNumbersCountOnce();
    void numbersOutOfRangeCannotBeTyped();
    void theWheelScrollsUntilAFieldIsChosen();
    void choicesAreTakenByKeyboard();
    void refusedChoicesSayWhy();
    void stagedChoicesHaveASlider();
    void fieldsWithoutEffectSayWhy();
    void fieldsOfOtherEnginesShowOnlyWhenSet();
    void changedFieldsAreMarkedAndReset();
    void listsOfNames();
    void issuesStandAtTheirField();
    void revealUnfoldsAndFocuses();
    void foldedGroupsAreRemembered();
    void everyControlHasANameAndADescription();
    void whatTheEngineExecutesCanBeChosen();
    void whatIsHiddenIsRefused();

private:
    FieldRow &row(const char *path)
    {
        FieldRow *found = m_panel->row(path);
        Q_ASSERT(found);
        return *found;
    }
    StopSlider &slider(const char *path) { return static_cast<StopSlider &>(*row(path).editor().slider()); }
    template<typename Box>
    Box &box(const char *path)
    {
        Box *found = qobject_cast<Box *>(row(path).editor().box());
        Q_ASSERT(found);
        return *found;
    }
    /// Presses at the slider's handle, moves in steps to the position and lets go.
    void drag(StopSlider &slider, int to)
    {
        m_panel->ensureWidgetVisible(&slider);
        const QPoint from = slider.handleCentre(slider.value());
        const QPoint target = slider.handleCentre(to);
        QTest::mousePress(&slider, Qt::LeftButton, {}, from);
        for (int i = 1; i <= 10; ++i)
            QTest::mouseMove(&slider, from + (target - from) * i / 10);
        QTest::mouseRelease(&slider, Qt::LeftButton, {}, target);
    }

    std::unique_ptr<DisplaySettings> m_display;
    std::unique_ptr<PlanDocument> m_document;
    std::unique_ptr<PlanPanel> m_panel;
};

void TestPanel::init()
{
    m_panel.reset();
    m_display = std::make_unique<DisplaySettings>();
    m_document = std::make_unique<PlanDocument>();
    m_panel = std::make_unique<PlanPanel>(*m_document, m_display.get());
    m_panel->resize(340, 700);
    m_panel->show();
    QVERIFY(QTest::qWaitForWindowActive(m_panel.get()));
}

void TestPanel::scalesCoverTheirRange()
{
    const ValueScale lengths = ValueScale::logarithmic(128, 262144);
    QCOMPARE(lengths.valueAt(0), 128.0);
    QCOMPARE(lengths.valueAt(lengths.size() - 1), 262144.0);
    QCOMPARE(lengths.valueAt(lengths.nearest(5120)), 5120.0);
    QCOMPARE(lengths.valueAt(lengths.nearest(4100)), 4096.0);
    QCOMPARE(lengths.valueAt(lengths.nearest(1)), 128.0);
    QCOMPARE(lengths.valueAt(lengths.nearest(1e12)), 262144.0);
    const ValueScale batches = ValueScale::logarithmic(1, 256);
    for (int i = 0; i < 8; ++i)
        QCOMPARE(batches.valueAt(i), i + 1.0);
    const ValueScale stages = ValueScale::linear(0, 3, true);
    QCOMPARE(stages.size(), 4);
    const ValueScale dropout = ValueScale::linear(0, 0.5, false);
    QVERIFY(dropout.size() <= 101);
    QCOMPARE(dropout.valueAt(dropout.size() - 1), 0.5);
    QVERIFY(qAbs(dropout.valueAt(dropout.nearest(0.1)) - 0.1) < 1e-9);
}

void TestPanel::everyFieldHasARow()
{
    for (const Field &field : fields()) {
        if (field.path == "gpus")
            continue;
        const FieldRow *found = m_panel->row(field.path);
        QVERIFY2(found, std::string(field.path).c_str());
        if (field.moves != MovesNothing)
            QVERIFY(!found->findChild<ComponentDots *>()->toolTip().isEmpty());
    }
    QCOMPARE(box<NumberBox>("batch.sequence_length").value(), 2048.0);
    QVERIFY(box<NumberBox>("batch.sequence_length").text().endsWith("tokens"));
}

void TestPanel::aMouseDragIsOneUndoStep()
{
    StopSlider &length = slider("batch.sequence_length");
    QSignalSpy changes(m_document.get(), &PlanDocument::planChanged);
    drag(length, length.value() + 12);
    QVERIFY2(changes.count() > 3, "the plan follows while the slider moves");
    QCOMPARE(m_document->plan().batch.sequenceLength, 16384);
    QCOMPARE(box<NumberBox>("batch.sequence_length").value(), 16384.0);
    QCOMPARE(m_document->undoStack()->count(), 1);
    m_document->undoStack()->undo();
    QCOMPARE(m_document->plan().batch.sequenceLength, 2048);
    QCOMPARE(box<NumberBox>("batch.sequence_length").value(), 2048.0);
    m_document->undoStack()->redo();
    QCOMPARE(m_document->plan().batch.sequenceLength, 16384);
}

void TestPanel::aClickOnTheSliderJumps()
{
    StopSlider &batch = slider("batch.micro_batch");
    QTest::mouseClick(&batch, Qt::LeftButton, {}, batch.handleCentre(7));
    QCOMPARE(m_document->plan().batch.microBatch, 8);
    QCOMPARE(m_document->undoStack()->count(), 1);
    QVERIFY(!batch.isSliderDown());
}

void TestPanel::keysMoveTheSlider()
{
    StopSlider &rank = slider("method.rank");
    rank.setFocus();
    QTest::keyClick(&rank, Qt::Key_PageUp);
    QCOMPARE(m_document->plan().method.rank, 32);
    QTest::keyClick(&rank, Qt::Key_Left);
    QCOMPARE(m_document->plan().method.rank, 28);
    QTest::keyClick(&rank, Qt::Key_Home);
    QCOMPARE(m_document->plan().method.rank, 1);
    // Keys that follow each other at once are one change.
    QCOMPARE(m_document->undoStack()->count(), 1);
}

void TestPanel::typedNumbersCountOnce()
{
    auto &length = box<NumberBox>("batch.sequence_length");
    QSignalSpy changes(m_document.get(), &PlanDocument::planChanged);
    length.setFocus();
    length.selectAll();
    QTest::keyClicks(&length, "12345");
    QCOMPARE(changes.count(), 0);
    QTest::keyClick(&length, Qt::Key_Return);
    QCOMPARE(changes.count(), 1);
    QCOMPARE(m_document->plan().batch.sequenceLength, 12345);
    QCOMPARE(m_document->undoStack()->count(), 1);
    // The slider stands at the nearest stop; the exact number stays.
    QCOMPARE(slider("batch.sequence_length").value(), ValueScale::logarithmic(128, 262144).nearest(12345));
    QCOMPARE(length.value(), 12345.0);
}

void TestPanel::numbersOutOfRangeCannotBeTyped()
{
    auto &batch = box<NumberBox>("batch.micro_batch");
    batch.setFocus();
    batch.selectAll();
    QTest::keyClicks(&batch, "0");
    QTest::keyClick(&batch, Qt::Key_Return);
    QCOMPARE(m_document->plan().batch.microBatch, 1);
    batch.selectAll();
    QTest::keyClicks(&batch, "1e30 -7");
    QTest::keyClick(&batch, Qt::Key_Return);
    QVERIFY(m_document->plan().batch.microBatch >= 1 && m_document->plan().batch.microBatch <= 65536);
}

void TestPanel::theWheelScrollsUntilAFieldIsChosen()
{
    StopSlider &length = slider("batch.sequence_length");
    box<NumberBox>("batch.micro_batch").setFocus();
    const QPointF centre = length.rect().center();
    QWheelEvent wheel(centre, length.mapToGlobal(centre), {}, {0, -120}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(&length, &wheel);
    QCOMPARE(m_document->plan().batch.sequenceLength, 2048);
    length.setFocus();
    QApplication::sendEvent(&length, &wheel);
    QVERIFY(m_document->plan().batch.sequenceLength != 2048);
}

void TestPanel::choicesAreTakenByKeyboard()
{
    auto &optimizer = box<QComboBox>("optimizer.kind");
    optimizer.setFocus();
    QTest::keyClick(&optimizer, Qt::Key_Down);
    QVERIFY(m_document->plan().optimizer.kind == OptimizerKind::Adam);
    m_document->undoStack()->undo();
    QVERIFY(m_document->plan().optimizer.kind == OptimizerKind::AdamW);
    QCOMPARE(optimizer.currentIndex(), 0);
}

void TestPanel::refusedChoicesSayWhy()
{
    int refused = 0;
    for (const Field &field : fields()) {
        if (field.type != FieldType::Choice)
            continue;
        auto *list = qobject_cast<QComboBox *>(row(std::string(field.path).c_str()).editor().box());
        QVERIFY(list);
        const int offset = field.nullable ? 1 : 0;
        QCOMPARE(list->count(), static_cast<int>(field.choices.size()) + offset);
        for (int i = 0; i < static_cast<int>(field.choices.size()); ++i) {
            const FieldChoice &choice = field.choices[static_cast<std::size_t>(i)];
            const QModelIndex index = list->model()->index(i + offset, 0);
            QCOMPARE(index.flags().testFlag(Qt::ItemIsEnabled), choice.refused.empty());
            if (choice.refused.empty())
                continue;
            ++refused;
            QCOMPARE(index.data(Qt::ToolTipRole).toString(), fromView(choice.refused));
        }
    }
    QVERIFY(refused > 0);
}

void TestPanel::stagedChoicesHaveASlider()
{
    StopSlider &checkpointing = slider("checkpointing");
    QCOMPARE(checkpointing.maximum(), 2); // none, selective, full
    drag(checkpointing, 1);
    // Selective alone says nothing: every second layer comes with it, and goes again.
    QVERIFY(m_document->plan().checkpointing == Checkpointing::Selective && m_document->plan().selective.every == 2);
    QVERIFY(validate(m_document->plan()).empty());
    drag(checkpointing, 0);
    QVERIFY(m_document->plan().selective == Selective());
    m_document->undoStack()->clear();
    drag(checkpointing, 2);
    m_document->undoStack()->clear();
    drag(checkpointing, 0);
    QVERIFY(m_document->plan().checkpointing == Checkpointing::None);
    QCOMPARE(m_document->undoStack()->count(), 1);
    StopSlider &precision = slider("precision.recipe");
    QVERIFY(precision.maximum() > 3);
    QVERIFY(precision.stopNames().contains("bf16") && precision.stopNames().contains("bf16\nautocast"));
    QCOMPARE(precision.stopNames().size(), precision.maximum() + 1);
    // In a panel of its usual width all stops are named; where there is no room for all, the one that is set is.
    m_panel->resize(m_panel->sizeHint().width(), 700);
    QCOMPARE(precision.namedPositions().size(), precision.maximum() + 1);
    StopSlider narrow;
    narrow.setRange(0, precision.maximum());
    narrow.setStopNames(precision.stopNames());
    narrow.resize(150, precision.height());
    narrow.setValue(3);
    QVERIFY(narrow.namedPositions().size() < 4 && narrow.namedPositions().contains(3));
    box<NumberBox>("parallel.data").setFocus();
    drag(slider("parallel.data"), 3);
    QCOMPARE(m_document->plan().parallel.data, 4);
    drag(slider("parallel.zero_stage"), 2);
    QCOMPARE(m_document->plan().parallel.zeroStage, std::optional<int>(2));
}

void TestPanel::fieldsWithoutEffectSayWhy()
{
    QVERIFY(!slider("parallel.zero_stage").isEnabled());
    QVERIFY(!box<NumberBox>("parallel.zero_stage").isEnabled());
    const QString reason = QString::fromStdString(findField("parallel.zero_stage")->inapplicable(m_document->plan()));
    QVERIFY(!reason.isEmpty());
    QVERIFY(row("parallel.zero_stage").toolTip().contains(reason.toHtmlEscaped()));
    QVERIFY(slider("parallel.zero_stage").accessibleDescription().contains(reason));
    // The number of GPUs applies at once: changing it brings the engine that it needs.
    QVERIFY(slider("parallel.data").isEnabled());
    QVERIFY(!m_document->setField(*findField("parallel.data"), std::int64_t{2}));
    QVERIFY(slider("parallel.zero_stage").isEnabled());
    QVERIFY(!row("parallel.zero_stage").toolTip().contains(reason.toHtmlEscaped()));
    QVERIFY(!m_document->setField(*findField("method.kind"), std::string("full")));
    QVERIFY(!slider("method.rank").isEnabled());
}

void TestPanel::fieldsOfOtherEnginesShowOnlyWhenSet()
{
    QVERIFY(row("parallel.tensor").isHidden());
    TrainingPlan plan = m_document->plan();
    plan.parallel.tensor = 2;
    m_document->restore(plan, {}, true);
    QVERIFY(!row("parallel.tensor").isHidden());
}

void TestPanel::changedFieldsAreMarkedAndReset()
{
    FieldRow &rank = row("method.rank");
    QVERIFY(rank.resetButton()->isHidden());
    QVERIFY(!m_document->setField(rank.field(), std::int64_t{64}));
    QVERIFY(!rank.resetButton()->isHidden());
    QVERIFY(rank.findChild<QLabel *>()->font().bold());
    QVERIFY(rank.resetButton()->toolTip().contains("16"));
    QTest::mouseClick(rank.resetButton(), Qt::LeftButton);
    QCOMPARE(m_document->plan().method.rank, 16);
    QVERIFY(rank.resetButton()->isHidden());
    QVERIFY(!rank.findChild<QLabel *>()->font().bold());
    QVERIFY(rank.isAncestorOf(QApplication::focusWidget()));
    m_document->undoStack()->undo();
    QCOMPARE(m_document->plan().method.rank, 64);
}

void TestPanel::listsOfNames()
{
    auto &targets = box<QLineEdit>("method.targets");
    QCOMPARE(targets.text(), QString("all-linear"));
    targets.setFocus();
    targets.selectAll();
    QTest::keyClicks(&targets, "q_proj,  v_proj, q_proj ,");
    QTest::keyClick(&targets, Qt::Key_Return);
    QVERIFY(!m_document->plan().method.targets.allLinear);
    QCOMPARE(m_document->plan().method.targets.names, (std::vector<std::string>{"q_proj", "v_proj"}));
    QCOMPARE(targets.text(), QString("q_proj, v_proj"));
    targets.selectAll();
    QTest::keyClick(&targets, Qt::Key_Delete);
    QTest::keyClick(&targets, Qt::Key_Return);
    QVERIFY(m_document->plan().method.targets.allLinear);
    QCOMPARE(targets.text(), QString("all-linear"));
}

void TestPanel::issuesStandAtTheirField()
{
    const std::vector<Issue> elsewhere = m_panel->setIssues(
        {{{}, 0, "optimizer.in_backward", "does not go with accumulation", "switch one off"}, {{}, 0, "model", "unknown", {}}});
    QCOMPARE(elsewhere.size(), std::size_t{1});
    QCOMPARE(elsewhere.front().where, std::string("model"));
    QVERIFY(row("optimizer.in_backward").issue().contains("does not go with accumulation"));
    QVERIFY(row("optimizer.in_backward").issue().contains("switch one off"));
    QVERIFY2(row("optimizer.in_backward").isVisible(), "what folds a field with an issue away is opened");
    m_panel->setIssues({});
    QVERIFY(row("optimizer.in_backward").issue().isEmpty());
}

void TestPanel::revealUnfoldsAndFocuses()
{
    QVERIFY(!row("runtime.torch").isVisible());
    QVERIFY(m_panel->reveal("runtime.torch"));
    QVERIFY(row("runtime.torch").isVisible());
    QCOMPARE(QApplication::focusWidget(), row("runtime.torch").editor().box());
    QVERIFY(m_panel->viewport()->rect().intersects(
        QRect(row("runtime.torch").mapTo(m_panel->viewport(), QPoint()), row("runtime.torch").size())));
    QVERIFY(m_panel->reveal("precision"));
    QCOMPARE(QApplication::focusWidget(), row("precision.recipe").editor().box());
    QVERIFY(m_panel->reveal("gpus"));
    QCOMPARE(QApplication::focusWidget(), m_panel->gpuChooser()->list());
    QVERIFY(!m_panel->reveal("nowhere"));
    QVERIFY(!m_panel->reveal(""));
}

void TestPanel::foldedGroupsAreRemembered()
{
    const auto batch = std::find_if(m_panel->sections().begin(), m_panel->sections().end(),
                                    [](const FoldSection *section) { return section->name() == QLatin1String("batch"); });
    QVERIFY(batch != m_panel->sections().end());
    QTest::mouseClick((*batch)->findChild<QToolButton *>(), Qt::LeftButton);
    QVERIFY((*batch)->isFolded());
    QVERIFY(!row("batch.micro_batch").isVisible());
    const QStringList folded = m_panel->foldedGroups();
    QVERIFY(folded.contains("batch"));
    PlanPanel other(*m_document, m_display.get());
    other.setFoldedGroups(folded);
    QCOMPARE(other.foldedGroups(), folded);
}

void TestPanel::everyControlHasANameAndADescription()
{
    for (const Field &field : fields()) {
        const FieldRow *found = m_panel->row(field.path);
        if (!found)
            continue;
        for (const QWidget *widget : m_panel->row(field.path)->editor().focusWidgets()) {
            QVERIFY2(widget->accessibleName().contains(fromView(field.label)), std::string(field.path).c_str());
            QVERIFY2(widget->accessibleDescription().contains(fromView(field.tip)), std::string(field.path).c_str());
        }
    }
}

void TestPanel::whatTheEngineExecutesCanBeChosen()
{
    auto &method = box<QComboBox>("method.kind");
    method.setFocus();
    QTest::keyClick(&method, Qt::Key_End);
    QVERIFY(m_document->plan().method.kind == MethodKind::Qlora);
    auto &storage = box<QComboBox>("method.quantization");
    QVERIFY(storage.isVisible());
    storage.setFocus();
    QTest::keyClick(&storage, Qt::Key_Home);
    QVERIFY(m_document->plan().method.quantization == Quantization::Nf4);
    QTest::keyClick(&storage, Qt::Key_Down);
    QTest::keyClick(&storage, Qt::Key_Down);
    QVERIFY(m_document->plan().method.quantization == Quantization::Fp4);
    QTest::keyClick(&storage, Qt::Key_Down);
    QVERIFY(m_document->plan().method.quantization == Quantization::Int8);
    for (const auto &[path, isSet] :
         {std::pair{"method.dora", +[](const TrainingPlan &plan) { return plan.method.dora; }},
          std::pair{"method.kbit_preparation", +[](const TrainingPlan &plan) { return plan.method.kbitPreparation; }}}) {
        QVERIFY(m_panel->reveal(path));
        auto &tick = box<QCheckBox>(path);
        const bool before = isSet(m_document->plan());
        QVERIFY2(tick.isVisible() && tick.isEnabled(), path);
        QTest::keyClick(&tick, Qt::Key_Space);
        QCOMPARE(isSet(m_document->plan()), !before);
    }
}

void TestPanel::whatIsHiddenIsRefused()
{
    ModelConfig model;
    model.modelType = "llama";
    std::vector<TrainingPlan> bases;
    for (const MethodKind method : {MethodKind::Full, MethodKind::Lora, MethodKind::Qlora}) {
        TrainingPlan plan;
        plan.method.kind = method;
        bases.push_back(plan);
        plan.parallel.engine = Engine::DeepSpeed;
        plan.parallel.data = 2;
        plan.precision.recipe = Recipe::Bf16Master;
        for (const int stage : {0, 1, 2, 3}) {
            plan.parallel.zeroStage = stage;
            bases.push_back(plan);
        }
    }
    QStringList hidden;
    for (const Field &field : fields()) {
        if (field.path == "gpus")
            continue;
        if (!row(std::string(field.path).c_str()).isHidden())
            continue;
        hidden << fromView(field.path);
        QVERIFY(field.type == FieldType::Boolean || field.type == FieldType::Integer || field.type == FieldType::Choice);
        for (TrainingPlan plan : bases) {
            const FieldValue other = field.type == FieldType::Boolean   ? FieldValue{!std::get<bool>(field.get(plan))}
                                     : field.type == FieldType::Integer ? FieldValue{static_cast<std::int64_t>(field.minimum) + 1}
                                                                        : FieldValue{std::string(field.choices.back().value)};
            QVERIFY(other != field.get(plan));
            QVERIFY(!setField(plan, field, other));
            const bool hasNoEffect = field.inapplicable && !field.inapplicable(plan).empty();
            QVERIFY2(hasNoEffect || training::unsupported(plan, model), std::string(field.path).c_str());
        }
    }
    QVERIFY(hidden.contains("compile") && hidden.contains("parallel.tensor"));
    for (const char *executed : {"method.dora", "method.quantization", "method.kbit_preparation", "loss", "kernels", "optimizer.kind"})
        QVERIFY2(!hidden.contains(executed), executed);
}

QTEST_MAIN(TestPanel)
#include "test_panel.moc"
