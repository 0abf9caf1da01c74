// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/chart_widget.h"

#include "core/report/report.h"
#include "ui/charts/plot.h"
#include "ui/display_settings.h"
#include "ui/document/plan_files.h"
#include "ui/highlight.h"

#include <QAbstractTableModel>
#include <QAction>
#include <QBuffer>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QHeaderView>
#include <QMenu>
#include <QStackedLayout>
#include <QSvgGenerator>
#include <QTableView>

namespace headroom {
namespace {

/// The model's cells, `role` first and what is displayed where a cell has none, joined line by line.
QString tableText(const QAbstractItemModel &model, int role, QChar separator, QLatin1String lineEnd, bool quote)
{
    QString text;
    for (int row = -1; row < model.rowCount(); ++row) {
        for (int column = 0; column < model.columnCount(); ++column) {
            QVariant value;
            if (row < 0)
                value = model.headerData(column, Qt::Horizontal, role);
            else
                value = model.index(row, column).data(role);
            if (!value.isValid())
                value = row < 0 ? model.headerData(column, Qt::Horizontal) : model.index(row, column).data();
            if (column > 0)
                text += separator;
            text += quote ? QString::fromStdString(csvField(value.toString().toStdString())) : value.toString();
        }
        text += lineEnd;
    }
    return text;
}

} // namespace

class ChartPainter::Private
{
public:
    explicit Private(QPaintDevice *device)
        : painter(device)
    {
        painter.setMode(QCPPainter::pmVectorized);
        painter.setMode(QCPPainter::pmNoCaching);
        painter.setMode(QCPPainter::pmNonCosmetic);
    }
    QCPPainter painter;
};

ChartPainter::ChartPainter(QPaintDevice *device)
    : d(std::make_unique<Private>(device))
{}

ChartPainter::~ChartPainter() = default;

QPainter &ChartPainter::painter() { return d->painter; }

QFont paperFont(QFont font, int pixelSize)
{
    font.setPixelSize(pixelSize);
    font.setHintingPreference(QFont::PreferNoHinting);
    // Qt sets spaced letters one by one; this is the least it takes for spacing.
    font.setLetterSpacing(QFont::AbsoluteSpacing, 1.0 / 64);
    return font;
}

ChartWidget::ChartWidget(DisplaySettings *settings, Highlight *highlight, QWidget *parent)
    : QWidget(parent)
    , m_settings(settings)
    , m_highlight(highlight)
    , m_theme(ChartTheme::from(palette(), font()))
    , m_plot(new Plot(this))
    , m_pages(new QStackedLayout(this))
    , m_menu(new QMenu(this))
    , m_showTable(m_menu->addAction(QString()))
    , m_copyTable(m_menu->addAction(QString()))
    , m_saveTable(m_menu->addAction(QString()))
    , m_savePicture(m_menu->addAction(QString()))
{
    m_pages->setContentsMargins(0, 0, 0, 0);
    m_pages->addWidget(m_plot);
    setFocusPolicy(Qt::StrongFocus);
    m_plot->setFocusProxy(this);
    m_plot->setContextMenuPolicy(Qt::NoContextMenu);

    m_showTable->setCheckable(true);
    connect(m_showTable, &QAction::toggled, this, &ChartWidget::setTableShown);
    connect(m_copyTable, &QAction::triggered, this, &ChartWidget::copyTable);
    connect(m_saveTable, &QAction::triggered, this, &ChartWidget::saveTableRequested);
    connect(m_savePicture, &QAction::triggered, this, &ChartWidget::savePictureRequested);
    connect(m_plot, &Plot::painted, this, &ChartWidget::painted);
    retranslate();
}

ChartWidget::~ChartWidget() = default;

void ChartWidget::setEmptyReason(const QString &reason)
{
    if (reason == m_emptyReason)
        return;
    m_emptyReason = reason;
    restyle();
    redraw();
}

QString ChartWidget::emptyText() const { return m_emptyReason.isEmpty() ? tr("No estimate yet") : m_emptyReason; }

bool ChartWidget::isTableShown() const { return m_tableView && m_pages->currentWidget() == m_tableView; }

void ChartWidget::setTableShown(bool shown)
{
    if (shown && !m_tableView) {
        m_tableView = new QTableView(this);
        m_tableView->setModel(table());
        m_tableView->setAlternatingRowColors(true);
        m_tableView->verticalHeader()->hide();
        m_tableView->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
        m_tableView->setContextMenuPolicy(Qt::NoContextMenu);
        m_tableView->setAccessibleName(accessibleName());
        m_pages->addWidget(m_tableView);
    }
    m_pages->setCurrentWidget(shown ? static_cast<QWidget *>(m_tableView) : m_plot);
    setFocusProxy(shown ? m_tableView.data() : nullptr);
    m_showTable->setChecked(shown);
}

void ChartWidget::drawOn(ChartPainter &painter, QSize size) { m_plot->toPainter(&painter.d->painter, size.width(), size.height()); }

QImage ChartWidget::toImage(QSize size, double scale)
{
    QImage image(size * scale, QImage::Format_ARGB32_Premultiplied);
    image.fill(m_theme.background);
    ChartPainter painter(&image);
    painter.painter().scale(scale, scale);
    drawOn(painter, size);
    return image;
}

QByteArray ChartWidget::toSvg(QSize size)
{
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    QSvgGenerator generator;
    generator.setOutputDevice(&buffer);
    generator.setSize(size);
    generator.setViewBox(QRect(QPoint(0, 0), size));
    generator.setTitle(accessibleName());
    generator.setDescription(accessibleDescription());
    {
        ChartPainter painter(&generator);
        drawOn(painter, size);
    }
    return bytes;
}

std::optional<Issue> ChartWidget::savePicture(const QString &file, QSize size)
{
    if (size.isEmpty())
        size = m_plot->size().expandedTo(QSize(640, 360));
    if (file.endsWith(QLatin1String(".svg"), Qt::CaseInsensitive))
        return writeFile(file, toSvg(size));
    if (!file.endsWith(QLatin1String(".png"), Qt::CaseInsensitive))
        return Issue{file.toStdString(), 0, {}, "is no picture's name that Headroom writes", "let the name end in .png or .svg"};
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    if (!toImage(size, 2.0).save(&buffer, "PNG"))
        return Issue{file.toStdString(), 0, {}, "cannot be written as PNG", "let the name end in .svg"};
    return writeFile(file, bytes);
}

QByteArray ChartWidget::tableCsv() const
{
    return tableText(*table(), Qt::UserRole, QLatin1Char(','), QLatin1String("\r\n"), true).toUtf8();
}

std::optional<Issue> ChartWidget::saveTable(const QString &file) const { return writeFile(file, tableCsv()); }

void ChartWidget::copyTable() const
{
    QGuiApplication::clipboard()->setText(tableText(*table(), Qt::DisplayRole, QLatin1Char('\t'), QLatin1String("\n"), false));
}

void ChartWidget::redraw()
{
    if (isVisible())
        m_plot->replot(QCustomPlot::rpQueuedReplot);
    else
        m_stale = true;
}

void ChartWidget::changeEvent(QEvent *event)
{
    QWidget::changeEvent(event);
    switch (event->type()) {
    case QEvent::LanguageChange: retranslate(); [[fallthrough]];
    case QEvent::PaletteChange:
    case QEvent::ApplicationPaletteChange:
    case QEvent::FontChange:
    case QEvent::ApplicationFontChange:
    case QEvent::StyleChange:
        m_theme = ChartTheme::from(palette(), font());
        restyle();
        redraw();
        break;
    default: break;
    }
}

void ChartWidget::contextMenuEvent(QContextMenuEvent *event) { m_menu->popup(event->globalPos()); }

void ChartWidget::showEvent(QShowEvent *event)
{
    QWidget::showEvent(event);
    if (m_stale)
        m_plot->replot(QCustomPlot::rpQueuedReplot);
    m_stale = false;
}

void ChartWidget::retranslate()
{
    m_showTable->setText(tr("Show as &table"));
    m_copyTable->setText(tr("&Copy table"));
    m_saveTable->setText(tr("&Save table (CSV)…"));
    m_savePicture->setText(tr("Save &picture (PNG, SVG)…"));
}

} // namespace headroom
