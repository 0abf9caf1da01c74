// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/report/report.h"
#include "tests/ui/chart_events.h"
#include "tests/ui/chart_samples.h"
#include "ui/charts/memory_chart.h"
#include "ui/display_settings.h"
#include "ui/highlight.h"
#include "ui/palette.h"

#include <QAbstractItemModelTester>
#include <QAction>
#include <QClipboard>
#include <QFile>
#include <QHelpEvent>
#include <QMenu>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolTip>

#include <algorithm>

using namespace headroom;
using namespace headroom::samples;

class TestMemoryChart : public QObject
{
    Q_OBJECT

private slots:
    void init()
    {
        m_settings = std::make_unique<DisplaySettings>();
        m_highlight = std::make_unique<Highlight>();
        m_chart = std::make_unique<MemoryChart>(m_settings.get(), m_highlight.get());
        m_chart->resize(940, 400);
        m_chart->show();
        QVERIFY(QTest::qWaitForWindowExposed(m_chart.get()));
    }

    void cleanup()
    {
        m_chart.reset();
        m_highlight.reset();
        m_settings.reset();
    }

    void segmentsAreAsTallAsTheTableSays()
    {
        show(qwen());
        const std::vector<BarShape> outlines = shapesOf(BarShape::Kind::Outline);
        QCOMPARE(outlines.size(), std::size_t(3));
        // One scale for all: what the first outline makes of a byte.
        const double pixelsPerByte = outlines[0].area.height() / bytesOf("RTX 4090 24 GB", "Capacity");
        for (const BarShape &outline : outlines) {
            const QString gpu = QString::fromStdString(m_chart->bars()[outline.bar].title);
            QVERIFY(std::abs(outline.area.height() - bytesOf(gpu, "Capacity") * pixelsPerByte) <= 1.5);
            double bottom = outline.area.bottom();
            for (Component component : allComponents) {
                const double bytes = bytesOf(gpu, componentLabel(component));
                const BarShape *shape = find(BarShape::Kind::Component, outline.bar, component);
                QCOMPARE(shape != nullptr, bytes > 0);
                if (!shape)
                    continue;
                QVERIFY(std::abs(shape->area.height() - bytes * pixelsPerByte) <= 1.5);
                QVERIFY2(std::abs(shape->area.bottom() - bottom) <= 0.01, "the components stand on each other in their order");
                QVERIFY(shape->area.left() > outline.area.left() && shape->area.right() < outline.area.right());
                bottom = shape->area.top();
            }
        }
        QCOMPARE(shapesOf(BarShape::Kind::Cache).size(), std::size_t(3));
        QCOMPARE(shapesOf(BarShape::Kind::Outside).size(), std::size_t(3));
    }

    void barsDoNotOverlapEachOtherOrTheLegend_data()
    {
        QTest::addColumn<QSize>("size");
        QTest::newRow("small") << QSize(684, 300);
        QTest::newRow("usual") << QSize(940, 400);
        QTest::newRow("large") << QSize(3000, 1200);
    }

    void barsDoNotOverlapEachOtherOrTheLegend()
    {
        QFETCH(QSize, size);
        m_chart->resize(size);
        m_chart->setBaseline(qwen(threeGpus, 0.9));
        show(qwen());
        const std::vector<BarShape> outlines = shapesOf(BarShape::Kind::Outline);
        QCOMPARE(outlines.size(), std::size_t(3));
        QVERIFY(outlines.front().area.left() > m_chart->fontMetrics().horizontalAdvance("Outside PyTorch 888.88 GiB"));
        QVERIFY(outlines.back().area.right() < size.width());
        for (std::size_t i = 0; i < outlines.size(); ++i) {
            const BarShape *ghost = find(BarShape::Kind::Ghost, i, Component::Weights);
            QVERIFY(ghost && ghost->area.left() > outlines[i].area.right());
            QVERIFY(i + 1 == outlines.size() || ghost->area.right() < outlines[i + 1].area.left());
            QVERIFY(outlines[i].area.top() > 0);
        }
    }

    void overLimitIsDrawnExactlyWhereTheRunDoesNotFit_data()
    {
        QTest::addColumn<qint64>("spare");
        QTest::addColumn<bool>("isOver");
        QTest::newRow("a byte short") << qint64(-1) << true;
        QTest::newRow("exact") << qint64(0) << false;
        QTest::newRow("a byte to spare") << qint64(1) << false;
        QTest::newRow("half") << qint64(-12) * 1024 * 1024 * 1024 << true;
    }

    void overLimitIsDrawnExactlyWhereTheRunDoesNotFit()
    {
        QFETCH(qint64, spare);
        QFETCH(bool, isOver);
        const auto estimate = qwen({{"gpu", "A GPU", 1}});
        estimate->gpus[0].capacity = estimate->gpus[0].device + Bytes{spare};
        show(estimate);
        const std::vector<BarShape> over = shapesOf(BarShape::Kind::OverLimit);
        QCOMPARE(!over.empty(), isOver);
        if (!isOver)
            return;
        QVERIFY2(over[0].area.height() >= 4, "a little over can be seen too");
        QVERIFY(std::abs(over[0].area.bottom() - shapesOf(BarShape::Kind::Outline)[0].area.top()) <= 0.01);
        QVERIFY(countPixels(m_chart->grab().toImage(), overLimitColour()) > 20);
    }

    void theVerdictIsTheRunsWhateverStepIsShown_data()
    {
        QTest::addColumn<double>("capacity");
        QTest::addColumn<bool>("firstIsHigher");
        QTest::addColumn<QString>("steady");
        QTest::addColumn<QString>("first");
        // In use: 24.70 GiB by the step as it is, 25.70 GiB by the other one where that is higher.
        QTest::newRow("fits") << 30.0 << true << "A GPU: fits, 4.3 GiB to spare (first step decides)"
                              << "A GPU: fits, 4.3 GiB to spare";
        QTest::newRow("only the first step does not fit") << 25.0 << true << "A GPU: does not fit, short by 716.8 MiB (first step decides)"
                                                          << "A GPU: does not fit, short by 716.8 MiB";
        QTest::newRow("tight") << 26.0 << true << "A GPU: tight, 307.2 MiB to spare (first step decides)"
                               << "A GPU: tight, 307.2 MiB to spare";
        QTest::newRow("steady state decides") << 30.0 << false << "A GPU: fits, 5.3 GiB to spare"
                                              << "A GPU: fits, 5.3 GiB to spare (steady state decides)";
    }

    void theVerdictIsTheRunsWhateverStepIsShown()
    {
        QFETCH(double, capacity);
        QFETCH(bool, firstIsHigher);
        QFETCH(QString, steady);
        QFETCH(QString, first);
        const auto estimate = qwen({});
        if (firstIsHigher) {
            estimate->firstStep = estimate->peak;
            for (Bytes *part : {&estimate->firstStep.components[Component::Temporary], &estimate->firstStep.allocated,
                                &estimate->firstStep.reserved, &estimate->firstStep.device})
                *part += gibibytes(1);
        }
        estimate->gpus.push_back(gpuOf(firstIsHigher ? estimate->firstStep : estimate->peak, "gpu", "A GPU", capacity));
        const Verdict verdict = estimate->gpus.front().verdict;
        show(estimate);
        QVERIFY2(m_chart->accessibleDescription().endsWith(steady), qPrintable(m_chart->accessibleDescription()));
        QVERIFY(m_chart->bars().front().verdict == verdict);
        const bool isWarned = countPixels(m_chart->grab().toImage(), ChartTheme::from(m_chart->palette(), m_chart->font()).warning) > 0;
        if (verdict != Verdict::Tight)
            QCOMPARE(isWarned, verdict == Verdict::DoesNotFit);
        m_chart->setStep(Estimate::Step::First);
        QVERIFY2(m_chart->accessibleDescription().endsWith(first), qPrintable(m_chart->accessibleDescription()));
        QVERIFY(m_chart->bars().front().verdict == verdict);
        // The sentence above the chart has the same figures.
        const QString margin = first.section(", ", 1).section(" (", 0, 0);
        QVERIFY2(QString::fromStdString(verdictSentence(estimate->gpus.front())).contains(margin), qPrintable(margin));
    }

    void withoutGpuThereIsOneBarAndNoOutline()
    {
        show(qwen({}));
        QCOMPARE(m_chart->bars().size(), std::size_t(1));
        QVERIFY(shapesOf(BarShape::Kind::Outline).empty());
        QVERIFY(find(BarShape::Kind::Component, 0, Component::Weights));
        QVERIFY(m_chart->accessibleDescription().contains("24.70 GiB"));
    }

    void anEmptyChartSaysSo()
    {
        show(qwen());
        show(nullptr);
        QVERIFY(m_chart->shapes().empty());
        QCOMPARE(m_chart->table()->rowCount(), 0);
        QCOMPARE(m_chart->accessibleDescription(), QString("No estimate yet"));
        const QImage before = m_chart->grab().toImage();
        m_chart->setEmptyReason("This plan cannot be estimated, for this reason.");
        waitForPaint();
        QCOMPARE(m_chart->accessibleDescription(), QString("This plan cannot be estimated, for this reason."));
        QVERIFY(m_chart->grab().toImage() != before);
    }

    void theStepSwitchesTheFigures()
    {
        show(qwen());
        QCOMPARE(bytesOf("A100 40 GB", "Optimizer"), double(gibibytes(0.33).value));
        m_chart->setStep(Estimate::Step::First);
        waitForPaint();
        QCOMPARE(bytesOf("A100 40 GB", "Optimizer"), 0.0);
        QVERIFY(!find(BarShape::Kind::Component, 1, Component::Optimizer));
        QCOMPARE(bytesOf("A100 40 GB", "Outside PyTorch"), double(gibibytes(0.39).value));
    }

    void eachGpuHasItsOwnTotals()
    {
        // Near its limit the allocator gave back its cache; a newer GPU takes a larger workspace.
        const auto estimate = qwen();
        estimate->gpus[0].reserved = estimate->gpus[0].allocated;
        estimate->gpus[0].device = estimate->gpus[0].reserved + gibibytes(0.39);
        estimate->gpus[2].allocated += mib(24);
        estimate->gpus[2].reserved += mib(24);
        estimate->gpus[2].device += mib(24);
        show(estimate);
        QCOMPARE(bytesOf("RTX 4090 24 GB", "Cache"), 0.0);
        QCOMPARE(bytesOf("H100 80 GB", "Temporary") - bytesOf("A100 40 GB", "Temporary"), double(mib(24).value));
        for (const MemoryBar &bar : m_chart->bars())
            QCOMPARE(bar.stack.device().value, estimate->gpus[std::size_t(&bar - m_chart->bars().data())].device.value);
    }

    void theBaselineStandsBesideWithItsDifference()
    {
        m_chart->setBaseline(qwen(threeGpus, 0.9));
        show(qwen());
        QVERIFY(find(BarShape::Kind::Ghost, 1, Component::Activations));
        const BarShape *bar = find(BarShape::Kind::Component, 1, Component::Weights);
        const BarShape *ghost = find(BarShape::Kind::Ghost, 1, Component::Weights);
        QVERIFY(ghost->area.width() < bar->area.width() / 2);
        QCOMPARE(ghost->area.height(), bar->area.height());
        QCOMPARE(cell("A100 40 GB", "Activations", "Difference (GiB)"), QString("2.610"));
        m_chart->setBaseline(nullptr);
        waitForPaint();
        QVERIFY(shapesOf(BarShape::Kind::Ghost).empty());
        QCOMPARE(cell("A100 40 GB", "Activations", "Difference (GiB)"), QString());
    }

    void thePointerHighlightsAComponentEverywhere()
    {
        show(qwen());
        QSignalSpy hovered(m_chart.get(), &MemoryChart::hovered);
        const BarShape *shape = find(BarShape::Kind::Component, 1, Component::Temporary);
        QVERIFY(shape);
        const QImage before = m_chart->grab().toImage();
        moveTo(*m_chart, shape->area.center());
        QCOMPARE(hovered.count(), 1);
        QCOMPARE(hovered[0][0].value<std::optional<Component>>(), std::optional(Component::Temporary));
        QCOMPARE(m_highlight->hovered().component, std::optional(Component::Temporary));
        const QColor weights = componentColour(Component::Weights), temporary = componentColour(Component::Temporary);
        const QImage pointed = m_chart->grab().toImage();
        QVERIFY2(countPixels(pointed, weights) < countPixels(before, weights) / 2, "the others step back");
        QVERIFY(countPixels(pointed, temporary) >= countPixels(before, temporary) / 2);

        moveTo(*m_chart, shapesOf(BarShape::Kind::Outline)[2].area.center());
        QCOMPARE(m_highlight->hovered().component, std::optional<Component>());
        QCOMPARE(hovered.count(), 2);
    }

    void anotherViewsHighlightIsDrawn()
    {
        show(qwen());
        const int before = countPixels(m_chart->grab().toImage(), componentColour(Component::Weights));
        m_highlight->setHovered({Component::Activations, {}});
        waitForPaint();
        QVERIFY(countPixels(m_chart->grab().toImage(), componentColour(Component::Weights)) < before / 2);
        m_highlight->clearHovered();
        waitForPaint();
        QCOMPARE(countPixels(m_chart->grab().toImage(), componentColour(Component::Weights)), before);
    }

    void aClickOpensTheComponent()
    {
        show(qwen());
        QSignalSpy clicked(m_chart.get(), &MemoryChart::clicked);
        clickAt(*m_chart, find(BarShape::Kind::Component, 0, Component::Activations)->area.center());
        QCOMPARE(clicked.count(), 1);
        QCOMPARE(clicked[0][0].value<Component>(), Component::Activations);
        QCOMPARE(m_highlight->selected().component, std::optional(Component::Activations));
        clickAt(*m_chart, shapesOf(BarShape::Kind::Outline)[2].area.center());
        QCOMPARE(clicked.count(), 1);
    }

    void theLegendIsPointedAtLikeTheBars()
    {
        show(qwen());
        std::vector<Component> passed;
        connect(m_chart.get(), &MemoryChart::hovered, this, [&](std::optional<Component> component) {
            if (component)
                passed.push_back(*component);
        });
        for (int y = 4; y < m_chart->height() - 60; y += 3)
            moveTo(*m_chart, QPointF(60, y));
        QCOMPARE(passed, std::vector<Component>(allComponents.begin(), allComponents.end()));
    }

    void theKeyboardPassesThroughTheComponents()
    {
        show(qwen());
        QSignalSpy clicked(m_chart.get(), &MemoryChart::clicked);
        m_chart->setFocus();
        QTest::keyClick(m_chart.get(), Qt::Key_Up);
        QCOMPARE(m_highlight->selected().component, std::optional(Component::Weights));
        QTest::keyClick(m_chart.get(), Qt::Key_Up);
        QTest::keyClick(m_chart.get(), Qt::Key_Return);
        QCOMPARE(clicked.count(), 1);
        QCOMPARE(clicked[0][0].value<Component>(), Component::Gradients);
        QTest::keyClick(m_chart.get(), Qt::Key_Escape);
        QCOMPARE(m_highlight->selected().component, std::optional<Component>());
    }

    void tipsNameThePartAndItsSize()
    {
        m_chart->setBaseline(qwen(threeGpus, 0.9));
        show(qwen());
        const auto tip = [&](QPointF position) {
            QHelpEvent event(QEvent::ToolTip, position.toPoint(), canvasOf(*m_chart)->mapToGlobal(position.toPoint()));
            QApplication::sendEvent(canvasOf(*m_chart), &event);
            return QToolTip::text();
        };
        const QString activations = tip(find(BarShape::Kind::Component, 1, Component::Activations)->area.center());
        QVERIFY2(activations.contains("3.51 GiB") && activations.contains("A100 40 GB") && activations.contains("921.60 MiB"),
                 qPrintable(activations));
        QVERIFY(tip(shapesOf(BarShape::Kind::OverLimit)[0].area.center()).contains("Over the limit"));
        QVERIFY(tip(shapesOf(BarShape::Kind::Outline)[2].area.center()).contains("Free: 54.95 GiB"));
        QVERIFY(tip(find(BarShape::Kind::Ghost, 2, Component::Weights)->area.center()).contains("Baseline"));
        QVERIFY(tip(QPointF(60, 60)).contains("peak"));
    }

    void theUnitSwitchesEverywhere()
    {
        show(qwen());
        const QImage binary = m_chart->grab().toImage();
        QCOMPARE(cell("A100 40 GB", "Weights", "Size (GiB)"), QString("15.420"));
        const double height = find(BarShape::Kind::Component, 1, Component::Weights)->area.height();
        QSignalSpy heading(m_chart->table(), &QAbstractItemModel::headerDataChanged);
        m_settings->setUnit(ByteUnit::Decimal);
        waitForPaint();
        QVERIFY(heading.count() > 0);
        QCOMPARE(cell("A100 40 GB", "Weights", "Size (GB)"), QString("16.557"));
        QVERIFY(m_chart->accessibleDescription().contains("GB") && !m_chart->accessibleDescription().contains("GiB"));
        QVERIFY(m_chart->grab().toImage() != binary);
        QVERIFY2(std::abs(find(BarShape::Kind::Component, 1, Component::Weights)->area.height() - height) <= 2,
                 "the unit changes no proportion");
    }

    void coloursFollowThePalette()
    {
        show(qwen());
        const QImage light = m_chart->grab().toImage();
        const QPalette dark = darkPalette();
        QVERIFY(countPixels(light, dark.color(QPalette::Base)) == 0);
        m_chart->setPalette(dark);
        waitForPaint();
        const QImage image = m_chart->grab().toImage();
        QVERIFY(countPixels(image, dark.color(QPalette::Base)) > image.width() * image.height() / 4);
        QVERIFY2(countPixels(image, dark.color(QPalette::Text)) > 100, "outlines and text are light now");
        QVERIFY(countPixels(image, componentColour(Component::Weights)) > 100);
    }

    void aChangeIsPaintedOnce()
    {
        show(qwen());
        QSignalSpy painted(m_chart.get(), &MemoryChart::painted);
        for (int i = 0; i < 20; ++i)
            m_chart->setEstimate(qwen(threeGpus, 1 + i * 0.1));
        QVERIFY(painted.wait());
        QCoreApplication::processEvents();
        QCOMPARE(painted.count(), 1);
        QVERIFY(std::abs(bytesOf("A100 40 GB", "Activations") - double(gibibytes(2.9).value)) < 1);
    }

    void manyGpusScroll()
    {
        std::vector<GpuSpec> gpus;
        for (int i = 0; i < 12; ++i)
            gpus.push_back({"gpu" + std::to_string(i), "GPU number " + std::to_string(i) + " 24 GB", 24.0 + i});
        m_chart->resize(700, 300);
        show(qwen(gpus));
        auto *bar = m_chart->findChild<QScrollBar *>();
        QVERIFY(bar && bar->isVisible() && bar->maximum() > 0);
        const std::vector<BarShape> outlines = shapesOf(BarShape::Kind::Outline);
        QVERIFY(outlines.size() < 12 && outlines.size() >= 3);
        QVERIFY(outlines.back().area.right() < m_chart->width());
        QVERIFY2(outlines.front().area.width() > m_chart->fontMetrics().height() * 2, "wide enough to be read");
        bar->setValue(bar->maximum());
        waitForPaint();
        QCOMPARE(shapesOf(BarShape::Kind::Outline).back().bar, std::size_t(11));
        QCOMPARE(m_chart->table()->rowCount(), 12 * 12);
        QVERIFY2(m_chart->toSvg({1600, 400}).contains("number"), "a picture shows all bars");
        m_chart->resize(2400, 400);
        waitForPaint();
        QVERIFY(!bar->isVisible());
        QCOMPARE(shapesOf(BarShape::Kind::Outline).size(), std::size_t(12));
    }

    void theTableIsAProperModel()
    {
        const QAbstractItemModelTester tester(m_chart->table(), QAbstractItemModelTester::FailureReportingMode::QtTest);
        QSignalSpy reset(m_chart->table(), &QAbstractItemModel::modelReset);
        show(qwen());
        QCOMPARE(reset.count(), 1);
        show(qwen(threeGpus, 2));
        QCOMPARE(reset.count(), 1); // new figures, same rows: a view keeps its place
        m_chart->setBaseline(qwen({}));
        show(qwen({}));
        QCOMPARE(reset.count(), 2);
        QCOMPARE(m_chart->table()->index(0, 0).data().toString(), QString("No GPU selected"));
    }

    void theTableCanStandInTheChartsPlace()
    {
        show(qwen());
        QVERIFY(!m_chart->accessibleName().isEmpty());
        QVERIFY(m_chart->accessibleDescription().contains("RTX 4090 24 GB: does not fit"));
        QAction *toggle = m_chart->menu()->actions().constFirst();
        toggle->trigger();
        QVERIFY(m_chart->isTableShown());
        auto *view = m_chart->findChild<QTableView *>();
        QVERIFY(view && view->isVisible() && view->model() == m_chart->table());
        toggle->trigger();
        QVERIFY(!m_chart->isTableShown() && !view->isVisible());
    }

    void figuresCanBeCopiedAndSaved()
    {
        show(qwen());
        m_chart->copyTable();
        const QStringList lines = QApplication::clipboard()->text().split('\n');
        QCOMPARE(lines[0], QString("GPU\tPart\tSize (GiB)\tBaseline (GiB)\tDifference (GiB)"));
        QVERIFY(lines[1].startsWith("RTX 4090 24 GB\tWeights\t15.420"));
        QTemporaryDir folder;
        QVERIFY(!m_chart->saveTable(folder.filePath("bars.csv")));
        QFile csv(folder.filePath("bars.csv"));
        QVERIFY(csv.open(QIODevice::ReadOnly));
        const QByteArray text = csv.readAll();
        QVERIFY(text.startsWith("GPU,Part,Size (bytes)"));
        QVERIFY(text.contains(QByteArray("RTX 4090 24 GB,Weights,") + QByteArray::number(qlonglong(gibibytes(15.42).value))));
    }

    void picturesAreWritten()
    {
        show(qwen());
        QTemporaryDir folder;
        QVERIFY(!m_chart->savePicture(folder.filePath("bars.png"), {800, 400}));
        QCOMPARE(QImage(folder.filePath("bars.png")).size(), QSize(1600, 800));
        QVERIFY(countPixels(QImage(folder.filePath("bars.png")), componentColour(Component::Weights)) > 1000);
        QVERIFY(!m_chart->savePicture(folder.filePath("bars.svg"), {800, 400}));
        const QString text = textOfSvg(folder.filePath("bars.svg"));
        QVERIFY(text.contains("RTX 4090 24 GB") && text.contains("Activations"));

        const auto issue = m_chart->savePicture(folder.filePath("bars.gif"));
        QVERIFY(issue && issue->hint.find(".svg") != std::string::npos);
        QVERIFY(m_chart->savePicture(folder.filePath("nowhere/bars.png")));
    }

private:
    void waitForPaint()
    {
        QSignalSpy painted(m_chart.get(), &MemoryChart::painted);
        QVERIFY(painted.wait());
    }

    void show(std::shared_ptr<const Estimate> estimate)
    {
        m_chart->setEstimate(std::move(estimate));
        waitForPaint();
    }

    std::vector<BarShape> shapesOf(BarShape::Kind kind) const
    {
        std::vector<BarShape> found;
        std::copy_if(m_chart->shapes().begin(), m_chart->shapes().end(), std::back_inserter(found),
                     [&](const BarShape &s) { return s.kind == kind; });
        return found;
    }

    const BarShape *find(BarShape::Kind kind, std::size_t bar, Component component) const
    {
        for (const BarShape &shape : m_chart->shapes()) {
            if (shape.kind == kind && shape.bar == bar && shape.component == component)
                return &shape;
        }
        return nullptr;
    }

    int rowOf(const QString &gpu, const QString &part) const
    {
        const QAbstractItemModel *table = m_chart->table();
        for (int row = 0; row < table->rowCount(); ++row) {
            if (table->index(row, 0).data() == gpu && table->index(row, 1).data() == part)
                return row;
        }
        return -1;
    }

    QString cell(const QString &gpu, const QString &part, const QString &heading) const
    {
        const QAbstractItemModel *table = m_chart->table();
        for (int column = 0; column < table->columnCount(); ++column) {
            if (table->headerData(column, Qt::Horizontal) == heading)
                return table->index(rowOf(gpu, part), column).data().toString();
        }
        return QStringLiteral("no column is called ") + heading;
    }

    double bytesOf(const QString &gpu, const QString &part) const
    {
        return m_chart->table()->index(rowOf(gpu, part), 2).data(Qt::UserRole).toDouble();
    }

    std::unique_ptr<DisplaySettings> m_settings;
    std::unique_ptr<Highlight> m_highlight;
    std::unique_ptr<MemoryChart> m_chart;
};

QTEST_MAIN(TestMemoryChart)
#include "test_memory_chart.moc"
