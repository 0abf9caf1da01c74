// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/measure/comparison.h"
#include "ui/display_settings.h"

#include <QAbstractItemModel>

#include <vector>

namespace headroom {

/// Prediction and measurement side by side: groups (between steps, first step, ...), below each its figures.
class ComparisonModel : public QAbstractItemModel
{
    Q_OBJECT
public:
    enum Column { Figure, Predicted, Measured, Difference, Error, ColumnCount };
    enum Role {
        BytesRole = Qt::UserRole, ///< qint64, exact: the predicted, measured or difference of the column
        FigureRole,               ///< "peak.allocated"; empty for groups
    };
    explicit ComparisonModel(DisplaySettings *display, QObject *parent = nullptr);

    void setComparison(const Comparison &comparison);
    /// The row of a figure; invalid: none.
    QModelIndex find(const std::string &figure) const;

    QModelIndex index(int row, int column, const QModelIndex &parent = {}) const override;
    QModelIndex parent(const QModelIndex &child) const override;
    int rowCount(const QModelIndex &parent = {}) const override;
    int columnCount(const QModelIndex &parent = {}) const override;
    QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    struct Group {
        ComparisonGroup kind = ComparisonGroup::Steady;
        std::vector<ComparisonRow> rows;
    };
    QString amount(const ComparisonRow &row, std::int64_t value) const;

    DisplaySettings *m_display;
    std::vector<Group> m_groups;
};

} // namespace headroom
