// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/timeline_table.h"

#include "ui/charts/phase_label.h"
#include "ui/display_settings.h"
#include "ui/palette.h"

namespace headroom {

TimelineTable::TimelineTable(const DisplaySettings *settings, QObject *parent)
    : QAbstractTableModel(parent)
    , m_settings(settings)
{}

void TimelineTable::setSamples(std::vector<TimelineSample> samples)
{
    beginResetModel();
    m_samples = std::move(samples);
    m_measured.clear();
    endResetModel();
}

void TimelineTable::setMeasured(std::vector<std::optional<OverlayPoint>> measured)
{
    if (measured.empty() && m_measured.empty())
        return;
    beginResetModel();
    m_measured = std::move(measured);
    endResetModel();
}

void TimelineTable::relabel()
{
    emit headerDataChanged(Qt::Horizontal, 0, columnCount() - 1);
    if (!m_samples.empty())
        emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
}

int TimelineTable::rowCount(const QModelIndex &parent) const { return parent.isValid() ? 0 : int(m_samples.size()); }

int TimelineTable::columnCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : m_measured.empty() ? MeasuredAllocated : ColumnCount;
}

QVariant TimelineTable::data(const QModelIndex &index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
        return {};
    const TimelineSample &sample = m_samples[std::size_t(index.row())];
    if (role == Qt::TextAlignmentRole)
        return int((index.column() == PhaseName ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    if (role != Qt::DisplayRole && role != Qt::UserRole)
        return {};
    const auto number = [&](Bytes bytes) {
        return role == Qt::UserRole ? QVariant(qlonglong(bytes.value)) : QVariant(m_settings->giga(bytes, 3));
    };
    switch (index.column()) {
    case Event: return sample.event;
    case PhaseName: return phaseLabel(sample.phase);
    case Layer: return sample.layer >= 0 ? QVariant(int(sample.layer)) : QVariant(QString());
    case Allocated: return number(sample.components.total());
    case Reserved: return number(sample.reserved);
    case MeasuredAllocated:
    case MeasuredReserved: {
        const std::size_t row = std::size_t(index.row());
        if (row >= m_measured.size() || !m_measured[row])
            return QString();
        return number(index.column() == MeasuredAllocated ? m_measured[row]->allocated : m_measured[row]->reserved);
    }
    default: return number(sample.components[allComponents[std::size_t(index.column() - FirstComponent)]]);
    }
}

QVariant TimelineTable::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || (role != Qt::DisplayRole && role != Qt::UserRole) || section < 0 || section >= columnCount())
        return {};
    const QString unit = role == Qt::UserRole ? tr("bytes") : m_settings->gigaName();
    switch (section) {
    case Event: return tr("Event");
    case PhaseName: return tr("Phase");
    case Layer: return tr("Layer");
    case Allocated: return tr("Allocated (%1)").arg(unit);
    case Reserved: return tr("Reserved (%1)").arg(unit);
    case MeasuredAllocated: return tr("Measured allocated (%1)").arg(unit);
    case MeasuredReserved: return tr("Measured reserved (%1)").arg(unit);
    default: return QStringLiteral("%1 (%2)").arg(componentLabel(allComponents[std::size_t(section - FirstComponent)]), unit);
    }
}

} // namespace headroom
