// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/charts/chart_widget.h"

#include <QApplication>
#include <QFile>
#include <QPalette>
#include <QTest>
#include <QWheelEvent>
#include <QWindow>
#include <QXmlStreamReader>

/// Driving charts as a person does: through the window, which finds the widget below the pointer.
namespace headroom::samples {

/// The part of a chart that is drawn and takes the mouse; its origin is the chart's.
inline QWidget *canvasOf(ChartWidget &chart) { return chart.childAt(chart.rect().center()); }

inline void moveTo(ChartWidget &chart, QPointF position)
{
    QTest::mouseMove(chart.window()->windowHandle(), canvasOf(chart)->mapTo(chart.window(), position.toPoint()));
}

inline void clickAt(ChartWidget &chart, QPointF position)
{
    QTest::mouseClick(chart.window()->windowHandle(), Qt::LeftButton, {}, canvasOf(chart)->mapTo(chart.window(), position.toPoint()));
}

inline void wheelAt(ChartWidget &chart, QPointF position, int notches, Qt::KeyboardModifiers modifiers = Qt::NoModifier)
{
    QWidget *canvas = canvasOf(chart);
    QWheelEvent event(position, canvas->mapToGlobal(position), {}, QPoint(0, 120 * notches), Qt::NoButton, modifiers, Qt::NoScrollPhase,
                      false);
    QApplication::sendEvent(canvas, &event);
}

inline QPalette darkPalette()
{
    QPalette palette;
    palette.setColor(QPalette::Window, QColor(35, 38, 41));
    palette.setColor(QPalette::WindowText, Qt::white);
    palette.setColor(QPalette::Base, QColor(27, 30, 32));
    palette.setColor(QPalette::Text, QColor(240, 240, 240));
    return palette;
}

/// Pixels of a picture in exactly this colour.
inline int countPixels(const QImage &image, const QColor &colour)
{
    int count = 0;
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x)
            count += image.pixelColor(x, y).rgb() == colour.rgb();
    }
    return count;
}

/// All that is written in an SVG picture; nothing where it is no XML.
inline QString textOfSvg(const QString &path)
{
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        return {};
    QXmlStreamReader reader(&file);
    QString text;
    while (!reader.atEnd()) {
        if (reader.readNext() == QXmlStreamReader::Characters)
            text += reader.text();
    }
    return reader.hasError() ? QString() : text;
}

} // namespace headroom::samples
