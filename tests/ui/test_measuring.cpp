// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A run is started, followed, cancelled, and what goes wrong with it is said.
#include "measured_fixture.h"

#include "ui/measured/probe_process.h"
#include "ui/window/message_bar.h"

#include <QLineEdit>
#include <QRadioButton>
#include <QSignalSpy>
#include <QSpinBox>

using namespace headroom;
using namespace headroom::test;

class TestMeasuring : public QObject
{
    Q_OBJECT

private slots:
    void measuringGivesARun()
    {
        const Folder folder;
        const QString probe = program(folder, "echo 'step 1 of 3: forward' >&2\ncp '" + dryRun.toUtf8() + "' \"$4\"");
        const auto window = openedWith(folder, probe);
        QVERIFY(window);
        measure(*window, "Dry run", [](MeasureDialog *dialog) {
            QVERIFY(dialog->findChild<QRadioButton *>("dry")->isChecked());
            dialog->findChild<QLineEdit *>("python")->setText("/a b/python; $(x)");
            dialog->findChild<QSpinBox *>("steps")->setValue(5);
            accept(dialog);
        });
        QTRY_COMPARE(window->runs()->runs().size(), std::size_t{1});
        QVERIFY(window->runs()->currentRun()->name.endsWith("-dry-run"));
        QVERIFY(compared(*window, "peak.allocated"));
        QFile arguments(folder.path("arguments"));
        QVERIFY(arguments.open(QIODevice::ReadOnly));
        const QByteArray given = arguments.readAll();
        QVERIFY2(given.startsWith("run ") && given.contains("--steps 5 --python /a b/python; $(x) --dry-run"), given);
        // It is remembered.
        measure(*window, "Dry run", [](MeasureDialog *dialog) {
            QCOMPARE(dialog->findChild<QLineEdit *>("python")->text(), QString("/a b/python; $(x)"));
            QCOMPARE(dialog->findChild<QSpinBox *>("steps")->value(), 5);
            dialog->reject();
        });
        QCOMPARE(window->runs()->runs().size(), std::size_t{1});
    }

    void measuringCanBeCancelled()
    {
        const Folder folder;
        const auto window = openedWith(folder, program(folder, "trap 'exit 130' TERM\necho 'importing libraries' >&2\nsleep 60 & wait"));
        QVERIFY(window);
        measure(*window, "On another machine over SSH", [](MeasureDialog *dialog) {
            QPushButton *ok = dialog->findChild<QDialogButtonBox *>()->button(QDialogButtonBox::Ok);
            QVERIFY(!ok->isEnabled()); // which machine?
            dialog->findChild<QLineEdit *>("host")->setText("-oProxyCommand=x");
            QVERIFY(!ok->isEnabled());
            dialog->findChild<QLineEdit *>("host")->setText("user@");
            QVERIFY(!ok->isEnabled());
            dialog->findChild<QLineEdit *>("host")->setText("user@gpu");
            QVERIFY(ok->isEnabled());
            accept(dialog);
        });
        QTRY_VERIFY(isSaid(window->measured(), "importing libraries"));
        QVERIFY(!actionOf(*window, "Dry run")->isEnabled());
        QSignalSpy cancelled(window->probe(), &ProbeProcess::cancelled);
        QTest::mouseClick(buttonOf(window->measured(), "Cancel"), Qt::LeftButton);
        QTRY_COMPARE_WITH_TIMEOUT(cancelled.count(), 1, 20'000);
        QVERIFY(!window->probe()->isRunning());
        QVERIFY(actionOf(*window, "Dry run")->isEnabled());
        QVERIFY(window->runs()->runs().empty());
        QVERIFY(window->messages()->messages().isEmpty());
        QFile arguments(folder.path("arguments"));
        QVERIFY(arguments.open(QIODevice::ReadOnly) && arguments.readAll().contains("--ssh user@gpu"));
    }

    void whatGoesWrongIsSaid_data()
    {
        QTest::addColumn<QByteArray>("body");
        QTest::addColumn<QString>("says");
        QTest::newRow("library missing") << QByteArray("echo 'torch is missing' >&2; exit 3") << "torch is missing";
        QTest::newRow("the plan, by the name that the user knows")
            << QByteArray("echo \"headroom_probe: $2: attention: no kernel\" >&2; exit 2")
            << "headroom_probe: plan.headroom.json: attention";
        QTest::newRow("killed") << QByteArray("kill -KILL $$") << "Measuring failed";
        QTest::newRow("garbage") << QByteArray("head -c 200000 /dev/urandom >&2; exit 1") << "Measuring failed";
        QTest::newRow("broken result") << QByteArray("echo '{' >\"$4\"") << "not valid JSON";
    }
    void whatGoesWrongIsSaid()
    {
        QFETCH(QByteArray, body);
        QFETCH(QString, says);
        const Folder folder;
        const auto window = openedWith(folder, program(folder, body));
        QVERIFY(window);
        measure(*window, "On a GPU of this machine", accept);
        QTRY_COMPARE(window->messages()->messages().size(), 1);
        QVERIFY2(window->messages()->messages().first().contains(says), qPrintable(window->messages()->messages().first()));
        QVERIFY(window->runs()->runs().empty());
    }

    void aProgramThatIsNotThereIsSaid()
    {
        const Folder folder;
        const auto window = openedWith(folder, folder.path("no-such-program"));
        QVERIFY(window);
        measure(*window, "On a GPU of this machine", accept);
        QTRY_COMPARE(window->messages()->messages().size(), 1);
        QVERIFY(window->messages()->messages().first().contains("could not be started"));
        QVERIFY(!window->probe()->isRunning());
    }

    void closingTheWindowEndsTheRun()
    {
        const Folder folder;
        auto window = openedWith(
            folder, program(folder, "trap 'touch " + folder.path("ended").toUtf8() + "; exit 130' TERM\necho on >&2\nsleep 60 & wait"));
        QVERIFY(window);
        measure(*window, "On a GPU of this machine", accept);
        QTRY_VERIFY(isSaid(window->measured(), "on"));
        QTest::qWait(200);
        window.reset();
        QTRY_VERIFY(QFile::exists(folder.path("ended")));
    }

    /// headroom-probe is asked a second time, which makes it kill what does not hear; only then is it killed itself.
    void closingTheWindowEndsADeafRunToo()
    {
        const Folder folder;
        auto window = openedWith(folder, program(folder, "trap 'echo asked >>" + folder.path("asked").toUtf8() +
                                                             "' TERM\necho on >&2\ni=0\nwhile [ $i -lt 300 ]; do sleep 0.1; i=$((i + 1)); "
                                                             "[ \"$(wc -l <" +
                                                             folder.path("asked").toUtf8() + ")\" = 2 ] && exit 130; done 2>/dev/null"));
        QVERIFY(window);
        measure(*window, "On a GPU of this machine", accept);
        QTRY_VERIFY(isSaid(window->measured(), "on"));
        QTest::qWait(200);
        window.reset();
        QFile asked(folder.path("asked"));
        QVERIFY(asked.open(QIODevice::ReadOnly));
        QCOMPARE(asked.readAll(), QByteArray("asked\nasked\n"));
    }
};

QTEST_MAIN(TestMeasuring)
#include "test_measuring.moc"
