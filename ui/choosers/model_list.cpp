// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/choosers/model_list.h"

#include "core/model/catalogue.h"

#include <algorithm>

namespace headroom {

ModelList::ModelList(QObject *parent)
    : QAbstractListModel(parent)
{}

int ModelList::rowCount(const QModelIndex &parent) const { return parent.isValid() ? 0 : static_cast<int>(modelPresets().size()); }

QVariant ModelList::data(const QModelIndex &index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
        return {};
    const ModelPreset &preset = modelPresets()[static_cast<std::size_t>(index.row())];
    const QString id = QString::fromStdString(preset.id);
    const QString count = preset.parameters > 0 ? tr("%1 parameters").arg(shortCount(preset.parameters)) : QString();
    switch (role) {
    case Qt::DisplayRole:
    case Qt::EditRole:
    case IdRole: return id;
    case SearchRole: return QString(id + QLatin1Char(' ') + QString::fromStdString(preset.family));
    case DetailRole: return preset.supported ? count : tr("not yet supported");
    case OrderRole: return preset.supported ? index.row() : index.row() + rowCount();
    case Qt::ToolTipRole:
    case Qt::AccessibleDescriptionRole:
        return preset.supported ? tr("%1, %2").arg(QString::fromStdString(preset.family), count)
                                : tr("Not yet supported: %1").arg(QString::fromStdString(preset.unsupportedReason));
    default: return {};
    }
}

Qt::ItemFlags ModelList::flags(const QModelIndex &index) const
{
    if (!index.isValid())
        return Qt::NoItemFlags;
    const bool supported = modelPresets()[static_cast<std::size_t>(index.row())].supported;
    return Qt::ItemNeverHasChildren | (supported ? Qt::ItemIsEnabled | Qt::ItemIsSelectable : Qt::NoItemFlags);
}

WordFilter::WordFilter(int role, QObject *parent)
    : QSortFilterProxyModel(parent)
    , m_role(role)
{}

void WordFilter::setSearch(const QString &text)
{
    m_words = text.split(QLatin1Char(' '), Qt::SkipEmptyParts);
    invalidateFilter();
}

bool WordFilter::filterAcceptsRow(int row, const QModelIndex &parent) const
{
    const QString text = sourceModel()->index(row, 0, parent).data(m_role).toString();
    return std::all_of(m_words.begin(), m_words.end(), [&](const QString &word) { return text.contains(word, Qt::CaseInsensitive); });
}

QString shortCount(qint64 count)
{
    const double value = static_cast<double>(count);
    const auto threeDigits = [](double number) { return QString::number(number, 'f', number < 10 ? 2 : (number < 100 ? 1 : 0)); };
    if (value >= 1e12)
        return threeDigits(value / 1e12) + QLatin1String(" T");
    if (value >= 1e9)
        return threeDigits(value / 1e9) + QLatin1String(" B");
    if (value >= 1e6)
        return threeDigits(value / 1e6) + QLatin1String(" M");
    return QString::number(count);
}

} // namespace headroom
