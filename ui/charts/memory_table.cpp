// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/memory_table.h"

#include "ui/display_settings.h"
#include "ui/palette.h"

namespace headroom {
namespace {

enum Part { FirstComponent = 0, Allocated = int(componentCount), Cache, Reserved, Outside, Device, Capacity, Spare, PartCount };

Bytes partOf(const MemoryStack &stack, std::optional<Bytes> capacity, int part)
{
    switch (part) {
    case Allocated: return stack.allocated();
    case Cache: return stack.cache;
    case Reserved: return stack.reserved();
    case Outside: return stack.outside;
    case Device: return stack.device();
    case Capacity: return capacity.value_or(Bytes{});
    case Spare: return capacity.value_or(Bytes{}) - stack.device();
    default: return stack.components[allComponents[std::size_t(part)]];
    }
}

} // namespace

MemoryTable::MemoryTable(const DisplaySettings *settings, QObject *parent)
    : QAbstractTableModel(parent)
    , m_settings(settings)
{}

void MemoryTable::setBars(const std::vector<MemoryBar> &bars)
{
    std::vector<Row> rows;
    for (std::size_t i = 0; i < bars.size(); ++i) {
        for (int part = 0; part < PartCount; ++part) {
            if (part >= Capacity && !bars[i].capacity)
                continue;
            Row row{i, part, partOf(bars[i].stack, bars[i].capacity, part), std::nullopt};
            if (bars[i].baseline && part != Capacity)
                row.baseline = partOf(*bars[i].baseline, bars[i].capacity, part);
            rows.push_back(row);
        }
    }
    // Same rows: new figures only, so that a view keeps its place while a slider moves.
    const bool isSameShape = rows.size() == m_rows.size();
    if (!isSameShape)
        beginResetModel();
    m_bars = bars;
    m_rows = std::move(rows);
    if (!isSameShape)
        endResetModel();
    else if (!m_rows.empty())
        emit dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
}

void MemoryTable::relabel()
{
    emit headerDataChanged(Qt::Horizontal, 0, ColumnCount - 1);
    if (!m_rows.empty())
        emit dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
}

int MemoryTable::rowCount(const QModelIndex &parent) const { return parent.isValid() ? 0 : int(m_rows.size()); }

int MemoryTable::columnCount(const QModelIndex &parent) const { return parent.isValid() ? 0 : ColumnCount; }

QString MemoryTable::partLabel(int part) const
{
    switch (part) {
    case Allocated: return tr("Allocated");
    case Cache: return tr("Cache");
    case Reserved: return tr("Reserved");
    case Outside: return tr("Outside PyTorch");
    case Device: return tr("Device");
    case Capacity: return tr("Capacity");
    case Spare: return tr("To spare");
    default: return componentLabel(allComponents[std::size_t(part)]);
    }
}

QVariant MemoryTable::data(const QModelIndex &index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
        return {};
    const Row &row = m_rows[std::size_t(index.row())];
    if (role == Qt::TextAlignmentRole)
        return int((index.column() >= Size ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    if (role != Qt::DisplayRole && role != Qt::UserRole)
        return {};
    const auto number = [&](Bytes bytes) {
        return role == Qt::UserRole ? QVariant(qlonglong(bytes.value)) : QVariant(m_settings->giga(bytes, 3));
    };
    switch (index.column()) {
    case Gpu: return m_bars[row.bar].capacity ? QString::fromStdString(m_bars[row.bar].title) : tr("No GPU selected");
    case Part: return partLabel(row.part);
    case Size: return number(row.size);
    case Baseline: return row.baseline ? number(*row.baseline) : QVariant();
    case Difference: return row.baseline ? number(row.size - *row.baseline) : QVariant();
    default: return {};
    }
}

QVariant MemoryTable::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || (role != Qt::DisplayRole && role != Qt::UserRole))
        return {};
    const QString unit = role == Qt::UserRole ? tr("bytes") : m_settings->gigaName();
    switch (section) {
    case Gpu: return tr("GPU");
    case Part: return tr("Part");
    case Size: return tr("Size (%1)").arg(unit);
    case Baseline: return tr("Baseline (%1)").arg(unit);
    case Difference: return tr("Difference (%1)").arg(unit);
    default: return {};
    }
}

} // namespace headroom
