// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/breakdown/breakdown_view.h"
#include "ui/charts/chart_widget.h"
#include "ui/document/plan_files.h"
#include "ui/export/exporter.h"
#include "ui/window/file_controller.h"
#include "ui/window/file_dialogs.h"
#include "ui/window/main_window.h"

#include <QDir>
#include <QFileInfo>
#include <QStatusBar>

namespace headroom {
namespace {

constexpr int statusMs = 6000;

/// The plan's file, or its name as a file name, with another ending.
QString proposal(const PlanDocument &document, const Settings &settings, const QString &ending)
{
    QString name = document.file().isEmpty() ? QString::fromStdString(document.plan().name) : QFileInfo(document.file()).fileName();
    name.remove(QStringLiteral(".headroom.json"));
    for (QChar &c : name)
        if (c == QLatin1Char('/') || c == QLatin1Char('\\'))
            c = QLatin1Char('-');
    return QDir(settings.lastFolder()).filePath((name.isEmpty() ? QStringLiteral("headroom") : name) + ending);
}

} // namespace

void MainWindow::exportReport()
{
    writeShown(tr("Export"),
               {{tr("Report"), QStringLiteral(".pdf")},
                {tr("Chart as picture"), QStringLiteral(".png")},
                {tr("Chart as drawing"), QStringLiteral(".svg")}},
               [this](const QString &file) {
                   return exportTo(file, m_shown, m_document.baseline(), m_display.unit(),
                                   isReport(file) ? measuredRuns() : std::vector<MeasuredRun>{});
               });
}

void MainWindow::exportBreakdown()
{
    writeShown(tr("Export the breakdown"), {{tr("Tables"), QStringLiteral(".csv")}},
               [this](const QString &file) { return writeFile(file, m_breakdown->csv().toUtf8()); });
}

void MainWindow::savePictureOf(ChartWidget *chart)
{
    writeShown(tr("Save picture"), {{tr("PNG picture"), QStringLiteral(".png")}, {tr("SVG drawing"), QStringLiteral(".svg")}},
               [chart](const QString &file) { return chart->savePicture(file); });
}

void MainWindow::saveTableOf(ChartWidget *chart)
{
    writeShown(tr("Save table"), {{tr("Tables"), QStringLiteral(".csv")}}, [chart](const QString &file) { return chart->saveTable(file); });
}

void MainWindow::writeShown(const QString &title, const std::vector<FileKind> &kinds,
                            const std::function<std::optional<Issue>(const QString &)> &write)
{
    commitEdits();
    whenShown([=, this] {
        const QString file = askForFileToWrite(this, title, proposal(m_document, m_settings, kinds.front().ending), kinds);
        if (file.isEmpty())
            return;
        if (const auto issue = write(file)) {
            m_files->report(*issue);
            return;
        }
        m_settings.setLastFolder(QFileInfo(file).absolutePath());
        statusBar()->showMessage(tr("Wrote %1").arg(QDir::toNativeSeparators(file)), statusMs);
    });
}

} // namespace headroom
