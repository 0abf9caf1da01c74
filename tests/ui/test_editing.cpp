// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Typing: undo reaches the plan from every field, and what is being typed is neither lost nor overwritten.
#include "core/plan/plan_json.h"
#include "ui/choosers/gpu_chooser.h"
#include "ui/choosers/model_chooser.h"
#include "ui/panel/field_row.h"
#include "ui/panel/number_box.h"
#include "ui/panel/plan_panel.h"
#include "window_fixture.h"

#include <QAbstractButton>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QTabWidget>
#include <QTest>

using namespace headroom;
using test::Folder;

class TestEditing : public QObject
{
    Q_OBJECT
private slots:
    void init();
    void cleanup();
    void undoAfterTypingReachesThePlan_data();
    void undoAfterTypingReachesThePlan();
    void undoWhileTypingBelongsToTheText();
    void undoInTheModelChooserReachesThePlan();
    void undoInTheGpuSearchReachesThePlan();
    void savingTakesWhatIsTyped_data();
    void savingTakesWhatIsTyped();
    void pinningTakesWhatIsTyped();
    void closingTakesWhatIsTyped();
    void whatIsTypedIsNotOverwritten();
    void aWindowCanGoWhileItIsTypedIn();
    void mnemonicsAreUnique();

private:
    QWidget *box(const QString &path)
    {
        const std::string name = path.toStdString();
        m_window->panel()->reveal(name);
        return m_window->panel()->row(name)->editor().box();
    }
    /// Types into the field in the place of what is there.
    QWidget *type(const QString &path, const QString &text)
    {
        QWidget *into = box(path);
        QTest::keyClick(into, Qt::Key_A, Qt::ControlModifier);
        QTest::keyClicks(into, text);
        return into;
    }
    FieldValue valueOf(const QString &path) const { return findField(path.toStdString())->get(m_window->document().plan()); }

    std::unique_ptr<Folder> m_folder;
    std::unique_ptr<MainWindow> m_window;
};

void TestEditing::init()
{
    m_folder = std::make_unique<Folder>();
    m_window = test::opened(*m_folder);
    QVERIFY(m_window);
}

void TestEditing::cleanup()
{
    m_window.reset();
    m_folder.reset();
}

void TestEditing::undoAfterTypingReachesThePlan_data()
{
    QTest::addColumn<QString>("path");
    QTest::addColumn<QString>("typed");
    QTest::newRow("number") << "batch.sequence_length"
                            << "4096";
    QTest::newRow("real number") << "method.dropout"
                                 << "0.25";
    QTest::newRow("text") << "name"
                          << "another plan";
    QTest::newRow("list of names") << "method.targets"
                                   << "q_proj, v_proj";
}

void TestEditing::undoAfterTypingReachesThePlan()
{
    QFETCH(QString, path);
    QFETCH(QString, typed);
    const FieldValue before = valueOf(path);
    QWidget *into = type(path, typed);
    QTest::keyClick(into, Qt::Key_Return);
    const FieldValue after = valueOf(path);
    QVERIFY(after != before);
    QVERIFY(into->hasFocus());
    QTest::keyClick(into, Qt::Key_Z, Qt::ControlModifier);
    QVERIFY(valueOf(path) == before);
    QTest::keyClick(into, Qt::Key_Y, Qt::ControlModifier);
    QVERIFY(valueOf(path) == after);
    QTest::keyClick(into, Qt::Key_Z, Qt::ControlModifier);
    QTest::keyClick(into, Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
    QVERIFY(valueOf(path) == after);
    // With nothing left to take back the key changes no text either.
    QTest::keyClick(into, Qt::Key_Z, Qt::ControlModifier);
    const QString shown = into->property("text").toString();
    QTest::keyClick(into, Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(into->property("text").toString(), shown);
}

void TestEditing::undoWhileTypingBelongsToTheText()
{
    const auto issue = m_window->document().setField(*findField("batch.micro_batch"), std::int64_t{3});
    QVERIFY(!issue);
    auto *length = static_cast<NumberBox *>(box("batch.sequence_length"));
    QTest::keyClicks(length, "7");
    QTest::keyClick(length, Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(m_window->document().plan().batch.microBatch, 3);
    QCOMPARE(length->text(), QString("2048 tokens"));
    QTest::keyClick(length, Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(m_window->document().plan().batch.microBatch, 1);
}

void TestEditing::undoInTheModelChooserReachesThePlan()
{
    ModelChooser *chooser = m_window->modelChooser();
    QTest::keyClick(m_window.get(), Qt::Key_L, Qt::ControlModifier);
    QTest::keyClicks(chooser, "qwen3-0.6b");
    QTest::keyClick(chooser, Qt::Key_Return);
    QVERIFY(m_window->document().plan().model.preset != "Qwen/Qwen3-8B");
    QVERIFY(chooser->hasFocus());
    QTest::keyClick(chooser, Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(m_window->document().plan().model.preset, std::string("Qwen/Qwen3-8B"));
}

void TestEditing::undoInTheGpuSearchReachesThePlan()
{
    m_window->document().setGpus({});
    QTest::keyClick(m_window.get(), Qt::Key_G, Qt::ControlModifier);
    QLineEdit *search = m_window->panel()->gpuChooser()->search();
    QVERIFY(search->hasFocus());
    QTest::keyClick(search, Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(m_window->document().plan().gpus.size(), std::size_t{1});
}

void TestEditing::savingTakesWhatIsTyped_data()
{
    QTest::addColumn<QString>("path");
    QTest::addColumn<QString>("typed");
    QTest::newRow("number") << "batch.sequence_length"
                            << "8192";
    QTest::newRow("text") << "name"
                          << "8192";
    QTest::newRow("list of names") << "method.targets"
                                   << "q_proj";
}

void TestEditing::savingTakesWhatIsTyped()
{
    QFETCH(QString, path);
    QFETCH(QString, typed);
    const QString file = m_folder->path("mine.headroom.json");
    QVERIFY(!m_window->document().saveAs(file));
    QWidget *into = type(path, typed);
    QTest::keyClick(into, Qt::Key_S, Qt::ControlModifier);
    QVERIFY(into->property("text").toString().startsWith(typed));
    QVERIFY(!m_window->document().isModified());
    const auto saved = readPlanFile(file.toStdString());
    QVERIFY(saved.ok());
    const Field &field = *findField(path.toStdString());
    QVERIFY(field.get(*saved) == field.get(m_window->document().plan()));
    QVERIFY(QString::fromStdString(displayValue(field, field.get(*saved))).contains(typed));
}

void TestEditing::pinningTakesWhatIsTyped()
{
    QWidget *into = type("batch.sequence_length", "8192");
    QTest::keyClick(into, Qt::Key_B, Qt::ControlModifier);
    QTRY_VERIFY(m_window->document().baseline());
    QCOMPARE(m_window->document().baseline()->plan.batch.sequenceLength, 8192);
}

void TestEditing::closingTakesWhatIsTyped()
{
    const QString file = m_folder->path("mine.headroom.json");
    QVERIFY(!m_window->document().saveAs(file));
    type("batch.sequence_length", "8192");
    int asked = 0;
    test::answer(QMessageBox::Save, &asked);
    QVERIFY(m_window->close());
    QCOMPARE(asked, 1);
    const auto saved = readPlanFile(file.toStdString());
    QVERIFY(saved.ok());
    QCOMPARE(saved->batch.sequenceLength, 8192);
}

void TestEditing::whatIsTypedIsNotOverwritten()
{
    PlanDocument &document = m_window->document();
    auto *length = static_cast<NumberBox *>(type("batch.sequence_length", "81"));
    QVERIFY(!document.setField(*findField("batch.micro_batch"), std::int64_t{3}));
    QVERIFY(!document.setField(*findField("batch.sequence_length"), std::int64_t{1024}));
    QVERIFY(length->text().startsWith("81"));
    QTest::keyClicks(length, "92");
    QTest::keyClick(length, Qt::Key_Return);
    QCOMPARE(document.plan().batch.sequenceLength, 8192);

    auto *name = static_cast<QLineEdit *>(type("name", "half a na"));
    QVERIFY(!document.setField(*findField("name"), std::string("from elsewhere")));
    QCOMPARE(name->text(), QString("half a na"));
    QTest::keyClicks(name, "me");
    QTest::keyClick(name, Qt::Key_Return);
    QCOMPARE(document.plan().name, std::string("half a name"));

    ModelChooser *chooser = m_window->modelChooser();
    QTest::keyClick(m_window.get(), Qt::Key_L, Qt::ControlModifier);
    QTest::keyClicks(chooser, "qwen3-0.6b");
    QVERIFY(!document.setField(*findField("batch.micro_batch"), std::int64_t{4}));
    QCOMPARE(chooser->text(), QString("qwen3-0.6b"));
}

void TestEditing::aWindowCanGoWhileItIsTypedIn()
{
    type("batch.sequence_length", "8192");
    m_window.reset();
    // What was typed is work like any other.
    m_window = test::opened(*m_folder);
    QVERIFY(m_window);
    QCOMPARE(m_window->document().plan().batch.sequenceLength, 8192);
}

void TestEditing::mnemonicsAreUnique()
{
    QHash<QChar, QString> taken;
    const auto take = [&taken](const QString &text) {
        const QKeySequence keys = QKeySequence::mnemonic(text);
        if (keys.isEmpty())
            return;
        const QChar letter = QChar(keys[0].key()).toLower();
        QVERIFY2(!taken.contains(letter), qPrintable(text + " and " + taken.value(letter)));
        taken.insert(letter, text);
    };
    for (const QAction *menu : m_window->menuBar()->actions())
        take(menu->text());
    for (int tab = 0; tab < m_window->tabs()->count(); ++tab)
        take(m_window->tabs()->tabText(tab));
    for (const QLabel *label : m_window->findChildren<QLabel *>())
        if (label->buddy())
            take(label->text());
    for (const QAbstractButton *button : m_window->findChildren<QAbstractButton *>())
        if (button->window() == m_window.get())
            take(button->text());
    QVERIFY2(taken.size() >= 16, "menus, tabs and the fields that matter most");
}

QTEST_MAIN(TestEditing)
#include "test_editing.moc"
