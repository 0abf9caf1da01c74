// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/export/exporter.h"

#include "core/plan/plan_json.h"
#include "core/report/report.h"
#include "ui/charts/memory_chart.h"
#include "ui/charts/timeline_chart.h"
#include "ui/display_settings.h"
#include "ui/document/plan_files.h"
#include "ui/export/pdf_report.h"
#include "ui/highlight.h"

#include <QBuffer>
#include <QCoreApplication>
#include <QLocale>
#include <QPainter>
#include <QSvgGenerator>

#include <algorithm>

namespace headroom {
namespace {

/// Bars that stand side by side on paper before a second chart is begun.
constexpr std::size_t barsAcrossPage = 5;
/// GPUs drawn on paper; all are in the report's tables.
constexpr std::size_t mostBarsOnPaper = 10;

/// Paper is white whatever the desktop's colours are.
QPalette paperPalette()
{
    QPalette palette(Qt::white);
    palette.setColor(QPalette::Window, Qt::white);
    palette.setColor(QPalette::Base, Qt::white);
    palette.setColor(QPalette::WindowText, QColor(0x1a, 0x1a, 0x1a));
    palette.setColor(QPalette::Text, QColor(0x1a, 0x1a, 0x1a));
    return palette;
}

void dressForPaper(QWidget &widget, int pixelSize)
{
    widget.setFont(paperFont(QFont(), pixelSize));
    widget.setPalette(paperPalette());
}

QPageSize::PageSizeId localPaper()
{
    // CLDR: these use Letter; measurement systems alone would put the United Kingdom among them.
    switch (QLocale().territory()) {
    case QLocale::UnitedStates:
    case QLocale::Canada:
    case QLocale::Mexico:
    case QLocale::Philippines:
    case QLocale::Chile:
    case QLocale::Colombia:
    case QLocale::PuertoRico: return QPageSize::Letter;
    default: return QPageSize::A4;
    }
}

QByteArray pdf(const std::shared_ptr<const Estimate> &estimate, const std::shared_ptr<const Estimate> &baseline, ByteUnit unit,
               const std::vector<MeasuredRun> &runs)
{
    DisplaySettings settings;
    settings.setUnit(unit);
    Highlight highlight;
    std::vector<std::unique_ptr<MemoryChart>> bars;
    ReportCharts charts;
    const std::size_t count = std::min(mostBarsOnPaper, estimate->gpus.size());
    const std::size_t rows = std::max<std::size_t>(1, (count + barsAcrossPage - 1) / barsAcrossPage);
    for (std::size_t row = 0; row < rows; ++row) {
        auto part = estimate;
        if (rows > 1 || count < estimate->gpus.size()) {
            auto some = std::make_shared<Estimate>(*estimate);
            const auto from = std::ptrdiff_t(row * count / rows), to = std::ptrdiff_t((row + 1) * count / rows);
            some->gpus.assign(estimate->gpus.begin() + from, estimate->gpus.begin() + to);
            part = some;
        }
        bars.push_back(std::make_unique<MemoryChart>(&settings, &highlight));
        dressForPaper(*bars.back(), 11);
        bars.back()->setEstimate(part);
        bars.back()->setBaseline(baseline);
        charts.memoryBars.push_back(bars.back().get());
    }
    TimelineChart timeline(&settings, &highlight);
    dressForPaper(timeline, 11);
    timeline.setEstimate(estimate);
    charts.timeline = &timeline;
    return writePdf(buildReport(*estimate, unit, runs), charts, QByteArray::fromStdString(writePlan(estimate->plan, PlanStyle::Complete)),
                    localPaper());
}

/// The memory chart below the plan's name and the sentence to act on: what a picture in a mail must say by itself.
class Picture
{
public:
    Picture(const std::shared_ptr<const Estimate> &estimate, const std::shared_ptr<const Estimate> &baseline, ByteUnit unit)
        : m_title(QString::fromStdString(planTitle(estimate->plan)))
        , m_sentence(QString::fromStdString(summarySentence(*estimate, unit)))
        , m_chart(&m_settings, &m_highlight)
    {
        m_settings.setUnit(unit);
        dressForPaper(m_chart, 14);
        m_chart.setEstimate(estimate);
        m_chart.setBaseline(baseline);
        const int bars = int(std::max<std::size_t>(1, estimate->gpus.size()));
        m_size = QSize(std::clamp(420 + bars * 230, 900, 4000), 640);
    }

    QByteArray png()
    {
        constexpr double scale = 2;
        QImage image(m_size * scale, QImage::Format_RGB32);
        image.fill(Qt::white);
        {
            ChartPainter painter(&image);
            painter.painter().scale(scale, scale);
            paint(painter);
        }
        QByteArray bytes;
        QBuffer buffer(&bytes);
        buffer.open(QIODevice::WriteOnly);
        image.save(&buffer, "PNG");
        return bytes;
    }

    QByteArray svg()
    {
        QByteArray bytes;
        QBuffer buffer(&bytes);
        buffer.open(QIODevice::WriteOnly);
        QSvgGenerator generator;
        generator.setOutputDevice(&buffer);
        generator.setSize(m_size);
        generator.setViewBox(QRect(QPoint(0, 0), m_size));
        generator.setTitle(m_title);
        generator.setDescription(m_sentence + QLatin1Char('\n') + m_chart.accessibleDescription());
        {
            ChartPainter painter(&generator);
            paint(painter);
        }
        return bytes;
    }

private:
    void paint(ChartPainter &to)
    {
        constexpr int head = 64;
        QPainter &painter = to.painter();
        painter.fillRect(QRect(QPoint(0, 0), m_size), Qt::white);
        painter.save();
        painter.translate(0, head);
        m_chart.drawOn(to, m_size - QSize(0, head));
        painter.restore();
        QFont font = m_chart.font();
        painter.setPen(QColor(0x1a, 0x1a, 0x1a));
        const auto write = [&](int top, int height, const QString &text) {
            painter.setFont(font);
            painter.drawText(QRectF(10, top, m_size.width() - 20, height), Qt::AlignLeft | Qt::AlignVCenter,
                             QFontMetricsF(font).elidedText(text, Qt::ElideMiddle, m_size.width() - 20));
        };
        font.setPixelSize(20);
        font.setBold(true);
        write(8, 28, m_title);
        font.setPixelSize(15);
        font.setBold(false);
        write(36, 22, m_sentence);
    }

    QString m_title, m_sentence;
    DisplaySettings m_settings;
    Highlight m_highlight;
    MemoryChart m_chart;
    QSize m_size;
};

} // namespace

std::optional<Issue> checkExportName(const QString &file)
{
    if (file.isEmpty())
        return Issue{{}, 0, {}, "the file's name is empty", "name a file that ends in .pdf, .png or .svg"};
    for (const QLatin1String ending : {QLatin1String(".pdf"), QLatin1String(".png"), QLatin1String(".svg")})
        if (file.endsWith(ending, Qt::CaseInsensitive))
            return std::nullopt;
    return Issue{file.toStdString(), 0, {}, "is not the name of a file that Headroom exports", "let the name end in .pdf, .png or .svg"};
}

bool isReport(const QString &file) { return file.endsWith(QLatin1String(".pdf"), Qt::CaseInsensitive); }

std::optional<Issue> exportTo(const QString &file, std::shared_ptr<const Estimate> estimate, std::shared_ptr<const Estimate> baseline,
                              ByteUnit unit, const std::vector<MeasuredRun> &runs)
{
    if (auto issue = checkExportName(file))
        return issue;
    if (isReport(file))
        return writeFile(file, pdf(estimate, baseline, unit, runs));
    if (file.endsWith(QLatin1String(".png"), Qt::CaseInsensitive))
        return writeFile(file, Picture(estimate, baseline, unit).png());
    return writeFile(file, Picture(estimate, baseline, unit).svg());
}

} // namespace headroom
