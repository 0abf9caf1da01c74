// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/breakdown/table_text.h"

#include "core/report/report.h"

#include <QAbstractItemModel>
#include <QStringList>

namespace headroom {
namespace {

QString csvCell(const QString &text) { return QString::fromStdString(csvField(text.toStdString())); }

void addRows(const QAbstractItemModel &model, int bytesRole, const QModelIndex &parent, int level, QString &csv)
{
    for (int row = 0; row < model.rowCount(parent); ++row) {
        const QModelIndex first = model.index(row, 0, parent);
        QStringList cells{QString::number(level)};
        for (int column = 0; column < model.columnCount(parent); ++column)
            cells << csvCell(first.siblingAtColumn(column).data().toString());
        cells << QString::number(first.data(bytesRole).toLongLong());
        csv += cells.join(QLatin1Char(',')) + QLatin1String("\r\n");
        addRows(model, bytesRole, first, level + 1, csv);
    }
}

} // namespace

QString tableAsCsv(const QAbstractItemModel &model, int bytesRole)
{
    QStringList headings{QStringLiteral("Level")};
    for (int column = 0; column < model.columnCount(); ++column)
        headings << csvCell(model.headerData(column, Qt::Horizontal).toString());
    headings << QStringLiteral("Bytes");
    QString csv = headings.join(QLatin1Char(',')) + QLatin1String("\r\n");
    addRows(model, bytesRole, {}, 0, csv);
    return csv;
}

QString rowsAsText(const QModelIndexList &rows)
{
    QStringList lines;
    for (const QModelIndex &row : rows) {
        QStringList cells;
        for (int column = 0; column < row.model()->columnCount(row.parent()); ++column)
            cells << row.siblingAtColumn(column).data().toString();
        lines << cells.join(QLatin1Char('\t'));
    }
    return lines.join(QLatin1Char('\n'));
}

} // namespace headroom
