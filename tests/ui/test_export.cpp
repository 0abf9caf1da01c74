// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/hardware/gpu.h"
#include "core/plan/plan_json.h"
#include "core/report/report.h"
#include "tests/ui/chart_events.h"
#include "ui/export/exporter.h"
#include "ui/export/pdf_report.h"
#include "ui/palette.h"

#include <QFile>
#include <QHashSeed>
#include <QLocale>
#include <QProcess>
#include <QRegularExpression>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>

using namespace headroom;
using namespace headroom::samples;

class TestExport : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        QVERIFY(m_folder.isValid());
        const auto plan = readPlanFile(std::filesystem::path(HEADROOM_SOURCE_DIR) / "presets/examples/qwen3-8b-lora-24gb.headroom.json");
        QVERIFY2(plan.ok(), plan.ok() ? "" : toString(plan.issue()).c_str());
        m_plan = *plan;
        m_plan.gpus = {"nvidia-rtx-4090-24gb", "nvidia-a100-80gb-sxm4"};
        if (!findGpu(m_plan.gpus[1]))
            m_plan.gpus[1] = gpus().back().id;
        m_estimate = estimateOf(m_plan);
        QVERIFY(m_estimate);
    }

    void thePdfHoldsTheWholeReport()
    {
        needPoppler();
        const QString file = exported("report.pdf");
        const QString text = simplified(run("pdftotext", {"-layout", file, "-"}));
        const Report report = buildReport(*m_estimate);
        QVERIFY(text.contains(simplified(QString::fromStdString(report.title))));
        QVERIFY2(text.contains(simplified(QString::fromStdString(report.subtitle))), "the verdict can be searched for");
        qsizetype at = 0;
        for (const ReportSection &section : report.sections) {
            at = text.indexOf(simplified(QString::fromStdString(section.heading)), at);
            QVERIFY2(at >= 0, section.heading.c_str());
        }
        for (const GpuEstimate &gpu : m_estimate->gpus)
            QVERIFY2(text.contains(simplified(QString::fromStdString(verdictSentence(gpu)))), gpu.name.c_str());
        for (Component component : allComponents)
            QVERIFY(text.contains(componentLabel(component)));
        QVERIFY(text.contains("headroom-cli estimate plan.headroom.json"));
        QVERIFY2(text.contains("Peak:"), "the timeline's text is text");
        QVERIFY(text.contains("Page 1 of"));
        // Rules and sources of the breakdown, as far as one line of a column shows them.
        QVERIFY(text.contains("Why it is there") && text.contains("[1]"));
    }

    void thePdfHasTwoToFourPagesWithTitleAndFonts()
    {
        needPoppler();
        const QString file = exported("pages.pdf");
        const QString info = run("pdfinfo", {file});
        const int pages = QRegularExpression("Pages:\\s+(\\d+)").match(info).captured(1).toInt();
        QVERIFY2(pages >= 2 && pages <= 4, qPrintable(info));
        QVERIFY(info.contains(QString::fromStdString(planTitle(m_plan))));
        QVERIFY(info.contains("Headroom"));
        const QStringList fonts = run("pdffonts", {file}).split('\n', Qt::SkipEmptyParts).mid(2);
        QVERIFY(!fonts.isEmpty());
        for (const QString &font : fonts)
            QVERIFY2(QRegularExpression("\\s(Identity-H|WinAnsi|Custom|Builtin)\\s+yes").match(font).hasMatch(), qPrintable(font));
        QCOMPARE(run("pdfimages", {"-list", file}).split('\n', Qt::SkipEmptyParts).size(), qsizetype(2)); // the charts are no pixels
    }

    void thePagesShowChartsWithinTheirMargins()
    {
        needPoppler();
        const QString file = exported("look.pdf");
        run("pdftoppm", {"-png", "-r", "60", file, m_folder.filePath("page")});
        const QStringList pictures = QDir(m_folder.path()).entryList({"page-*.png"}, QDir::Files, QDir::Name);
        QVERIFY(pictures.size() >= 2);
        int weights = 0, activations = 0;
        for (const QString &name : pictures) {
            const QImage page(m_folder.filePath(name));
            QVERIFY2(inked(page, page.rect()) > page.width() * page.height() / 100, "no page is blank");
            const int edge = page.width() / 20;
            QCOMPARE(inked(page, QRect(0, 0, edge, page.height())), 0);
            QCOMPARE(inked(page, QRect(page.width() - edge, 0, edge, page.height())), 0);
            QCOMPARE(inked(page, QRect(0, 0, page.width(), edge)), 0);
            QCOMPARE(inked(page, QRect(0, page.height() - edge, page.width(), edge)), 0);
            weights += countPixels(page, componentColour(Component::Weights));
            activations += countPixels(page, componentColour(Component::Activations));
        }
        QVERIFY2(weights > 2000 && activations > 50, "bars and areas have their colours");
    }

    void thePlanIsAttached()
    {
        needPoppler();
        const QString file = exported("attached.pdf");
        QVERIFY(run("pdfdetach", {"-list", file}).contains("plan.headroom.json"));
        const QString plan = m_folder.filePath("detached.json");
        run("pdfdetach", {"-save", "1", "-o", plan, file});
        const auto read = readPlanFile(plan.toStdString());
        QVERIFY2(read.ok(), read.ok() ? "" : toString(read.issue()).c_str());
        TrainingPlan same = *read;
        same.folder = m_plan.folder;
        QCOMPARE(writePlan(same), writePlan(m_plan));
    }

    void theSamePlanGivesTheSameBytesButForTheDate()
    {
        QByteArray first = contents(exported("first.pdf"));
        QTest::qWait(1100); // another second
        QByteArray second = contents(exported("second.pdf"));
        QCOMPARE(first.size(), second.size());
        for (QByteArray *bytes : {&first, &second})
            *bytes = withoutDates(*bytes);
        QVERIFY(first == second);
        QCOMPARE(contents(exported("first.svg")), contents(exported("second.svg")));
        QCOMPARE(contents(exported("first.png")), contents(exported("second.png")));
    }

    void manyGpusAndALongPlanStayWithinFourPages()
    {
        needPoppler();
        TrainingPlan plan = m_plan;
        plan.name = QString("A plan with a long name, \u4e2d, ").repeated(6).toStdString();
        plan.gpus.clear();
        for (const Gpu &gpu : gpus().subspan(0, 24))
            plan.gpus.push_back(gpu.id);
        const auto estimate = estimateOf(plan);
        QVERIFY(estimate);
        const QString file = m_folder.filePath("many.pdf");
        QVERIFY(!exportTo(file, estimate, m_estimate, ByteUnit::Binary));
        const QString info = run("pdfinfo", {file});
        const int pages = QRegularExpression("Pages:\\s+(\\d+)").match(info).captured(1).toInt();
        QVERIFY2(pages >= 2 && pages <= 4, qPrintable(info));
        const QString text = simplified(run("pdftotext", {"-layout", file, "-"}));
        QVERIFY(text.contains(QString("\u4e2d")));
        QVERIFY(text.contains("How to reproduce"));
    }

    void aTableThatBreaksOverPagesRepeatsItsHeadings()
    {
        needPoppler();
        Report report;
        report.title = "Rows";
        report.sections.push_back({"A long table", {}, ReportChart::None, {{"", {"Left column", "Right column"}, {false, true}, {}}}, {}});
        for (int i = 0; i < 150; ++i)
            report.sections[0].tables[0].rows.push_back({"row " + std::to_string(i), std::to_string(i)});
        const QString file = m_folder.filePath("rows.pdf");
        QFile out(file);
        QVERIFY(out.open(QIODevice::WriteOnly));
        out.write(writePdf(report, {}, "{}", QPageSize::A4));
        out.close();
        const QStringList pages = run("pdftotext", {"-layout", file, "-"}).split('\f', Qt::SkipEmptyParts);
        QCOMPARE(pages.size(), qsizetype(3));
        for (const QString &page : pages)
            QCOMPARE(page.count("Left column"), qsizetype(1));
        for (int i = 0; i < 150; ++i)
            QVERIFY(pages.join(' ').contains(QString("row %1 ").arg(i)));
    }

    void whatIsLeftOutIsSaid()
    {
        needPoppler();
        Report report;
        report.title = "Rows";
        ReportTable table{
            "Weights", {"What", "Size", "Share", "Tensors", "Why it is there", "Source"}, {false, true, true, true, false, false}, {}};
        // What is left out is decided by the shares, whatever a language makes of their text.
        for (int i = 0; i < 400; ++i) {
            table.rows.push_back({"row " + std::to_string(i), "1 MiB", i < 100 ? "0,9 %" : "0,04 %", "1", "because", "[1]"});
            table.shares.push_back(i < 100 ? 0.9 : 0.04);
        }
        report.sections.push_back({"A table far too long", {}, ReportChart::None, {table}, {}});
        report.sections.push_back({"How to reproduce", {}, ReportChart::None, {}, {"headroom-cli estimate plan.headroom.json"}});
        const QString file = m_folder.filePath("abridged.pdf");
        QFile out(file);
        QVERIFY(out.open(QIODevice::WriteOnly));
        out.write(writePdf(report, {}, "{}", QPageSize::A4));
        out.close();
        const QString text = simplified(run("pdftotext", {"-layout", file, "-"}));
        QVERIFY(run("pdfinfo", {file}).contains(QRegularExpression("Pages:\\s+[1-4]\n")));
        QVERIFY2(text.contains("300 below 0.05 %"), qPrintable(text.right(2000)));
        QVERIFY(text.contains("row 0 ") && text.contains("more rows"));
        QVERIFY(text.contains("abridged"));
    }

    void theLocaleChoosesThePaper()
    {
        needPoppler();
        const QLocale before;
        QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates));
        const QString letter = exported("letter.pdf");
        QLocale::setDefault(QLocale(QLocale::German, QLocale::Germany));
        const QString a4 = exported("a4.pdf");
        QLocale::setDefault(before);
        QVERIFY(run("pdfinfo", {letter}).contains("612 x 792"));
        QVERIFY(run("pdfinfo", {a4}).contains("(A4)"));
    }

    void theUnitIsOneThroughout()
    {
        needPoppler();
        const QString file = m_folder.filePath("decimal.pdf");
        QVERIFY(!exportTo(file, m_estimate, nullptr, ByteUnit::Decimal));
        const QString text = run("pdftotext", {"-layout", file, "-"});
        QVERIFY(text.contains(" GB"));
        QVERIFY2(!text.contains("GiB"), "the notes may name sources' own units, never GiB");
    }

    void picturesSayWhichPlanTheyShow()
    {
        const QImage png(exported("bars.png"));
        QVERIFY(png.width() >= 1600 && png.height() >= 1000);
        QCOMPARE(png.pixelColor(0, 0), QColor(Qt::white));
        QVERIFY(countPixels(png, componentColour(Component::Weights)) > 10000);

        const QString text = textOfSvg(exported("bars.svg"));
        for (const GpuEstimate &gpu : m_estimate->gpus)
            QVERIFY2(text.contains(QString::fromStdString(gpu.name)), gpu.name.c_str());
        QVERIFY(text.contains(QString::fromStdString(planTitle(m_plan))));
        QVERIFY(text.contains(QString::fromStdString(summarySentence(*m_estimate))));
    }

    void whatCannotBeWrittenIsAnIssue()
    {
        const auto ending = exportTo(m_folder.filePath("report.docx"), m_estimate, nullptr, ByteUnit::Binary);
        QVERIFY(ending && ending->hint.find(".pdf") != std::string::npos);
        QVERIFY(!QFile::exists(m_folder.filePath("report.docx")));
        const auto folder = exportTo(m_folder.filePath("nowhere/report.pdf"), m_estimate, nullptr, ByteUnit::Binary);
        QVERIFY(folder && folder->file.find("nowhere") != std::string::npos);
    }

private:
    static std::shared_ptr<const Estimate> estimateOf(const TrainingPlan &plan)
    {
        const auto result = estimate(plan);
        if (!result)
            qWarning("%s", toString(result.issue()).c_str());
        return result ? *result : nullptr;
    }

    QString exported(const QString &name)
    {
        const QString file = m_folder.filePath(name);
        if (const auto issue = exportTo(file, m_estimate, nullptr, ByteUnit::Binary))
            qWarning("%s", toString(*issue).c_str());
        return file;
    }

    static QByteArray contents(const QString &file)
    {
        QFile in(file);
        return in.open(QIODevice::ReadOnly) ? in.readAll() : QByteArray();
    }

    static QByteArray withoutDates(QByteArray bytes)
    {
        static const QRegularExpression dates("D:\\d{14}|\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d");
        return QString::fromLatin1(bytes).replace(dates, "date").toLatin1();
    }

    static int inked(const QImage &image, const QRect &area)
    {
        int count = 0;
        for (int y = area.top(); y <= area.bottom(); ++y) {
            for (int x = area.left(); x <= area.right(); ++x)
                count += image.pixelColor(x, y).lightness() < 200;
        }
        return count;
    }

    static QString simplified(const QString &text) { return text.simplified(); }

    static QString run(const QString &program, const QStringList &arguments)
    {
        QProcess process;
        process.start(program, arguments);
        if (!process.waitForFinished(60000) || process.exitCode() != 0)
            qWarning("%s: %s", qPrintable(program), process.readAllStandardError().constData());
        return QString::fromUtf8(process.readAllStandardOutput());
    }

    static void needPoppler()
    {
        if (QStandardPaths::findExecutable("pdftotext").isEmpty())
            QSKIP("needs pdftotext, pdfinfo, pdftoppm and pdfdetach (package poppler-utils)");
    }

    QTemporaryDir m_folder;
    TrainingPlan m_plan;
    std::shared_ptr<const Estimate> m_estimate;
};

int main(int argc, char *argv[])
{
    // As the program does before it exports: files that repeat byte for byte.
    QHashSeed::setDeterministicGlobalSeed();
    QApplication app(argc, argv);
    TestExport test;
    return QTest::qExec(&test, argc, argv);
}
#include "test_export.moc"
