// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Runs are kept with the plan they are of, and none is lost.
#include "measured_fixture.h"

#include "ui/window/message_bar.h"

#include <QTreeWidget>

using namespace headroom;
using namespace headroom::test;

class TestMeasuredRuns : public QObject
{
    Q_OBJECT

private slots:
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

    void everyRankOfARunIsKept()
    {
        const Folder folder;
        const auto window =
            openedWith(folder, program(folder, "cp '" + gpuRun.toUtf8() +
                                                   "' \"$4\"\nsed 's/\"rank\": 0/\"rank\": 1/; s/\"ranks\": 1/\"ranks\": 2/' '" +
                                                   gpuRun.toUtf8() + "' >\"${4%.headroom-probe.json}.rank1.headroom-probe.json\""));
        QVERIFY(window);
        measure(*window, "On a GPU of this machine", accept);
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
        measure(*window, "On a GPU of this machine", accept);
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
};

QTEST_MAIN(TestMeasuredRuns)
#include "test_measured_runs.moc"
