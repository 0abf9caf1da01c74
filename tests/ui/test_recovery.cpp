// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// After a crash: the unsaved work of every window comes back, and nothing replaces it before it is safe.
#include "core/plan/plan_json.h"
#include "ui/document/working_copy.h"
#include "ui/panel/field_row.h"
#include "ui/panel/plan_panel.h"
#include "ui/window/message_bar.h"
#include "window_fixture.h"

#include <QDir>
#include <QPushButton>
#include <QTest>

using namespace headroom;
using test::Folder;

class TestRecovery : public QObject
{
    Q_OBJECT
private slots:
    void unsavedWorkThatCameBackIsSaid();
    void theWorkOfEveryWindowComesBack();
    void workIsOfferedOnce();
    void savedWorkIsNotOffered();
    void anOfferStaysUntilItIsTaken();
    void damagedWorkOfAnotherWindowIsNamed();
    void workThatCannotBeKeptIsNotReplaced();

private:
    /// Leaves working copies as windows do that crashed: written, held by nobody.
    static void leave(const Folder &folder, const std::vector<std::int64_t> &microBatches, bool modified = true)
    {
        std::vector<std::unique_ptr<PlanDocument>> documents;
        std::vector<std::unique_ptr<WorkingCopy>> windows;
        for (const std::int64_t microBatch : microBatches) {
            PlanDocument &document = *documents.emplace_back(std::make_unique<PlanDocument>());
            WorkingCopy &copy = *windows.emplace_back(std::make_unique<WorkingCopy>(document, folder.path("data")));
            QVERIFY(!document.setField(*findField("name"), "window " + std::to_string(microBatch)));
            QVERIFY(!document.setField(*findField("batch.micro_batch"), microBatch));
            if (!modified)
                QVERIFY(!document.saveAs(folder.path(QString::number(microBatch) + ".headroom.json")));
            QVERIFY(copy.flush());
        }
    }
    static QStringList messages(const MainWindow &window) { return window.messages()->messages(); }
    static QPushButton *offer(const MainWindow &window) { return window.messages()->findChild<QPushButton *>(); }
    static std::int64_t microBatch(MainWindow &window) { return window.document().plan().batch.microBatch; }
};

void TestRecovery::unsavedWorkThatCameBackIsSaid()
{
    const Folder folder;
    leave(folder, {5});
    const auto window = test::opened(folder);
    QVERIFY(window);
    QCOMPARE(microBatch(*window), 5);
    QVERIFY(window->isWindowModified());
    QCOMPARE(messages(*window).size(), 1);
    QVERIFY2(messages(*window).first().contains("came back") && messages(*window).first().contains("window 5"),
             qPrintable(messages(*window).first()));
}

void TestRecovery::theWorkOfEveryWindowComesBack()
{
    const Folder folder;
    leave(folder, {5, 6, 7});
    auto window = test::opened(folder);
    QVERIFY(window);
    QCOMPARE(microBatch(*window), 5);
    QCOMPARE(messages(*window).size(), 3);
    QVERIFY(messages(*window).at(0).contains("window 6") && messages(*window).at(1).contains("window 7"));
    // The work in the window is asked about first; whoever wants to stay keeps the offer.
    int asked = 0;
    test::answer(QMessageBox::Cancel, &asked);
    QTest::mouseClick(offer(*window), Qt::LeftButton);
    QCOMPARE(asked, 1);
    QCOMPARE(microBatch(*window), 5);
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    QCOMPARE(messages(*window).filter("window 6").size(), 1);

    QVERIFY(!window->document().saveAs(folder.path("five.headroom.json")));
    QPushButton *seventh = offer(*window);
    QVERIFY(seventh->accessibleName().contains("window 7"));
    seventh->setFocus();
    QTest::keyClick(seventh, Qt::Key_Space);
    QCOMPARE(microBatch(*window), 7);
    QVERIFY(window->isWindowModified());
    QVERIFY(test::settled(*window));
    QCOMPARE(window->shown()->plan.batch.microBatch, 7);
    // What was brought back lies in this window's copy, and no longer in the other's.
    QVERIFY(!QFile::exists(folder.path("data/working-plan-3.json")));
    QFile own(folder.path("data/working-plan.json"));
    QVERIFY(own.open(QIODevice::ReadOnly));
    QVERIFY(own.readAll().contains("window 7"));
    // What was not taken is there the next time.
    QVERIFY(QFile::exists(folder.path("data/working-plan-2.json")));
}

void TestRecovery::workIsOfferedOnce()
{
    const Folder folder;
    leave(folder, {5, 6});
    const auto first = test::opened(folder);
    const auto second = test::opened(folder);
    QVERIFY(first && second);
    QVERIFY(offer(*first));
    QVERIFY(!offer(*second));
    QCOMPARE(microBatch(*second), 1);
}

void TestRecovery::savedWorkIsNotOffered()
{
    const Folder folder;
    leave(folder, {5, 6}, false);
    {
        const auto window = test::opened(folder);
        QVERIFY(window);
        QCOMPARE(microBatch(*window), 5);
        QVERIFY(messages(*window).isEmpty());
    }
    // The second window's work was not saved, the first one's was: the second's comes first.
    leave(folder, {8}, false);
    {
        PlanDocument document;
        const WorkingCopy held(document, folder.path("data"));
        leave(folder, {9});
    }
    const auto window = test::opened(folder);
    QVERIFY(window);
    QCOMPARE(microBatch(*window), 9);
    QVERIFY(window->isWindowModified());
    QVERIFY(!offer(*window));
}

void TestRecovery::anOfferStaysUntilItIsTaken()
{
    const Folder folder;
    leave(folder, {5, 6});
    const auto window = test::opened(folder);
    QVERIFY(window);
    for (int i = 0; i < 5; ++i)
        window->messages()->show(MessageBar::Kind::Error, QString::number(i));
    QVERIFY(window->messages()->messages().size() <= MessageBar::maximumMessages);
    window->messages()->clear();
    QCOMPARE(messages(*window).size(), 1);
    QVERIFY(offer(*window)->isVisible());
}

void TestRecovery::damagedWorkOfAnotherWindowIsNamed()
{
    const Folder folder;
    leave(folder, {5});
    folder.write("data/working-plan-2.json", "{ not a plan");
    const auto window = test::opened(folder);
    QVERIFY(window);
    QCOMPARE(microBatch(*window), 5);
    QCOMPARE(messages(*window).filter("working-plan-2.damaged.json").size(), 1);
    QVERIFY(QFile::exists(folder.path("data/working-plan-2.damaged.json")));
}

void TestRecovery::workThatCannotBeKeptIsNotReplaced()
{
    const Folder folder;
    WindowPaths paths = folder.paths();
    paths.dataFolder = folder.write("a file", "in the way") + "/data";
    MainWindow window(test::foreseeable(), paths);
    QVERIFY(!window.document().setField(*findField("batch.micro_batch"), std::int64_t{6}));
    TrainingPlan plan;
    plan.name = "given";
    window.start(folder.write("given.headroom.json", QByteArray::fromStdString(writePlan(plan))));
    QCOMPARE(window.document().plan().batch.microBatch, 6);
    QVERIFY(window.document().isModified());
    QVERIFY(window.document().file().isEmpty());
    QCOMPARE(messages(window).filter("unsaved.headroom.json: cannot be written").size(), 1);
}

QTEST_MAIN(TestRecovery)
#include "test_recovery.moc"
