// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The report: its sentences are those that a person acts on, and no text of a plan breaks its formats.
#include "core/report/report.h"

#include <QTest>

using namespace headroom;

namespace {

GpuEstimate gpuWith(Verdict verdict, Bytes headroom)
{
    GpuEstimate gpu;
    gpu.id = "card";
    gpu.name = "Card 24 GB";
    gpu.capacity = gib(24);
    gpu.verdict = verdict;
    gpu.headroom = headroom;
    gpu.device = gpu.capacity - headroom;
    gpu.fits = headroom.value >= 0;
    gpu.phase = Phase::Optimizer;
    return gpu;
}

/// The estimate of a small model, made by the engine itself.
std::shared_ptr<const Estimate> smallEstimate(const std::string &name)
{
    TrainingPlan plan;
    plan.name = name;
    plan.model = {{},
                  R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, )"
                  R"("intermediate_size": 128, "vocab_size": 512})",
                  {}};
    plan.batch.sequenceLength = 32;
    plan.gpus = {"nvidia-rtx-4090-24gb"};
    const Result<std::shared_ptr<const Estimate>> result = estimate(plan);
    if (!result)
        qFatal("%s", toString(result.issue()).c_str());
    return *result;
}

} // namespace

class ReportTest : public QObject
{
    Q_OBJECT

private slots:
    void verdictSentences_data();
    void verdictSentences();
    void unitIsThatOfTheReader();
    void worstGpuIsTheSummary();
    void peakIsTheSummaryWithoutGpu();
    void bandIsSaidInWords();
    void titleOfAPlanWithoutName();
    void tablesAreWhole();
    void componentsAddUp();
    void markdownEscapes_data();
    void markdownEscapes();
    void listingsAreFenced();
    void csvHasARowAFigure();
};

void ReportTest::verdictSentences_data()
{
    QTest::addColumn<Verdict>("verdict");
    QTest::addColumn<qint64>("headroom");
    QTest::addColumn<QString>("sentence");
    QTest::newRow("fits") << Verdict::Fits << qint64(gib(3).value) << "Fits on Card 24 GB: 3.0 GiB to spare.";
    QTest::newRow("tight above") << Verdict::Tight << qint64(mib(512).value)
                                 << "Tight on Card 24 GB: 512.0 MiB to spare, which is within the error band.";
    QTest::newRow("tight below") << Verdict::Tight << qint64(-mib(512).value)
                                 << "Tight on Card 24 GB: short by 512.0 MiB in the optimizer step, which is within the error band.";
    QTest::newRow("short") << Verdict::DoesNotFit << qint64(-gib(2).value)
                           << "Does not fit on Card 24 GB: short by 2.0 GiB, in the optimizer step.";
}

void ReportTest::verdictSentences()
{
    QFETCH(Verdict, verdict);
    QFETCH(qint64, headroom);
    QFETCH(QString, sentence);
    QCOMPARE(QString::fromStdString(verdictSentence(gpuWith(verdict, {headroom}))), sentence);
}

void ReportTest::unitIsThatOfTheReader()
{
    const std::string sentence = verdictSentence(gpuWith(Verdict::Fits, {3'000'000'000}), ByteUnit::Decimal);
    QCOMPARE(QString::fromStdString(sentence), QString("Fits on Card 24 GB: 3.0 GB to spare."));
}

void ReportTest::worstGpuIsTheSummary()
{
    Estimate estimate;
    estimate.gpus = {gpuWith(Verdict::Fits, gib(3)), gpuWith(Verdict::DoesNotFit, -gib(1)), gpuWith(Verdict::Fits, gib(5))};
    QVERIFY(QString::fromStdString(summarySentence(estimate)).startsWith("Does not fit"));
}

void ReportTest::peakIsTheSummaryWithoutGpu()
{
    Estimate estimate;
    estimate.peak.device = gib(10);
    estimate.firstStep.device = gib(12);
    estimate.firstStep.phase = Phase::Loss;
    QCOMPARE(QString::fromStdString(summarySentence(estimate)), QString("The peak takes 12.0 GiB of device memory, in the loss."));
}

void ReportTest::bandIsSaidInWords()
{
    QVERIFY(QString::fromStdString(bandSentence({})).contains("no error band"));
    const Band band{"one GPU, full", 0.031, 0.06, std::nullopt};
    QCOMPARE(QString::fromStdString(bandSentence(band)),
             QString("Nine predictions out of ten of this kind (one GPU, full) lay within 3.1 % (allocated), 6 % (reserved) of what was "
                     "measured."));
}

void ReportTest::titleOfAPlanWithoutName()
{
    TrainingPlan plan;
    plan.method.kind = MethodKind::Lora;
    QCOMPARE(QString::fromStdString(planTitle(plan)), QString("Qwen/Qwen3-8B, LoRA of rank 16"));
    plan.name = "mine";
    QCOMPARE(QString::fromStdString(planTitle(plan)), QString("mine"));
}

void ReportTest::tablesAreWhole()
{
    const Report report = buildReport(*smallEstimate("small"));
    QCOMPARE(report.sections.size(), std::size_t(7));
    for (const ReportSection &section : report.sections) {
        QVERIFY(!section.heading.empty());
        for (const ReportTable &table : section.tables) {
            QCOMPARE(table.numeric.size(), table.headings.size());
            QVERIFY(!table.rows.empty());
            for (const std::vector<std::string> &row : table.rows)
                QCOMPARE(row.size(), table.headings.size());
        }
    }
}

void ReportTest::componentsAddUp()
{
    const std::shared_ptr<const Estimate> estimate = smallEstimate("small");
    Bytes sum;
    for (const BreakdownRow &row : estimate->breakdown(Estimate::Step::Steady))
        sum += row.bytes;
    QCOMPARE(sum.value, estimate->peak.allocated.value);
    const ReportTable table = componentsTable(*estimate);
    QCOMPARE(table.rows.size(), componentCount + 5);
    QCOMPARE(table.rows[componentCount][0], std::string("allocated"));
    QCOMPARE(table.rows[componentCount][1], formatBytes(estimate->peak.allocated));
}

void ReportTest::markdownEscapes_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("written");
    QTest::newRow("plain") << "Qwen3-8B on one card"
                           << "Qwen3-8B on one card";
    QTest::newRow("pipe") << "a|b"
                          << "a\\|b";
    QTest::newRow("emphasis") << "*a* _b_ ~c~"
                              << "\\*a\\* \\_b\\_ \\~c\\~";
    QTest::newRow("field name") << "batch.micro_batch"
                                << "batch.micro_batch";
    QTest::newRow("code") << "`a`"
                          << "\\`a\\`";
    QTest::newRow("HTML") << "<script>"
                          << "\\<script>";
    QTest::newRow("entity") << "&amp;"
                            << "\\&amp;";
    QTest::newRow("link") << "[a](b)"
                          << "\\[a](b)";
    QTest::newRow("formula") << "$x$"
                             << "\\$x\\$";
    QTest::newRow("backslash") << "a\\b"
                               << "a\\\\b";
    QTest::newRow("line breaks") << "a\n# b\r\nc"
                                 << "a # b  c";
}

void ReportTest::markdownEscapes()
{
    QFETCH(QString, text);
    QFETCH(QString, written);
    Report report;
    report.title = text.toStdString();
    report.sections.push_back(
        {"Section", {text.toStdString()}, ReportChart::None, {{"", {"heading"}, {false}, {{text.toStdString()}}}}, {}});
    const QString markdown = QString::fromStdString(writeMarkdown(report));
    QCOMPARE(markdown, QString("# %1\n\n## Section\n\n%1\n\n| heading |\n| --- |\n| %1 |\n").arg(written));
}

void ReportTest::listingsAreFenced()
{
    Report report;
    report.title = "Title";
    report.sections.push_back({"Section", {"- no list", "1. no list"}, ReportChart::None, {}, {"a ``` fence inside"}});
    QCOMPARE(QString::fromStdString(writeMarkdown(report)),
             QString("# Title\n\n## Section\n\n\\- no list\n\n1\\. no list\n\n````\na ``` fence inside\n````\n"));
}

void ReportTest::csvHasARowAFigure()
{
    const std::vector<std::shared_ptr<const Estimate>> estimates = {smallEstimate("one"), smallEstimate("two, \"quoted\"")};
    const QStringList lines = QString::fromStdString(writeCsv(estimates)).split("\r\n");
    QVERIFY(lines.last().isEmpty());
    QCOMPARE((lines.size() - 2) % 2, 0);
    QVERIFY(lines.contains(QString("one,later,peak.allocated,%1").arg(estimates[0]->peak.allocated.value)));
    QVERIFY(
        lines.contains(QString("\"two, \"\"quoted\"\"\",,gpus.nvidia-rtx-4090-24gb.device,%1").arg(estimates[1]->gpus[0].device.value)));
}

QTEST_GUILESS_MAIN(ReportTest)
#include "test_report.moc"
