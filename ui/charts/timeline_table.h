// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"

#include <QAbstractTableModel>

#include <vector>

namespace headroom {

class DisplaySettings;

/// The samples that a timeline shows. Qt::UserRole gives plain bytes.
class TimelineTable : public QAbstractTableModel
{
    Q_OBJECT
public:
    /// The components follow Reserved in their order.
    enum Column { Event, PhaseName, Layer, Allocated, Reserved, FirstComponent, ColumnCount = FirstComponent + int(componentCount) };

    explicit TimelineTable(const DisplaySettings *settings, QObject *parent = nullptr);

    void setSamples(std::vector<TimelineSample> samples);
    void relabel();

    int rowCount(const QModelIndex &parent = {}) const override;
    int columnCount(const QModelIndex &parent = {}) const override;
    QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    const DisplaySettings *m_settings;
    std::vector<TimelineSample> m_samples;
};

} // namespace headroom
