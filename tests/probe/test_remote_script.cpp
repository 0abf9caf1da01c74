// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What is sent to another machine, and what comes back from it.
#include "app/headroom-probe/remote_script.h"

#include <QProcess>
#include <QTest>

using namespace headroom::probe;

class TestRemoteScript : public QObject
{
    Q_OBJECT

private slots:
    void wordsOfAShell()
    {
        QCOMPARE(shellWord("a b"), std::string("'a b'"));
        QCOMPARE(shellWord("it's"), std::string("'it'\"'\"'s'"));
        for (const char *text : {"", "$(touch x)", "`id`", "a;b&c|d", "'", "''\"", "-x", "~", "*", "a\tb"}) {
            QProcess shell;
            shell.start("sh", {"-c", QString::fromStdString("printf %s " + shellWord(text))});
            QVERIFY(shell.waitForFinished());
            QCOMPARE(shell.readAllStandardOutput(), QByteArray(text));
        }
    }

    void hostsAndPathsAreChecked()
    {
        QVERIFY(!checkHost("user@gpu-1.example.org"));
        QVERIFY(checkHost("@host")->what.find("no user before") != std::string::npos);
        QVERIFY(checkHost("user@")->what.find("no machine after") != std::string::npos);
        QVERIFY(checkHost("-V") && checkHost("") && checkHost("a\nb") && checkHost("a b"));
        QVERIFY(!checkRemotePath("--python", "/opt/my venv/bin/python"));
        QVERIFY(checkRemotePath("--python", "-c") && checkRemotePath("--python", "a\\b") && checkRemotePath("--python", "a\nb"));
    }

    void filesComeBackWhole()
    {
        const auto files =
            remoteFiles("Welcome\n\nHEADROOM-FILE result.headroom-probe.json 3\n{}\n\nHEADROOM-FILE snapshot.pickle 2\n\n\n");
        QCOMPARE(files.size(), std::size_t{2});
        QCOMPARE(files[0].name, std::string("result.headroom-probe.json"));
        QCOMPARE(files[0].text, std::string("{}\n"));
        QCOMPARE(files[1].text, std::string("\n\n"));
        for (const char *cut : {"", "\nHEADROOM-FILE a 5\nabc", "\nHEADROOM-FILE a -1\nabc", "\nHEADROOM-FILE a 99999999999999999999\nabc",
                                "\nHEADROOM-FILE a", "\nHEADROOM-FILE a x\nabc"})
            QVERIFY2(remoteFiles(cut).empty(), cut);
    }
};

QTEST_GUILESS_MAIN(TestRemoteScript)
#include "test_remote_script.moc"
