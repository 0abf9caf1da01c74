// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The document: every change can be undone, a drag is one step, files replace the plan whole or not at all.
#include "core/plan/plan_json.h"
#include "ui/document/companions.h"
#include "ui/document/plan_document.h"
#include "ui/document/plan_files.h"
#include "window_fixture.h"

#include <QSignalSpy>
#include <QTest>

using namespace headroom;
using test::Folder;

namespace {

const Field &field(const char *path)
{
    const Field *found = findField(path);
    Q_ASSERT(found);
    return *found;
}

QByteArray planText()
{
    TrainingPlan plan;
    plan.name = "from a file";
    plan.batch.sequenceLength = 1024;
    return QByteArray::fromStdString(writePlan(plan));
}

} // namespace

class TestDocument : public QObject
{
    Q_OBJECT
private slots:
    void startsWithAUsefulPlan();
    void everyFieldCanBeChangedAndUndone_data();
    void everyFieldCanBeChangedAndUndone();
    void undoTextSaysWhatChanged();
    void aDragIsOneStep();
    void draggingBackLeavesNoStep();
    void twoDragsAreTwoSteps();
    void undoInADragBeginsAnew();
    void severalGpusBringAnEngine();
    void aRefusedValueChangesNothing();
    void modelAndGpusAndBaselineCanBeUndone();
    void resetGoesBackToTheReference();
    void savedAndOpenedPlansAreEqual();
    void savingElsewhereKeepsConfigPath();
    void configsBecomeTheModel();
    void brokenFilesLeaveThePlan_data();
    void brokenFilesLeaveThePlan();
    void modifiedFollowsTheUndoStack();
    void aBaselineIsNoChangeOfThePlan();
    void mergingStopsAtASave();
    void restoredWorkIsUnsaved();
    void restoredCleanPlanIsReadAgain();
};

void TestDocument::startsWithAUsefulPlan()
{
    const PlanDocument document;
    QCOMPARE(document.plan().model.preset, std::string("Qwen/Qwen3-8B"));
    QVERIFY(document.plan().method.kind == MethodKind::Lora);
    QCOMPARE(document.plan().gpus, std::vector<std::string>{"nvidia-rtx-4090-24gb"});
    QVERIFY(findGpu(document.plan().gpus.front()));
    QVERIFY(validate(document.plan()).empty());
    QVERIFY(!document.isModified());
}

void TestDocument::everyFieldCanBeChangedAndUndone_data()
{
    QTest::addColumn<int>("index");
    for (int i = 0; i < static_cast<int>(fields().size()); ++i)
        QTest::newRow(std::string(fields()[static_cast<std::size_t>(i)].path).c_str()) << i;
}

/// A value that differs from the one given, of the field's type and range.
static FieldValue otherValue(const Field &field, const FieldValue &now)
{
    switch (field.type) {
    case FieldType::Boolean: return now == FieldValue{true} ? FieldValue{false} : FieldValue{true};
    case FieldType::Integer: {
        const auto low = static_cast<std::int64_t>(field.minimum);
        return now == FieldValue{low} ? FieldValue{low + 1} : FieldValue{low};
    }
    case FieldType::Real: return now == FieldValue{field.minimum} ? FieldValue{field.maximum} : FieldValue{field.minimum};
    case FieldType::Choice: {
        const FieldValue first = std::string(field.choices.front().value);
        return now == first ? FieldValue{std::string(field.choices.back().value)} : first;
    }
    case FieldType::Text: return field.path == "runtime.rank" ? std::string("last") : std::string("2.4");
    case FieldType::TextList:
        if (field.path == "selective.operators")
            return std::vector<std::string>{"attention", "mlp"};
        return field.path == "gpus" ? std::vector<std::string>{"nvidia-h100-sxm5-80gb"} : std::vector<std::string>{"q_proj", "v_proj"};
    }
    return {};
}

void TestDocument::everyFieldCanBeChangedAndUndone()
{
    QFETCH(int, index);
    const Field &tested = fields()[static_cast<std::size_t>(index)];
    PlanDocument document;
    const TrainingPlan before = document.plan();
    const FieldValue value = otherValue(tested, tested.get(before));
    const auto issue = document.setField(tested, value);
    QVERIFY2(!issue, issue ? toString(*issue).c_str() : "");
    QVERIFY(tested.get(document.plan()) == value);
    QVERIFY(document.isModified());
    const TrainingPlan after = document.plan();
    document.undoStack()->undo();
    QVERIFY(document.plan() == before);
    QVERIFY(!document.isModified());
    document.undoStack()->redo();
    QVERIFY(document.plan() == after);
}

void TestDocument::undoTextSaysWhatChanged()
{
    PlanDocument document;
    QVERIFY(!document.setField(field("batch.sequence_length"), std::int64_t{8192}));
    const QString text = document.undoStack()->undoText();
    QVERIFY2(text.contains("Sequence length") && text.contains("2048") && text.contains("8192"), qPrintable(text));
}

void TestDocument::aDragIsOneStep()
{
    PlanDocument document;
    QSignalSpy changes(&document, &PlanDocument::planChanged);
    document.beginGesture();
    for (std::int64_t length : {2560, 3072, 3584, 4096})
        QVERIFY(!document.setField(field("batch.sequence_length"), length));
    document.endGesture();
    QCOMPARE(changes.count(), 4);
    QCOMPARE(document.undoStack()->count(), 1);
    const QString text = document.undoStack()->undoText();
    QVERIFY2(text.contains("2048") && text.contains("4096") && !text.contains("3584"), qPrintable(text));
    document.undoStack()->undo();
    QCOMPARE(document.plan().batch.sequenceLength, 2048);
}

void TestDocument::draggingBackLeavesNoStep()
{
    PlanDocument document;
    document.beginGesture();
    QVERIFY(!document.setField(field("parallel.data"), std::int64_t{4}));
    QVERIFY(document.plan().parallel.engine == Engine::DeepSpeed);
    QVERIFY(!document.setField(field("parallel.data"), std::int64_t{1}));
    document.endGesture();
    QVERIFY(document.plan().parallel.engine == Engine::None);
    QCOMPARE(document.undoStack()->count(), 0);
    QVERIFY(!document.isModified());
}

void TestDocument::twoDragsAreTwoSteps()
{
    PlanDocument document;
    for (std::int64_t length : {4096, 8192}) {
        document.beginGesture();
        QVERIFY(!document.setField(field("batch.sequence_length"), length));
        document.endGesture();
    }
    QCOMPARE(document.undoStack()->count(), 2);
    document.undoStack()->undo();
    QCOMPARE(document.plan().batch.sequenceLength, 4096);
}

void TestDocument::undoInADragBeginsAnew()
{
    PlanDocument document;
    QVERIFY(!document.setField(field("batch.micro_batch"), std::int64_t{4}));
    document.beginGesture();
    QVERIFY(!document.setField(field("batch.sequence_length"), std::int64_t{4096}));
    document.undoStack()->undo();
    document.undoStack()->undo();
    QCOMPARE(document.plan().batch.microBatch, 1);
    QVERIFY(!document.setField(field("batch.sequence_length"), std::int64_t{8192}));
    document.endGesture();
    QCOMPARE(document.plan().batch.microBatch, 1);
    QCOMPARE(document.plan().batch.sequenceLength, 8192);
    QCOMPARE(document.undoStack()->count(), 1);
}

void TestDocument::severalGpusBringAnEngine()
{
    PlanDocument document;
    QVERIFY(!document.setField(field("parallel.data"), std::int64_t{8}));
    QVERIFY(document.plan().parallel.engine == Engine::DeepSpeed);
    QVERIFY(validate(document.plan()).empty());
    QVERIFY(!document.setField(field("parallel.engine"), std::string("none")));
    QCOMPARE(document.plan().parallel.data, 1);
    QVERIFY(validate(document.plan()).empty());
    document.undoStack()->undo();
    QCOMPARE(document.plan().parallel.data, 8);
}

void TestDocument::aRefusedValueChangesNothing()
{
    PlanDocument document;
    const auto issue = document.setField(field("batch.micro_batch"), std::int64_t{0});
    QVERIFY(issue);
    QCOMPARE(issue->where, std::string("batch.micro_batch"));
    QCOMPARE(document.plan().batch.microBatch, 1);
    QVERIFY(!document.undoStack()->canUndo());
}

void TestDocument::modelAndGpusAndBaselineCanBeUndone()
{
    PlanDocument document;
    document.setModel({"Qwen/Qwen3-4B", {}, {}});
    document.setGpus({"nvidia-rtx-4090-24gb", "nvidia-h100-sxm5-80gb"});
    document.setBaseline(test::foreseeableEstimate(document.plan()));
    QCOMPARE(document.undoStack()->count(), 3);
    QVERIFY(document.baseline());
    QSignalSpy released(&document, &PlanDocument::baselineChanged);
    document.undoStack()->undo();
    QVERIFY(!document.baseline());
    QCOMPARE(released.count(), 1);
    document.undoStack()->undo();
    QCOMPARE(document.plan().gpus.size(), std::size_t{1});
    document.undoStack()->undo();
    QCOMPARE(document.plan().model.preset, std::string("Qwen/Qwen3-8B"));
}

void TestDocument::resetGoesBackToTheReference()
{
    PlanDocument document;
    const Field &rank = field("method.rank");
    QVERIFY(!document.isChanged(rank));
    QVERIFY(!document.setField(rank, std::int64_t{64}));
    QVERIFY(document.isChanged(rank));
    // A pinned baseline is the new reference.
    document.setBaseline(test::foreseeableEstimate(document.plan()));
    QVERIFY(!document.isChanged(rank));
    QVERIFY(!document.setField(rank, std::int64_t{8}));
    document.resetField(rank);
    QCOMPARE(document.plan().method.rank, 64);
    document.undoStack()->undo();
    QCOMPARE(document.plan().method.rank, 8);
}

void TestDocument::savedAndOpenedPlansAreEqual()
{
    const Folder folder;
    PlanDocument document;
    QVERIFY(!document.setField(field("batch.micro_batch"), std::int64_t{6}));
    const QString file = folder.path("kept.headroom.json");
    QVERIFY(!document.saveAs(file));
    QVERIFY(!document.isModified());
    QCOMPARE(document.file(), file);

    PlanDocument other;
    QVERIFY(!other.open(file));
    QVERIFY(other.plan() == document.plan());
    QVERIFY(!other.isModified());
    QCOMPARE(other.title(), QString("kept.headroom.json"));
}

void TestDocument::savingElsewhereKeepsConfigPath()
{
    TrainingPlan plan;
    plan.folder = "/home/someone/plans";
    plan.model = {{}, {}, "../models/config.json"};
    const TrainingPlan moved = movedTo(plan, "/home/someone/plans/deep/er");
    QCOMPARE(moved.model.configPath, std::string("../../../models/config.json"));
    QCOMPARE(moved.folder.string(), std::string("/home/someone/plans/deep/er"));
}

void TestDocument::configsBecomeTheModel()
{
    const Folder folder;
    const QString file = folder.write("any-name.txt", R"({"model_type": "qwen3", "hidden_size": 1024, "num_hidden_layers": 4,
        "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 3072, "vocab_size": 151936})");
    PlanDocument document;
    QVERIFY(!document.open(file));
    QVERIFY(document.plan().model.preset.empty());
    QVERIFY(document.plan().model.config.find("151936") != std::string::npos);
    // The rest of the plan stays, and the change can be undone.
    QVERIFY(document.plan().method.kind == MethodKind::Lora);
    document.undoStack()->undo();
    QCOMPARE(document.plan().model.preset, std::string("Qwen/Qwen3-8B"));
}

void TestDocument::brokenFilesLeaveThePlan_data()
{
    QTest::addColumn<QByteArray>("content");
    QTest::newRow("empty") << QByteArray();
    QTest::newRow("no JSON") << QByteArray("hello");
    QTest::newRow("cut off") << planText().left(40);
    QTest::newRow("unknown key") << QByteArray(R"({"headroom_plan": 1, "model": {"preset": "Qwen/Qwen3-8B"}, "batsh": 3})");
    QTest::newRow("wrong type") << QByteArray(R"({"headroom_plan": 1, "model": {"preset": 8}})");
    QTest::newRow("absurd size") << QByteArray(R"({"headroom_plan": 1, "batch": {"micro_batch": 1e30}})");
    QTest::newRow("newer format") << QByteArray(R"({"headroom_plan": 99})");
    QTest::newRow("deep") << QByteArray(200000, '[');
    QTest::newRow("invalid UTF-8") << QByteArray("{\"headroom_plan\": 1, \"name\": \"\xff\xfe\"}");
    QTest::newRow("config without layers") << QByteArray(R"({"model_type": "llama", "hidden_size": 4096})");
    QTest::newRow("config of an unknown architecture")
        << QByteArray(R"({"model_type": "nobody-knows", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1,
        "intermediate_size": 8, "vocab_size": 8})");
}

void TestDocument::brokenFilesLeaveThePlan()
{
    QFETCH(QByteArray, content);
    const Folder folder;
    const QString file = folder.write("broken.json", content);
    PlanDocument document;
    QVERIFY(!document.setField(field("batch.micro_batch"), std::int64_t{3}));
    const TrainingPlan before = document.plan();
    const auto issue = document.open(file);
    QVERIFY(issue);
    QVERIFY2(QString::fromStdString(issue->file).endsWith("broken.json"), issue->file.c_str());
    QVERIFY(!issue->what.empty());
    QVERIFY(document.plan() == before);
    QCOMPARE(document.undoStack()->count(), 1);
    QVERIFY(document.file().isEmpty());
}

void TestDocument::modifiedFollowsTheUndoStack()
{
    const Folder folder;
    PlanDocument document;
    QSignalSpy modified(&document, &PlanDocument::modifiedChanged);
    QVERIFY(!document.setField(field("batch.micro_batch"), std::int64_t{3}));
    QCOMPARE(modified.count(), 1);
    QVERIFY(!document.saveAs(folder.path("a.headroom.json")));
    QVERIFY(!document.isModified());
    document.undoStack()->undo();
    QVERIFY(document.isModified());
    document.undoStack()->redo();
    QVERIFY(!document.isModified());
    const auto issue = document.saveAs(folder.path("no such folder/a.headroom.json"));
    QVERIFY(issue);
    QVERIFY(!issue->hint.empty());
    QCOMPARE(document.file(), folder.path("a.headroom.json"));
}

void TestDocument::aBaselineIsNoChangeOfThePlan()
{
    PlanDocument document;
    const auto result = std::make_shared<const Estimate>();
    document.setBaseline(result);
    QVERIFY(!document.isModified());
    QVERIFY(!document.setField(field("batch.micro_batch"), std::int64_t{3}));
    QVERIFY(document.isModified());
    document.setBaseline(nullptr);
    document.undoStack()->undo();
    QCOMPARE(document.baseline(), result);
    QVERIFY(document.isModified());
    document.undoStack()->undo();
    QVERIFY(!document.isModified());
}

void TestDocument::mergingStopsAtASave()
{
    const Folder folder;
    PlanDocument document;
    QVERIFY(!document.setField(field("batch.micro_batch"), std::int64_t{3}));
    QVERIFY(!document.saveAs(folder.path("a.headroom.json")));
    QVERIFY(!document.setField(field("batch.micro_batch"), std::int64_t{4}));
    QVERIFY(document.isModified());
    document.undoStack()->undo();
    QCOMPARE(document.plan().batch.microBatch, 3);
    QVERIFY(!document.isModified());
}

void TestDocument::restoredWorkIsUnsaved()
{
    PlanDocument document;
    TrainingPlan plan = document.plan();
    plan.batch.microBatch = 5;
    document.restore(plan, {}, true);
    QVERIFY(document.isModified());
    QVERIFY(document.isChanged(field("batch.micro_batch")));
    QVERIFY(!document.isChanged(field("batch.sequence_length")));
}

void TestDocument::restoredCleanPlanIsReadAgain()
{
    const Folder folder;
    const QString file = folder.write("plan.headroom.json", planText());
    PlanDocument document;
    document.restore(startPlan(), file, false);
    QCOMPARE(document.plan().name, std::string("from a file"));
    QVERIFY(!document.isModified());
    // With the file gone the copy is all there is.
    QVERIFY(QFile::remove(file));
    document.restore(startPlan(), file, false);
    QVERIFY(document.plan() == startPlan());
    QVERIFY(document.isModified());
}

QTEST_GUILESS_MAIN(TestDocument)
#include "test_document.moc"
