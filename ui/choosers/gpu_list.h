// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/display_settings.h"

#include <QAbstractListModel>

#include <string>
#include <vector>

namespace headroom {

/// The catalogue of GPUs with a tick for each that the plan names. Ticking asks; the plan answers through setChosen().
class GpuList : public QAbstractListModel
{
    Q_OBJECT
public:
    enum Role {
        IdRole = Qt::UserRole,
        SearchRole,   ///< title, vendor, architecture
        CapacityRole, ///< "23.99 GiB"
        OrderRole,    ///< chosen when the list was last arranged first, then the catalogue's order
    };
    explicit GpuList(DisplaySettings *display, QObject *parent = nullptr);

    int rowCount(const QModelIndex &parent = {}) const override;
    QVariant data(const QModelIndex &index, int role) const override;
    bool setData(const QModelIndex &index, const QVariant &value, int role) override;
    Qt::ItemFlags flags(const QModelIndex &index) const override;

    const std::vector<std::string> &chosen() const { return m_chosen; }
    void setChosen(const std::vector<std::string> &ids);
    /// Moves the chosen ones to the front of OrderRole.
    void arrange();

signals:
    /// The user wants these, in this order: the first decides the compute capability.
    void chosenEdited(const std::vector<std::string> &ids);

private:
    DisplaySettings *m_display;
    std::vector<std::string> m_chosen;
    std::vector<int> m_order; ///< per row
};

} // namespace headroom
