// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/choosers/gpu_list.h"

#include "core/hardware/gpu.h"

#include <algorithm>

namespace headroom {

GpuList::GpuList(DisplaySettings *display, QObject *parent)
    : QAbstractListModel(parent)
    , m_display(display)
{
    arrange();
    connect(display, &DisplaySettings::changed, this, [this] { emit dataChanged(index(0), index(rowCount() - 1)); });
}

int GpuList::rowCount(const QModelIndex &parent) const { return parent.isValid() ? 0 : static_cast<int>(gpus().size()); }

QVariant GpuList::data(const QModelIndex &index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
        return {};
    const Gpu &gpu = gpus()[static_cast<std::size_t>(index.row())];
    const QString title = QString::fromStdString(gpu.title());
    const QString capacity = m_display->bytes(gpu.capacity);
    switch (role) {
    case Qt::DisplayRole: return title;
    case Qt::CheckStateRole:
        return static_cast<int>(std::find(m_chosen.begin(), m_chosen.end(), gpu.id) != m_chosen.end() ? Qt::Checked : Qt::Unchecked);
    case Qt::ToolTipRole:
    case Qt::AccessibleDescriptionRole:
        return tr("%1 %2, %3, usable memory %4")
            .arg(QString::fromStdString(gpu.vendor), title, QString::fromStdString(gpu.architecture), capacity);
    case IdRole: return QString::fromStdString(gpu.id);
    case SearchRole:
        return QStringList{title, QString::fromStdString(gpu.vendor), QString::fromStdString(gpu.architecture),
                           QString::fromStdString(gpu.id)}
            .join(QLatin1Char(' '));
    case CapacityRole: return capacity;
    case OrderRole: return m_order.at(static_cast<std::size_t>(index.row()));
    default: return {};
    }
}

bool GpuList::setData(const QModelIndex &index, const QVariant &value, int role)
{
    if (role != Qt::CheckStateRole || !checkIndex(index, CheckIndexOption::IndexIsValid))
        return false;
    const std::string &id = gpus()[static_cast<std::size_t>(index.row())].id;
    std::vector<std::string> wanted = m_chosen;
    wanted.erase(std::remove(wanted.begin(), wanted.end(), id), wanted.end());
    if (value.toInt() == Qt::Checked)
        wanted.push_back(id);
    if (wanted == m_chosen)
        return false;
    emit chosenEdited(wanted);
    return true;
}

Qt::ItemFlags GpuList::flags(const QModelIndex &index) const
{
    if (!index.isValid())
        return Qt::NoItemFlags;
    return Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable | Qt::ItemNeverHasChildren;
}

void GpuList::setChosen(const std::vector<std::string> &ids)
{
    if (ids == m_chosen)
        return;
    m_chosen = ids;
    emit dataChanged(index(0), index(rowCount() - 1), {Qt::CheckStateRole});
}

void GpuList::arrange()
{
    const int rows = rowCount();
    m_order.resize(static_cast<std::size_t>(rows));
    for (int row = 0; row < rows; ++row) {
        const std::string &id = gpus()[static_cast<std::size_t>(row)].id;
        const auto found = std::find(m_chosen.begin(), m_chosen.end(), id);
        m_order[static_cast<std::size_t>(row)] = found == m_chosen.end() ? rows + row : static_cast<int>(found - m_chosen.begin());
    }
    emit dataChanged(index(0), index(rows - 1), {OrderRole});
}

} // namespace headroom
