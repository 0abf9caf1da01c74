// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"
#include "ui/display_settings.h"

#include <QAbstractItemModel>

#include <vector>

namespace headroom {

/// The breakdown of a peak as a tree: component, group, kind of tensor, with the rule that puts it there and its source.
/// Rows that stay the same from one estimate to the next are updated in place, so that the view keeps what is expanded.
class BreakdownModel : public QAbstractItemModel
{
    Q_OBJECT
public:
    enum Column { Name, Size, Share, Count, Shape, Dtype, Rule, Source, ColumnCount };
    enum Role {
        ComponentRole = Qt::UserRole, ///< int of Component
        BytesRole,                    ///< qint64, exact
    };
    explicit BreakdownModel(DisplaySettings *display, QObject *parent = nullptr);

    /// Shares are of `peak`, the allocated bytes at the instant that the rows describe.
    void setRows(const std::vector<BreakdownRow> &rows, Bytes peak);
    /// Index of a component's row; invalid: none.
    QModelIndex componentIndex(Component component) const;
    /// First row below the component with this label; invalid: none.
    QModelIndex find(Component component, const QString &label) const;

    QModelIndex index(int row, int column, const QModelIndex &parent = {}) const override;
    QModelIndex parent(const QModelIndex &child) const override;
    int rowCount(const QModelIndex &parent = {}) const override;
    int columnCount(const QModelIndex &parent = {}) const override;
    QVariant data(const QModelIndex &index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    struct Node {
        BreakdownRow row; ///< children moved to nodes of their own
        int parent = -1;  ///< index in m_nodes; -1: top
        int position = 0; ///< among its siblings
        std::vector<int> children;
    };
    static void flatten(const BreakdownRow &row, int parent, int position, std::vector<Node> &nodes);
    static bool sameShape(const std::vector<Node> &a, const std::vector<Node> &b);
    const std::vector<int> &childrenOf(const QModelIndex &parent) const;
    void announceChange(const QModelIndex &parent);
    QString text(const BreakdownRow &row, int column) const;

    DisplaySettings *m_display;
    std::vector<Node> m_nodes; ///< depth first
    std::vector<int> m_top;
    Bytes m_peak;
};

} // namespace headroom
