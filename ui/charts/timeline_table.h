// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"
#include "core/measure/snapshot_overlay.h"

#include <QAbstractTableModel>

#include <optional>
#include <vector>

namespace headroom {

class DisplaySettings;

/// The samples that a timeline shows. Qt::UserRole gives plain bytes.
class TimelineTable : public QAbstractTableModel
{
    Q_OBJECT
public:
    /// The components follow Reserved in their order; the last two are there with a snapshot only.
    enum Column {
        Event,
        PhaseName,
        Layer,
        Allocated,
        Reserved,
        FirstComponent,
        MeasuredAllocated = FirstComponent + int(componentCount),
        MeasuredReserved,
        ColumnCount
    };

    explicit TimelineTable(const DisplaySettings *settings, QObject *parent = nullptr);

    void setSamples(std::vector<TimelineSample> samples);
    /// What a snapshot has at each sample; empty: there is no snapshot.
    void setMeasured(std::vector<std::optional<OverlayPoint>> measured);
    void relabel();

    int rowCount(const QModelIndex &parent = {}) const override;
    int columnCount(const QModelIndex &parent = {}) const override;
    QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    const DisplaySettings *m_settings;
    std::vector<TimelineSample> m_samples;
    std::vector<std::optional<OverlayPoint>> m_measured;
};

} // namespace headroom
