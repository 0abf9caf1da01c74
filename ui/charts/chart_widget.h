// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/units/result.h"
#include "ui/charts/chart_theme.h"

#include <QImage>
#include <QPointer>
#include <QWidget>

#include <memory>
#include <optional>

class QAbstractTableModel;
class QAction;
class QMenu;
class QPaintDevice;
class QPainter;
class QStackedLayout;
class QTableView;

namespace headroom {

class DisplaySettings;
class Highlight;
class Plot;

/// A painter that charts can draw on, for printing several things on one device. Everything a QPainter can do is at
/// painter(); ends with its life.
class ChartPainter
{
public:
    explicit ChartPainter(QPaintDevice *device);
    ~ChartPainter();
    ChartPainter(const ChartPainter &) = delete;
    ChartPainter &operator=(const ChartPainter &) = delete;

    QPainter &painter();

private:
    friend class ChartWidget;
    class Private;
    std::unique_ptr<Private> d;
};

/// A font for paper and files: no hints (letters stand where the font wants them at any scale) and no ligatures, whose
/// single glyphs keep words like "fit" from being found in a PDF.
QFont paperFont(QFont font, int pixelSize);

/// What all charts have in common: a plot that follows palette, font and language; the table of its numbers behind it,
/// which can be shown in its place (a screen reader reads a table, not a picture), copied and saved; pictures of it.
class ChartWidget : public QWidget
{
    Q_OBJECT
public:
    ~ChartWidget() override;

    /// The numbers that the chart shows, in its unit; headings carry the unit.
    virtual QAbstractTableModel *table() const = 0;

    /// Why there is nothing to show, said in the chart's place; empty: there is no estimate yet.
    void setEmptyReason(const QString &reason);

    bool isTableShown() const;
    /// Shows the table in the chart's place, or the chart again.
    void setTableShown(bool shown);

    /// Draws the chart as vector graphics with its top left corner at the painter's origin.
    void drawOn(ChartPainter &painter, QSize size);
    /// As it would look at this size; `scale` pixels a unit.
    QImage toImage(QSize size, double scale = 1.0);
    QByteArray toSvg(QSize size);
    /// Writes .png or .svg, by the file's ending, atomically.
    std::optional<Issue> savePicture(const QString &file, QSize size = {});
    /// RFC 4180, full precision (bytes).
    QByteArray tableCsv() const;
    std::optional<Issue> saveTable(const QString &file) const;

    /// The chart's own menu; what the context menu shows. Windows may put it into theirs.
    QMenu *menu() const { return m_menu; }
    /// The action that shows the table in the chart's place; a window may give it a shortcut.
    QAction *showTableAction() const { return m_showTable; }

public slots:
    /// The table as tab-separated text on the clipboard, with its headings.
    void copyTable() const;

signals:
    /// The person wants the table or a picture in a file: for whoever knows where files go to ask for its name.
    void saveTableRequested();
    void savePictureRequested();
    /// The chart has been drawn on the screen after a change.
    void painted();

protected:
    ChartWidget(DisplaySettings *settings, Highlight *highlight, QWidget *parent);

    /// Takes over theme(): called on construction by the heir and whenever palette, font or language change.
    virtual void restyle() = 0;
    /// Asks for one redraw at the next turn of the event loop, however often called.
    void redraw();

    /// What to write where there is nothing to draw.
    QString emptyText() const;
    const ChartTheme &theme() const { return m_theme; }
    Plot *plot() const { return m_plot; }
    const DisplaySettings &settings() const { return *m_settings; }
    Highlight *highlight() const { return m_highlight; }

    void changeEvent(QEvent *event) override;
    void contextMenuEvent(QContextMenuEvent *event) override;
    void showEvent(QShowEvent *event) override;

private:
    void retranslate();

    DisplaySettings *m_settings;
    Highlight *m_highlight;
    ChartTheme m_theme;
    Plot *m_plot;
    QStackedLayout *m_pages;
    QPointer<QTableView> m_tableView; ///< made when first asked for
    QMenu *m_menu;
    QAction *m_showTable, *m_copyTable, *m_saveTable, *m_savePicture;
    QString m_emptyReason;
    bool m_stale = false; ///< changed while hidden
};

} // namespace headroom
