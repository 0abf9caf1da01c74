// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QModelIndex>
#include <QString>

class QAbstractItemModel;

namespace headroom {

/// A tree or table as CSV (RFC 4180, CRLF): a column "Level" (0: top), the model's columns as displayed, and the exact
/// bytes. Every row, whether its parent is expanded or not.
QString tableAsCsv(const QAbstractItemModel &model, int bytesRole);

/// Rows as lines of cells with tabs between them, for the clipboard. `rows`: one index a row, any column.
QString rowsAsText(const QModelIndexList &rows);

} // namespace headroom
