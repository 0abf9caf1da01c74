// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

#include <vector>

class QWidget;

namespace headroom {

/// A kind of file that can be written.
struct FileKind {
    QString label;  ///< "Report"
    QString ending; ///< ".pdf"
    /// What a name may end in and be left as it is; empty: `ending` alone.
    QString otherEnding = {};
};

/// Asks for the name of a file to write. `proposal`: folder and name. A name without the ending of one of the kinds gets
/// that of the kind chosen; before a file is replaced the person is asked. Empty: the person wants none.
QString askForFileToWrite(QWidget *parent, const QString &title, const QString &proposal, const std::vector<FileKind> &kinds);

} // namespace headroom
