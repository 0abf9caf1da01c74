// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/charts/memory_stack.h"

#include <QAbstractTableModel>

#include <array>
#include <span>
#include <vector>

namespace headroom {

class DisplaySettings;

/// The figures of a memory chart: for each GPU the five components, allocated, cache, reserved, outside PyTorch, device,
/// capacity and what is to spare. Qt::UserRole gives plain bytes.
class MemoryTable : public QAbstractTableModel
{
    Q_OBJECT
public:
    enum Column { Gpu, Part, Size, Baseline, Difference, ColumnCount };

    explicit MemoryTable(const DisplaySettings *settings, QObject *parent = nullptr);

    void setBars(const std::vector<MemoryBar> &bars);
    /// Unit or language is another one.
    void relabel();

    int rowCount(const QModelIndex &parent = {}) const override;
    int columnCount(const QModelIndex &parent = {}) const override;
    QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    struct Row {
        std::size_t bar = 0;
        int part = 0;
        Bytes size;
        std::optional<Bytes> baseline;
    };
    QString partLabel(int part) const;

    const DisplaySettings *m_settings;
    std::vector<MemoryBar> m_bars;
    std::vector<Row> m_rows;
};

} // namespace headroom
