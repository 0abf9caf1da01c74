// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/file_dialogs.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>

#include <algorithm>

namespace headroom {
namespace {

struct FileDialogs {
    Q_DECLARE_TR_FUNCTIONS(headroom::FileDialogs)
};

QString filterOf(const FileKind &kind) { return QStringLiteral("%1 (*%2)").arg(kind.label, kind.ending); }

bool endsIn(const QString &file, const FileKind &kind)
{
    const auto is = [&](const QString &ending) { return !ending.isEmpty() && file.endsWith(ending, Qt::CaseInsensitive); };
    return is(kind.ending) || is(kind.otherEnding);
}

/// The dialog asks this only of the name as it was typed.
bool mayReplace(QWidget *parent, const QString &title, const QString &file)
{
    return !QFileInfo(file).isFile() ||
           QMessageBox::question(parent, title,
                                 FileDialogs::tr("%1 exists already. Do you want to replace it?").arg(QDir::toNativeSeparators(file))) ==
               QMessageBox::Yes;
}

} // namespace

QString askForFileToWrite(QWidget *parent, const QString &title, const QString &proposal, const std::vector<FileKind> &kinds)
{
    QStringList filters;
    for (const FileKind &kind : kinds)
        filters << filterOf(kind);
    QString chosen;
    QString file = QFileDialog::getSaveFileName(parent, title, proposal, filters.join(QLatin1String(";;")), &chosen);
    if (file.isEmpty() || std::any_of(kinds.begin(), kinds.end(), [&](const FileKind &kind) { return endsIn(file, kind); }))
        return file;
    const auto kind = std::max<qsizetype>(0, filters.indexOf(chosen));
    file += kinds[static_cast<std::size_t>(kind)].ending;
    return mayReplace(parent, title, file) ? file : QString();
}

} // namespace headroom
