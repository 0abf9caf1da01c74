// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What is drawn anew in each picture is drawn faster than Qt does by itself, and no different.
#include "ui/charts/chart_theme.h"
#include "ui/charts/font_lines.h"
#include "ui/window/plain_label.h"

#include <qcustomplot.h>

#include <QLabel>
#include <QTest>

using namespace headroom;

namespace {

constexpr QSize canvas(240, 120);

template<typename Draw>
QImage drawn(Draw draw)
{
    QImage image(canvas, QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    QCPPainter painter;
    painter.begin(&image);
    painter.setAntialiasing(true);
    draw(painter);
    return image;
}

int mostDifferent(const QImage &a, const QImage &b, const QRect &within)
{
    int most = 0;
    for (int y = within.top(); y <= within.bottom(); ++y) {
        for (int x = within.left(); x <= within.right(); ++x) {
            const QRgb p = a.pixel(x, y), q = b.pixel(x, y);
            most = std::max({most, std::abs(qRed(p) - qRed(q)), std::abs(qGreen(p) - qGreen(q)), std::abs(qBlue(p) - qBlue(q)),
                             std::abs(qAlpha(p) - qAlpha(q))});
        }
    }
    return most;
}

} // namespace

class TestDrawing : public QObject
{
    Q_OBJECT
private slots:
    void aLineIsDrawnAsAPainterDrawsIt_data();
    void aLineIsDrawnAsAPainterDrawsIt();
    void aLineIsMeasuredAsItsFontMeasuresIt_data();
    void aLineIsMeasuredAsItsFontMeasuresIt();
    void aTextThatDoesNotFitIsElided();
    void hatchesAreWhatTheirLinesWouldBe_data();
    void hatchesAreWhatTheirLinesWouldBe();
    void aPlainLabelLooksAsALabelDoes_data();
    void aPlainLabelLooksAsALabelDoes();
    void aPlainLabelHasRoomForItsMargins();
};

void TestDrawing::aLineIsDrawnAsAPainterDrawsIt_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<int>("flags");
    QTest::addColumn<QRectF>("area");
    QTest::addColumn<bool>("bold");
    const QRectF wide(10.3, 20.7, 200, 30), narrow(20, 20, 40, 10);
    QTest::newRow("left") << "Weights  15.42 GiB" << int(Qt::AlignLeft | Qt::AlignVCenter) << wide << false;
    QTest::newRow("right") << "166.50 MiB" << int(Qt::AlignRight | Qt::AlignVCenter) << wide << false;
    QTest::newRow("centre") << "RTX 4090 24 GB" << int(Qt::AlignCenter) << wide << true;
    QTest::newRow("top") << "To spare" << int(Qt::AlignHCenter | Qt::AlignTop) << wide << false;
    QTest::newRow("bottom") << "AVAW To" << int(Qt::AlignLeft | Qt::AlignBottom) << wide << true;
    QTest::newRow("cut") << "longer than its place" << int(Qt::AlignCenter) << narrow << false;
    QTest::newRow("not cut") << "longer than its place" << (int(Qt::AlignCenter) | wholeText) << narrow << false;
    QTest::newRow("two lines") << "one\ntwo" << int(Qt::AlignCenter) << wide << false;
    QTest::newRow("from right to left") << QStringLiteral("שלום 12") << int(Qt::AlignLeft | Qt::AlignVCenter) << wide << false;
    QTest::newRow("nothing") << "" << int(Qt::AlignCenter) << wide << false;
}

void TestDrawing::aLineIsDrawnAsAPainterDrawsIt()
{
    QFETCH(QString, text);
    QFETCH(int, flags);
    QFETCH(QRectF, area);
    QFETCH(bool, bold);
    for (const double size : {9.2, 10.0, 11.3}) {
        QFont font;
        font.setBold(bold);
        font.setPointSizeF(size);
        const FontLines lines(font);
        for (double y = 0; y < 1; y += 0.125) {
            const QRectF place = area.translated(0, y);
            const QImage plain = drawn([&](QCPPainter &painter) {
                painter.setFont(font);
                painter.setPen(Qt::darkBlue);
                painter.drawText(place, flags, text);
            });
            const QImage image = drawn([&](QCPPainter &painter) {
                painter.setPen(Qt::darkBlue);
                lines.draw(&painter, place, flags, text);
            });
            QCOMPARE(image, plain);
        }
    }
}

void TestDrawing::aLineIsMeasuredAsItsFontMeasuresIt_data()
{
    QTest::addColumn<QString>("text");
    for (const char *text : {"", "Weights", "166.50 MiB", "AVAWATa", "does not fit, short by 1.2 GiB ", "±0", "H100 80 GB (SXM)  "})
        QTest::newRow(text) << QString::fromUtf8(text);
}

void TestDrawing::aLineIsMeasuredAsItsFontMeasuresIt()
{
    QFETCH(QString, text);
    for (const double size : {8.0, 9.2, 10.0, 13.5}) {
        QFont font;
        font.setPointSizeF(size);
        const FontLines lines(font);
        const QFontMetricsF metrics(font);
        QCOMPARE(lines.horizontalAdvance(text), metrics.horizontalAdvance(text));
        QCOMPARE(lines.height(), metrics.height());
        QCOMPARE(lines.ascent(), metrics.ascent());
    }
}

void TestDrawing::aTextThatDoesNotFitIsElided()
{
    const QFont font;
    const FontLines lines(font);
    const QFontMetricsF metrics(font);
    const QString text = QStringLiteral("Tesla V100 32GB (SXM2/PCIe)");
    const double whole = metrics.horizontalAdvance(text);
    for (const double width : {whole / 2, whole - 0.5, whole, whole * 2})
        QCOMPARE(lines.elidedText(text, Qt::ElideMiddle, width), metrics.elidedText(text, Qt::ElideMiddle, width));
}

void TestDrawing::hatchesAreWhatTheirLinesWouldBe_data()
{
    QTest::addColumn<Hatch>("hatch");
    QTest::newRow("cache") << Hatch::Cache;
    QTest::newRow("outside") << Hatch::Outside;
    QTest::newRow("over the limit") << Hatch::OverLimit;
}

void TestDrawing::hatchesAreWhatTheirLinesWouldBe()
{
    QFETCH(Hatch, hatch);
    const ChartTheme theme = ChartTheme::from(QPalette(), QFont());
    for (const QRectF &area : {QRectF(13, 7, 201, 98), QRectF(20.4, 11.7, 100, 77.3)}) {
        const QImage quick = drawn([&](QCPPainter &painter) { drawHatch(&painter, area, hatch, theme); });
        const QImage lines = drawn([&](QCPPainter &painter) {
            painter.setMode(QCPPainter::pmVectorized); // not in print as on the screen
            drawHatch(&painter, area, hatch, theme);
        });
        // At the edges lines are cut by the area instead of ending in it. Within, where a stroke lies is rounded to parts of a
        // pixel that depend on where it begins.
        const int most = mostDifferent(quick, lines, area.toRect().adjusted(4, 4, -4, -4));
        QVERIFY2(most <= 4, qPrintable(QString::number(most)));
    }
}

void TestDrawing::aPlainLabelLooksAsALabelDoes_data()
{
    QTest::addColumn<bool>("wraps");
    QTest::addColumn<double>("size");
    for (const bool wraps : {false, true})
        for (const double size : {9.0, 10.0, 12.5})
            QTest::addRow("%s, %g points", wraps ? "wrapped" : "one line", size) << wraps << size;
}

void TestDrawing::aPlainLabelLooksAsALabelDoes()
{
    QFETCH(bool, wraps);
    QFETCH(double, size);
    PlainLabel own(wraps);
    QLabel other;
    other.setTextFormat(Qt::PlainText);
    other.setTextInteractionFlags(Qt::TextSelectableByMouse);
    other.setWordWrap(wraps);
    for (QLabel *label : {static_cast<QLabel *>(&own), &other}) {
        QFont font;
        font.setPointSizeF(size);
        label->setFont(font);
    }
    const auto picture = [](QLabel &label) { return label.grab().toImage(); };
    const char *texts[] = {"Fits on RTX 4090 24 GB: 1.25 GiB to spare.", "",
                           "Steady state: peak 21.02 GiB allocated, 22.30 GiB reserved, 22.68 GiB (±4.8 %) on the device, in backward.",
                           "a plan & its \"file\"\ntwo lines <b>of</b> them"};
    for (const char *text : texts) {
        for (QLabel *label : {static_cast<QLabel *>(&own), &other})
            label->setText(QString::fromUtf8(text));
        for (const QSize place : {QSize(260, 120), QSize(419, 57)}) {
            own.resize(place);
            other.resize(place);
            QCOMPARE(picture(own), picture(other));
        }
        if (wraps)
            QCOMPARE(own.heightForWidth(200), std::max(other.heightForWidth(200), own.fontMetrics().height()));
        if (own.text().isEmpty())
            continue;
        own.setSelection(2, 5);
        other.setSelection(2, 5);
        QCOMPARE(own.selectedText(), own.text().mid(2, 5));
        QCOMPARE(picture(own), picture(other));
    }
}

void TestDrawing::aPlainLabelHasRoomForItsMargins()
{
    const QString text =
        QStringLiteral("Steady state: peak 21.02 GiB allocated, 22.30 GiB reserved, 22.68 GiB on the device, in backward.");
    for (const bool wraps : {false, true}) {
        PlainLabel plain(wraps), set(wraps);
        set.setContentsMargins(40, 3, 60, 5);
        for (PlainLabel *label : {&plain, &set})
            label->setText(text);
        QCOMPARE(set.sizeHint(), plain.sizeHint() + QSize(100, 8));
        QCOMPARE(set.minimumSizeHint(), plain.minimumSizeHint() + QSize(100, 8));
        if (wraps) {
            QVERIFY(plain.heightForWidth(200) > plain.heightForWidth(300));
            QCOMPARE(set.heightForWidth(300), plain.heightForWidth(200) + 8);
        }
    }
}

QTEST_MAIN(TestDrawing)
#include "test_drawing.moc"
