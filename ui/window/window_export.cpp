// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/breakdown/breakdown_view.h"
#include "ui/document/plan_files.h"
#include "ui/export/exporter.h"
#include "ui/window/file_controller.h"
#include "ui/window/main_window.h"

#include <QDir>
#include <QFileDialog>
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
    if (!m_shown)
        return;
    const QString file = QFileDialog::getSaveFileName(this, tr("Export"), proposal(m_document, m_settings, QStringLiteral(".pdf")),
                                                      tr("Report (*.pdf);;Chart as picture (*.png);;Chart as drawing (*.svg)"));
    if (file.isEmpty())
        return;
    if (const auto issue = exportTo(file, m_shown, m_document.baseline(), m_display.unit())) {
        m_files->report(*issue);
        return;
    }
    m_settings.setLastFolder(QFileInfo(file).absolutePath());
    statusBar()->showMessage(tr("Wrote %1").arg(QDir::toNativeSeparators(file)), statusMs);
}

void MainWindow::exportBreakdown()
{
    if (!m_shown)
        return;
    const QString file = QFileDialog::getSaveFileName(this, tr("Export the breakdown"),
                                                      proposal(m_document, m_settings, QStringLiteral(".csv")), tr("Tables (*.csv)"));
    if (file.isEmpty())
        return;
    if (const auto issue = writeFile(file, m_breakdown->csv().toUtf8())) {
        m_files->report(*issue);
        return;
    }
    statusBar()->showMessage(tr("Wrote %1").arg(QDir::toNativeSeparators(file)), statusMs);
}

} // namespace headroom
