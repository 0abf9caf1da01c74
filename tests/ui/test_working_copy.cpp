// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Nothing is lost: the working plan is on the disk shortly after each change, comes back, and a damaged one is kept aside.
// Settings of any content read as defaults.
#include "core/plan/fields.h"
#include "ui/document/plan_files.h"
#include "ui/document/settings.h"
#include "ui/document/working_copy.h"
#include "window_fixture.h"

#include <QDir>
#include <QSignalSpy>
#include <QTest>

using namespace headroom;
using test::Folder;

class TestWorkingCopy : public QObject
{
    Q_OBJECT
private slots:
    void changesReachTheDiskByThemselves();
    void comesBackWithFileAndUnsavedState();
    void damagedCopiesAreKeptAside_data();
    void damagedCopiesAreKeptAside();
    void twoWindowsDoNotShareACopy();
    void aFolderThatCannotBeWrittenIsReportedOnce();
    void settingsKeepTheirTypes();
    void anySettingsFileReadsAsDefaults_data();
    void anySettingsFileReadsAsDefaults();
    void recentFilesAreOrderedAndLimited();

private:
    static void change(PlanDocument &document, std::int64_t microBatch)
    {
        const auto issue = document.setField(*findField("batch.micro_batch"), microBatch);
        QVERIFY(!issue);
    }
};

void TestWorkingCopy::changesReachTheDiskByThemselves()
{
    const Folder folder;
    PlanDocument document;
    const WorkingCopy copy(document, folder.path("data"));
    QVERIFY(!copy.file().isEmpty());
    QVERIFY(!QFile::exists(copy.file()));
    change(document, 7);
    QTRY_VERIFY(QFile::exists(copy.file()));
    QFile file(copy.file());
    QVERIFY(file.open(QIODevice::ReadOnly));
    QVERIFY(file.readAll().contains("micro_batch"));
}

void TestWorkingCopy::comesBackWithFileAndUnsavedState()
{
    const Folder folder;
    const QString planFile = folder.path("mine.headroom.json");
    TrainingPlan last;
    {
        PlanDocument document;
        WorkingCopy copy(document, folder.path("data"));
        QVERIFY(!document.saveAs(planFile));
        change(document, 9);
        last = document.plan();
    } // going away writes what is left
    PlanDocument document;
    WorkingCopy copy(document, folder.path("data"));
    const Restored restored = copy.restore();
    QVERIFY(restored.damages.empty() && restored.leftBehind.empty());
    QVERIFY(restored.isUnsaved);
    QVERIFY(document.plan() == last);
    QCOMPARE(document.file(), planFile);
    QVERIFY(document.isModified());
    QVERIFY(document.isChanged(*findField("batch.micro_batch")));
}

void TestWorkingCopy::damagedCopiesAreKeptAside_data()
{
    QTest::addColumn<QByteArray>("content");
    QTest::newRow("empty") << QByteArray();
    QTest::newRow("noise") << QByteArray("\x00\x01\xff", 3);
    QTest::newRow("cut off") << QByteArray(R"({"headroom_working_plan": 1, "plan": "{\"headroom)");
    QTest::newRow("bad plan") << QByteArray(R"({"headroom_working_plan": 1, "plan": "{\"headroom_plan\": 1, \"batch\": 3}"})");
    QTest::newRow("wrong types") << QByteArray(R"({"headroom_working_plan": "x", "plan": 3, "file": [], "modified": {}})");
    QTest::newRow("other format") << QByteArray(R"({"headroom_working_plan": 2, "plan": "{\"headroom_plan\": 1}"})");
}

void TestWorkingCopy::damagedCopiesAreKeptAside()
{
    QFETCH(QByteArray, content);
    const Folder folder;
    QVERIFY(QDir().mkpath(folder.path("data")));
    folder.write("data/working-plan.json", content);
    folder.write("data/working-plan.damaged.json", "an older one");
    PlanDocument document;
    WorkingCopy copy(document, folder.path("data"));
    const Restored restored = copy.restore();
    QCOMPARE(restored.damages.size(), std::size_t{1});
    const std::string &named = restored.damages.front().file;
    QVERIFY2(QString::fromStdString(named).endsWith("working-plan.damaged-2.json"), named.c_str());
    QFile kept(folder.path("data/working-plan.damaged-2.json"));
    QVERIFY(kept.open(QIODevice::ReadOnly));
    QCOMPARE(kept.readAll(), content);
    QVERIFY(document.plan() == startPlan());
}

void TestWorkingCopy::twoWindowsDoNotShareACopy()
{
    const Folder folder;
    PlanDocument first, second;
    auto firstCopy = std::make_unique<WorkingCopy>(first, folder.path("data"));
    const QString firstFile = firstCopy->file();
    {
        const WorkingCopy secondCopy(second, folder.path("data"));
        QVERIFY(secondCopy.file() != firstFile);
    }
    firstCopy.reset();
    const WorkingCopy again(second, folder.path("data"));
    QCOMPARE(again.file(), firstFile);
}

void TestWorkingCopy::aFolderThatCannotBeWrittenIsReportedOnce()
{
    const Folder folder;
    PlanDocument document;
    WorkingCopy copy(document, folder.path("data"));
    QVERIFY(!copy.file().isEmpty());
    QSignalSpy failed(&copy, &WorkingCopy::failed);
    // A folder in the file's place cannot be replaced, whoever runs the test.
    QVERIFY(QDir().mkpath(copy.file() + "/in the way"));
    change(document, 2);
    copy.flush();
    copy.flush();
    QCOMPARE(failed.count(), 1);
}

void TestWorkingCopy::settingsKeepTheirTypes()
{
    const Folder folder;
    {
        Settings settings(folder.path("s.ini"));
        settings.setUnit(ByteUnit::Decimal);
        settings.setStep(Estimate::Step::First);
        settings.setWindowGeometry(QByteArray("\x01\x00\xff", 3));
        settings.setSplitter("rows", "abc");
        settings.setFoldedGroups({"runtime", "plan"});
    }
    const Settings settings(folder.path("s.ini"));
    QVERIFY(settings.unit() == ByteUnit::Decimal);
    QVERIFY(settings.step() == Estimate::Step::First);
    QCOMPARE(settings.windowGeometry(), QByteArray("\x01\x00\xff", 3));
    QCOMPARE(settings.splitter("rows"), QByteArray("abc"));
    QCOMPARE(settings.splitter("columns"), QByteArray());
    QCOMPARE(settings.foldedGroups(), QStringList({"runtime", "plan"}));
}

void TestWorkingCopy::anySettingsFileReadsAsDefaults_data()
{
    QTest::addColumn<QByteArray>("content");
    QTest::newRow("noise") << QByteArray("\x00\xff\xfe[[[==\x07", 9);
    QTest::newRow("unclosed section") << QByteArray("[display\nunit=TB");
    QTest::newRow("wrong types") << QByteArray("[window]\ngeometry=@Invalid()\nsplitter-rows=@Variant(\\0\\0\\0\\x99)\n[display]\n"
                                               "unit=@ByteArray(\\xff)\nstep=7, 8\n[files]\nrecent=@Variant(\\0)\nfolder=@Rect(1 2 3 4)\n");
}

void TestWorkingCopy::anySettingsFileReadsAsDefaults()
{
    QFETCH(QByteArray, content);
    const Folder folder;
    Settings settings(folder.write("s.ini", content));
    QVERIFY(settings.unit() == ByteUnit::Binary);
    QVERIFY(settings.step() == Estimate::Step::Steady);
    QVERIFY(QDir(settings.lastFolder()).exists());
    QVERIFY(settings.recentFiles().size() <= Settings::maximumRecentFiles);
    // And it can be written again.
    settings.setUnit(ByteUnit::Decimal);
    settings.sync();
    QVERIFY(Settings(folder.path("s.ini")).unit() == ByteUnit::Decimal);
    // The window opens with it, in a size that can be used.
    folder.write("headroom.ini", content);
    MainWindow window(test::foreseeable(), folder.paths());
    window.start();
    window.show();
    QVERIFY(window.width() >= window.minimumWidth());
    QVERIFY(test::settled(window));
    QVERIFY(window.shown());
}

void TestWorkingCopy::recentFilesAreOrderedAndLimited()
{
    const Folder folder;
    Settings settings(folder.path("s.ini"));
    for (int i = 0; i < 15; ++i)
        settings.addRecentFile(folder.path(QString::number(i)));
    settings.addRecentFile(folder.path("7"));
    QCOMPARE(settings.recentFiles().size(), Settings::maximumRecentFiles);
    QCOMPARE(settings.recentFiles().first(), folder.path("7"));
    QCOMPARE(settings.recentFiles().count(folder.path("7")), 1);
    settings.removeRecentFile(folder.path("7"));
    QCOMPARE(settings.recentFiles().first(), folder.path("14"));
    settings.clearRecentFiles();
    QVERIFY(settings.recentFiles().isEmpty());
}

QTEST_MAIN(TestWorkingCopy)
#include "test_working_copy.moc"
