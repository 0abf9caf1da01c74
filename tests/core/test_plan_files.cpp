// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Files as users have them: the shipped examples, and the folder data/broken, where beside each file stands what its error
// must name: {"where": path, "line": number}.
#include "core/model/catalogue.h"
#include "core/plan/fields.h"
#include "core/plan/plan_json.h"
#include "core/units/strict_json.h"
#include "core/units/text.h"

#include <QtTest>

#include <filesystem>

using namespace headroom;

namespace {

const std::filesystem::path brokenFolder = std::filesystem::path(HEADROOM_SOURCE_DIR) / "tests/core/data/broken";
const std::filesystem::path exampleFolder = std::filesystem::path(HEADROOM_SOURCE_DIR) / "presets/examples";

/// The first issue of a plan or config file; nothing where it is sound.
std::optional<Issue> firstIssue(const std::filesystem::path &file)
{
    if (file.string().ends_with(".config.json")) {
        const Result<ModelConfig> config = readModelConfig(readTextFile(file).value());
        return config ? std::nullopt : std::optional(config.issue());
    }
    const Result<TrainingPlan> plan = readPlanFile(file);
    if (!plan)
        return plan.issue();
    const std::vector<Issue> issues = validate(*plan);
    return issues.empty() ? std::nullopt : std::optional(issues.front());
}

} // namespace

class TestPlanFiles : public QObject
{
    Q_OBJECT

private slots:
    void brokenFiles_data()
    {
        QTest::addColumn<QString>("name");
        for (const auto &entry : std::filesystem::directory_iterator(brokenFolder))
            if (const std::string name = entry.path().filename().string(); !name.ends_with(".expected.json"))
                QTest::newRow(name.c_str()) << QString::fromStdString(name);
    }
    /// Every broken file gets an error that names the place and how to mend it.
    void brokenFiles()
    {
        QFETCH(QString, name);
        const std::filesystem::path file = brokenFolder / name.toStdString();
        const std::filesystem::path beside = file.parent_path() / (file.stem().stem().string() + ".expected.json");
        const Result<JsonValue> expected = parseJson(readTextFile(beside).value());
        QVERIFY(expected.ok());

        const std::optional<Issue> issue = firstIssue(file);
        QVERIFY(issue.has_value());
        QCOMPARE(issue->where, *expected->find("where")->string());
        QCOMPARE(std::int64_t{issue->line}, *expected->find("line")->wholeNumber());
        QVERIFY(!issue->what.empty() && !issue->what.ends_with('.'));
        QVERIFY(!issue->hint.empty());
        QVERIFY(isValidUtf8(toString(*issue)));
        QVERIFY(toString(*issue).size() < 1000 + file.string().size());
    }

    void examples_data()
    {
        QTest::addColumn<QString>("name");
        for (const auto &entry : std::filesystem::directory_iterator(exampleFolder))
            QTest::newRow(entry.path().filename().string().c_str()) << QString::fromStdString(entry.path().filename().string());
    }
    /// The shipped examples are sound, named, and as Headroom itself would write them.
    void examples()
    {
        QFETCH(QString, name);
        QVERIFY(name.endsWith(".headroom.json"));
        const std::filesystem::path file = exampleFolder / name.toStdString();
        const Result<TrainingPlan> plan = readPlanFile(file);
        QVERIFY2(plan.ok(), plan ? "" : toString(plan.issue()).c_str());
        QVERIFY(!plan->name.empty() && !plan->gpus.empty());
        for (const Issue &issue : validate(*plan))
            QVERIFY2(false, toString(issue).c_str());
        const ModelPreset *preset = findModelPreset(plan->model.preset);
        QVERIFY(preset != nullptr && preset->supported);
        for (const Field &field : fields())
            for (const FieldChoice &choice : field.choices)
                if (field.get(*plan) == FieldValue(std::string(choice.value)))
                    QVERIFY2(choice.refused.empty() || (field.inapplicable != nullptr && !field.inapplicable(*plan).empty()),
                             field.path.data());
        QCOMPARE(writePlan(*plan), readTextFile(file).value());
    }

    void thereAreSixExamples()
    {
        const auto files = std::filesystem::directory_iterator(exampleFolder);
        QCOMPARE(std::distance(begin(files), end(files)), std::ptrdiff_t{6});
        QVERIFY(std::filesystem::exists(exampleFolder / "qwen3-8b-lora-24gb.headroom.json"));
    }
};

QTEST_APPLESS_MAIN(TestPlanFiles)
#include "test_plan_files.moc"
