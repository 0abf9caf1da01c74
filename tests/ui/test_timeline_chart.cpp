// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/ui/chart_events.h"
#include "tests/ui/chart_samples.h"
#include "ui/charts/timeline_chart.h"
#include "ui/display_settings.h"
#include "ui/highlight.h"
#include "ui/palette.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>

#include <algorithm>

using namespace headroom;
using namespace headroom::samples;

class TestTimelineChart : public QObject
{
    Q_OBJECT

private slots:
    void init()
    {
        m_settings = std::make_unique<DisplaySettings>();
        m_highlight = std::make_unique<Highlight>();
        m_chart = std::make_unique<TimelineChart>(m_settings.get(), m_highlight.get());
        m_requests.clear();
        m_asked.clear();
        m_chart->resize(940, 320);
        m_chart->show();
        QVERIFY(QTest::qWaitForWindowExposed(m_chart.get()));
        setStep(stepEvents());
        moveTo(*m_chart, QPointF(2, 2));
        m_asked.clear();
    }

    void cleanup()
    {
        m_chart.reset();
        m_highlight.reset();
        m_settings.reset();
    }

    void theWholeStepIsShownAtFirst()
    {
        QCOMPARE(m_chart->firstVisibleEvent(), 0.0);
        QCOMPARE(m_chart->lastVisibleEvent(), double(stepEvents().size()));
        QCOMPARE(m_requests.size(), std::size_t(1));
        QVERIFY(m_chart->shown().samples.size() < stepEvents().size());
        QCOMPARE(m_chart->table()->rowCount(), int(m_chart->shown().samples.size()));
    }

    void noPeakIsLostInTheTable()
    {
        Bytes highest;
        for (const TimelineSample &sample : stepEvents())
            highest = std::max(highest, sample.components.total());
        const QAbstractItemModel *table = m_chart->table();
        qlonglong shown = 0;
        for (int row = 0; row < table->rowCount(); ++row) {
            const qlonglong allocated = table->index(row, 3).data(Qt::UserRole).toLongLong();
            qlonglong sum = 0;
            for (int column = 5; column < 10; ++column)
                sum += table->index(row, column).data(Qt::UserRole).toLongLong();
            QCOMPARE(sum, allocated);
            shown = std::max(shown, allocated);
        }
        QCOMPARE(shown, qlonglong(highest.value));
        QVERIFY(m_chart->accessibleDescription().contains("Peak: 23.86 GiB allocated in backward"));
    }

    void theWheelZoomsAroundThePointer()
    {
        const double all = m_chart->lastVisibleEvent();
        const double before = eventAt(500);
        wheelAt(*m_chart, QPointF(500, 150), 3);
        settle();
        const double width = m_chart->lastVisibleEvent() - m_chart->firstVisibleEvent();
        QVERIFY(width < all * 0.6 && width > all * 0.4);
        QVERIFY2(std::abs(eventAt(500) - before) < width * 0.01, "what lies below the pointer stays there");
        QCOMPARE(m_requests.back().first, std::uint32_t(std::floor(m_chart->firstVisibleEvent())));
        QCOMPARE(m_requests.back().second, std::uint32_t(std::ceil(m_chart->lastVisibleEvent())));
        wheelAt(*m_chart, QPointF(500, 150), -10);
        settle();
        QCOMPARE(m_chart->firstVisibleEvent(), 0.0);
        QCOMPARE(m_chart->lastVisibleEvent(), all);
    }

    void zoomEndsWhereEventsCanBeTold()
    {
        wheelAt(*m_chart, QPointF(500, 150), 100);
        settle();
        QCOMPARE(m_chart->lastVisibleEvent() - m_chart->firstVisibleEvent(), 8.0);
        // Close up every event is there, none thinned away.
        for (std::size_t i = 1; i < m_chart->shown().samples.size(); ++i)
            QCOMPARE(m_chart->shown().samples[i].event, m_chart->shown().samples[i - 1].event + 1);
    }

    void draggingPansAndStopsAtTheEnds()
    {
        wheelAt(*m_chart, QPointF(500, 150), 3);
        settle();
        const double first = m_chart->firstVisibleEvent();
        const double held = eventAt(600);
        drag(QPointF(600, 150), QPointF(450, 150));
        QVERIFY(m_chart->firstVisibleEvent() > first);
        QVERIFY(std::abs(eventAt(450) - held) < 12);
        drag(QPointF(100, 150), QPointF(900, 150));
        drag(QPointF(100, 150), QPointF(900, 150));
        drag(QPointF(100, 150), QPointF(900, 150));
        QCOMPARE(m_chart->firstVisibleEvent(), 0.0);
        QVERIFY2(!m_chart->crosshairEvent(), "no crosshair while dragging");
    }

    void aDoubleClickShowsEverythingAgain()
    {
        wheelAt(*m_chart, QPointF(500, 150), 5);
        wheelAt(*m_chart, QPointF(500, 150), 4, Qt::ControlModifier);
        settle();
        QWidget *canvas = canvasOf(*m_chart);
        QTest::mouseDClick(m_chart->windowHandle(), Qt::LeftButton, {}, canvas->mapTo(m_chart.get(), QPoint(500, 150)));
        settle();
        QCOMPARE(m_chart->firstVisibleEvent(), 0.0);
        QCOMPARE(m_chart->lastVisibleEvent(), double(stepEvents().size()));
        QVERIFY(m_chart->highestVisible() > double(gibibytes(23.9).value));
    }

    void controlAndWheelZoomTheMemoryAxis()
    {
        const double lowest = m_chart->lowestVisible(), highest = m_chart->highestVisible();
        wheelAt(*m_chart, QPointF(500, 150), 3, Qt::ControlModifier);
        QVERIFY(m_chart->lowestVisible() > lowest && m_chart->highestVisible() < highest);
        QCOMPARE(m_chart->lastVisibleEvent(), double(stepEvents().size()));
        const double from = m_chart->lowestVisible();
        settle();
        drag(QPointF(500, 150), QPointF(500, 120));
        QVERIFY2(m_chart->lowestVisible() < from, "dragged up, less is shown");
        wheelAt(*m_chart, QPointF(500, 150), -20, Qt::ControlModifier);
        QCOMPARE(m_chart->lowestVisible(), 0.0);
    }

    void theAxisStartsAboveZeroOnlyWhereItSaysSo()
    {
        QVERIFY(m_chart->lowestVisible() > 0);
        QVERIFY2(m_chart->lowestVisible() < double(gibibytes(15.42).value), "every component stays in sight");
        QVERIFY(m_chart->accessibleDescription().contains("The axis starts at 12.0 GiB"));
        // Little of this step is always there: the axis starts at zero.
        auto events = stepEvents();
        for (TimelineSample &sample : events)
            sample.components[Component::Weights] = gibibytes(0.5);
        setStep(events);
        QCOMPARE(m_chart->lowestVisible(), 0.0);
        QVERIFY(!m_chart->accessibleDescription().contains("axis"));
    }

    void theCrosshairListsWhatIsAliveThere()
    {
        moveTo(*m_chart, QPointF(600, 150));
        QVERIFY(m_chart->crosshairEvent());
        QCOMPARE(m_asked, std::vector<std::uint32_t>{*m_chart->crosshairEvent()});
        const QStringList lines = m_chart->crosshairText().split('\n');
        QVERIFY2(lines[0].contains("backward") && lines[0].contains("layer"), qPrintable(lines[0]));
        QVERIFY(lines[1].contains("allocated"));
        QCOMPARE(lines[2], QString("13.10 GiB\tWeights\tweights of the 36 layers") + QString(" ") + QChar(0x00D7) + QString(" 252"));
        QVERIFY(lines[3].contains("4.63 GiB"));
        moveTo(*m_chart, QPointF(600, 160));
        QCOMPARE(m_asked.size(), std::size_t(1)); // the same instant is not asked for again
    }

    void theCrosshairIsDrawnAndGoesWithThePointer()
    {
        const QImage before = m_chart->grab().toImage();
        moveTo(*m_chart, QPointF(600, 150));
        QVERIFY(m_chart->grab().toImage() != before);
        moveTo(*m_chart, QPointF(600, 3)); // over the bands
        QVERIFY(!m_chart->crosshairEvent());
        QVERIFY(m_chart->crosshairText().isEmpty());
        QCOMPARE(m_chart->grab().toImage(), before);
    }

    void pointingAtAnAreaHighlightsItsComponent()
    {
        const int y = 230; // within the weights, the lowest area
        moveTo(*m_chart, QPointF(600, y));
        QCOMPARE(m_highlight->hovered().component, std::optional(Component::Weights));
        clickAt(*m_chart, QPointF(600, y));
        QCOMPARE(m_highlight->selected().component, std::optional(Component::Weights));
        const QImage pointed = m_chart->grab().toImage();
        m_highlight->setHovered({Component::Temporary, {}});
        settle();
        QVERIFY(countPixels(m_chart->grab().toImage(), componentColour(Component::Weights)) <
                countPixels(pointed, componentColour(Component::Weights)) / 4);
    }

    void theKeyboardDoesWhatTheMouseDoes()
    {
        m_chart->setFocus();
        QTest::keyClick(m_chart.get(), Qt::Key_Right);
        QCOMPARE(m_chart->crosshairEvent(), std::optional(m_chart->shown().peakEvent)); // begins at the peak
        QTest::keyClick(m_chart.get(), Qt::Key_Right);
        QVERIFY(*m_chart->crosshairEvent() > m_chart->shown().peakEvent);
        QVERIFY2(m_chart->accessibleDescription().contains("Event"), "a screen reader hears what is there");
        QTest::keyClick(m_chart.get(), Qt::Key_Plus);
        QTest::keyClick(m_chart.get(), Qt::Key_Plus);
        const double first = m_chart->firstVisibleEvent();
        QVERIFY(m_chart->lastVisibleEvent() - first < double(stepEvents().size()) * 0.7);
        QTest::keyClick(m_chart.get(), Qt::Key_PageDown);
        QVERIFY(m_chart->firstVisibleEvent() > first);
        QTest::keyClick(m_chart.get(), Qt::Key_Escape);
        QVERIFY(!m_chart->crosshairEvent());
        QTest::keyClick(m_chart.get(), Qt::Key_Home);
        QCOMPARE(m_chart->firstVisibleEvent(), 0.0);
    }

    void aNewEstimateOfTheSameStepKeepsTheView()
    {
        wheelAt(*m_chart, QPointF(500, 150), 4);
        settle();
        const double first = m_chart->firstVisibleEvent(), last = m_chart->lastVisibleEvent();
        setStep(stepEvents());
        QCOMPARE(m_chart->firstVisibleEvent(), first);
        QCOMPARE(m_chart->lastVisibleEvent(), last);
        // Another number of events is another step.
        const std::vector<TimelineSample> shorter(stepEvents().begin(), stepEvents().begin() + 900);
        setStep(shorter);
        QCOMPARE(m_chart->firstVisibleEvent(), 0.0);
        QCOMPARE(m_chart->lastVisibleEvent(), 900.0);
    }

    void hiddenNothingIsAskedFor()
    {
        m_chart->hide();
        const std::size_t before = m_requests.size();
        m_chart->setSources(source(stepEvents()), {}, std::nullopt);
        QCoreApplication::processEvents();
        QCOMPARE(m_requests.size(), before);
        QVERIFY(m_chart->table()->rowCount() > 0); // but whoever reads the table gets the figures
        QCOMPARE(m_requests.size(), before + 1);
    }

    void theLimitOfAFarLargerGpuIsOnlyNamed()
    {
        const double top = m_chart->highestVisible();
        m_chart->setSources(source(stepEvents()), {}, TimelineLimit{"MI300X", gibibytes(192), gibibytes(1)});
        settle();
        QVERIFY(m_chart->highestVisible() < top * 1.2);
        QVERIFY(m_chart->accessibleDescription().contains("above this view"));
        m_chart->setSources(source(stepEvents()), {}, TimelineLimit{"RTX 5090", gibibytes(31.8), gibibytes(1)});
        settle();
        QVERIFY(m_chart->highestVisible() > double(gibibytes(31.8).value));
        QVERIFY(countPixels(m_chart->grab().toImage(), overLimitColour()) > 200);
    }

    void unitAndColoursFollow()
    {
        const QImage light = m_chart->grab().toImage();
        m_settings->setUnit(ByteUnit::Decimal);
        settle();
        QVERIFY(m_chart->table()->headerData(3, Qt::Horizontal).toString().contains("(GB)"));
        QVERIFY(m_chart->accessibleDescription().contains("25.62 GB"));
        QVERIFY(m_chart->grab().toImage() != light);
        m_chart->setPalette(darkPalette());
        settle();
        QVERIFY(countPixels(m_chart->grab().toImage(), darkPalette().color(QPalette::Base)) > 20000);
    }

    void aBaselineLiesOverTheSamePhases()
    {
        // Half as many events in forward, as many in the others, everything 1 GiB higher.
        std::vector<TimelineSample> events;
        for (const TimelineSample &event : stepEvents()) {
            if (event.phase == Phase::Forward && event.event % 2 == 1)
                continue;
            events.push_back(event);
            events.back().event = std::uint32_t(events.size() - 1);
            events.back().components[Component::Weights] += gibibytes(1);
        }
        const auto all = std::uint32_t(stepEvents().size());
        const Timeline shown = timelineOf(stepEvents(), all, 0, all);
        const std::vector<GhostPoint> ghost = ghostOver(shown, timelineOf(events, all, 0, all));
        QCOMPARE(ghost.size(), events.size());
        for (std::size_t i = 0; i < ghost.size(); ++i) {
            const TimelineSample &below = stepEvents()[std::size_t(std::llround(ghost[i].event))];
            QCOMPARE(below.phase, events[i].phase);
            QCOMPARE(ghost[i].allocated - below.components.total(), gibibytes(1));
        }
        // Other phases: the whole step covers the whole step.
        std::vector<TimelineSample> forwardOnly(events.begin(), events.begin() + 100);
        const std::vector<GhostPoint> spread = ghostOver(shown, timelineOf(forwardOnly, 100, 0, 100));
        QCOMPARE(spread.front().event, 0.0);
        QCOMPARE(spread.back().event, 0.99 * all);
        QVERIFY(ghostOver({}, shown).empty());
        QVERIFY(ghostOver(shown, {}).empty());
    }

    void anEmptyChartSaysSo()
    {
        m_chart->setEstimate(nullptr);
        settle();
        QCOMPARE(m_chart->table()->rowCount(), 0);
        QCOMPARE(m_chart->accessibleDescription(), QString("No estimate yet"));
        m_chart->setEmptyReason("This plan cannot be estimated, for this reason.");
        QCOMPARE(m_chart->accessibleDescription(), QString("This plan cannot be estimated, for this reason."));
        wheelAt(*m_chart, QPointF(500, 150), 3);
        moveTo(*m_chart, QPointF(500, 150));
        QVERIFY(!m_chart->crosshairEvent());
    }

    void theTableIsAProperModel()
    {
        const QAbstractItemModelTester tester(m_chart->table(), QAbstractItemModelTester::FailureReportingMode::QtTest);
        m_chart->showEvents(100, 300);
        settle();
        QCOMPARE(m_chart->table()->index(0, 0).data().toInt(), 100);
        QVERIFY(m_chart->tableCsv().startsWith("Event,Phase,Layer,Allocated (bytes)"));
    }

    void picturesHoldNamesAndBands()
    {
        const QByteArray svg = m_chart->toSvg({1200, 500});
        for (const char *text : {"forward", "backward", "RTX 4090 24 GB", "Peak"})
            QVERIFY2(svg.contains(text), text);
        QCOMPARE(m_chart->toImage({600, 300}, 2).size(), QSize(1200, 600));
    }

private:
    TimelineChart::Source source(std::vector<TimelineSample> events)
    {
        return [this, events = std::move(events)](std::size_t samples, std::uint32_t from, std::uint32_t to) {
            m_requests.emplace_back(from, to);
            return timelineOf(events, samples, from, to);
        };
    }

    void setStep(std::vector<TimelineSample> events)
    {
        const auto alive = [this](std::uint32_t event) {
            m_asked.push_back(event);
            return aliveTensors();
        };
        m_chart->setSources(source(std::move(events)), alive, TimelineLimit{"RTX 4090 24 GB", gibibytes(23.99), gibibytes(0.39)});
        settle();
    }

    /// Lets queued redraws happen.
    void settle()
    {
        for (int i = 0; i < 4; ++i)
            QCoreApplication::processEvents();
    }

    /// The event below a pixel, as the crosshair tells it.
    double eventAt(int x)
    {
        moveTo(*m_chart, QPointF(x, 149)); // no event comes of a pointer that stands still
        moveTo(*m_chart, QPointF(x, 150));
        const double event = m_chart->crosshairEvent().value_or(0);
        m_chart->setCrosshair(std::nullopt);
        m_asked.clear();
        return event;
    }

    void drag(QPointF from, QPointF to)
    {
        QWidget *canvas = canvasOf(*m_chart);
        QWindow *window = m_chart->windowHandle();
        const auto at = [&](QPointF position) { return canvas->mapTo(m_chart.get(), position.toPoint()); };
        QTest::mousePress(window, Qt::LeftButton, {}, at(from));
        QTest::mouseMove(window, at((from + to) / 2));
        QTest::mouseMove(window, at(to));
        QVERIFY(!m_chart->crosshairEvent());
        QTest::mouseRelease(window, Qt::LeftButton, {}, at(to));
        settle();
    }

    std::unique_ptr<DisplaySettings> m_settings;
    std::unique_ptr<Highlight> m_highlight;
    std::unique_ptr<TimelineChart> m_chart;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> m_requests;
    std::vector<std::uint32_t> m_asked;
};

QTEST_MAIN(TestTimelineChart)
#include "test_timeline_chart.moc"
