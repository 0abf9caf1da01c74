// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/measured/comparison_model.h"

#include "core/units/bytes.h"

#include <QFont>

#include <algorithm>

namespace headroom {
namespace {

QString groupTitle(ComparisonGroup group)
{
    switch (group) {
    case ComparisonGroup::Parameters: return ComparisonModel::tr("Parameters");
    case ComparisonGroup::Steady: return ComparisonModel::tr("Between steps");
    case ComparisonGroup::Activations: return ComparisonModel::tr("Saved for backward");
    case ComparisonGroup::FirstStep: return ComparisonModel::tr("First step");
    case ComparisonGroup::LaterSteps: return ComparisonModel::tr("Later steps");
    }
    return {};
}

/// What people look for first.
int placeOf(ComparisonGroup group)
{
    switch (group) {
    case ComparisonGroup::LaterSteps: return 0;
    case ComparisonGroup::FirstStep: return 1;
    case ComparisonGroup::Steady: return 2;
    case ComparisonGroup::Activations: return 3;
    case ComparisonGroup::Parameters: return 4;
    }
    return 5;
}

} // namespace

ComparisonModel::ComparisonModel(DisplaySettings *display, QObject *parent)
    : QAbstractItemModel(parent)
    , m_display(display)
{
    connect(display, &DisplaySettings::changed, this, [this] {
        for (int group = 0; group < rowCount(); ++group) {
            const QModelIndex at = index(group, 0);
            emit dataChanged(index(0, 0, at), index(rowCount(at) - 1, ColumnCount - 1, at));
        }
    });
}

void ComparisonModel::setComparison(const Comparison &comparison)
{
    std::vector<Group> groups;
    for (const ComparisonRow &row : comparison.rows) {
        auto at = std::find_if(groups.begin(), groups.end(), [&](const Group &group) { return group.kind == row.group; });
        if (at == groups.end())
            at = groups.insert(groups.end(), {row.group, {}});
        at->rows.push_back(row);
    }
    std::stable_sort(groups.begin(), groups.end(), [](const Group &a, const Group &b) { return placeOf(a.kind) < placeOf(b.kind); });
    // Same rows: new figures only, so that the view keeps its place while a slider moves.
    const bool sameShape = std::equal(groups.begin(), groups.end(), m_groups.begin(), m_groups.end(), [](const Group &a, const Group &b) {
        return a.kind == b.kind && std::equal(a.rows.begin(), a.rows.end(), b.rows.begin(), b.rows.end(),
                                              [](const ComparisonRow &x, const ComparisonRow &y) { return x.figure == y.figure; });
    });
    if (!sameShape)
        beginResetModel();
    m_groups = std::move(groups);
    if (!sameShape) {
        endResetModel();
        return;
    }
    for (int group = 0; group < rowCount(); ++group) {
        const QModelIndex at = index(group, 0);
        emit dataChanged(index(0, 0, at), index(rowCount(at) - 1, ColumnCount - 1, at));
    }
}

QModelIndex ComparisonModel::find(const std::string &figure) const
{
    for (int group = 0; group < rowCount(); ++group) {
        const auto &rows = m_groups[static_cast<std::size_t>(group)].rows;
        for (std::size_t row = 0; row < rows.size(); ++row)
            if (rows[row].figure == figure)
                return index(static_cast<int>(row), 0, index(group, 0));
    }
    return {};
}

// A row of a group carries the group's number and one in its id; a group carries 0.
QModelIndex ComparisonModel::index(int row, int column, const QModelIndex &parent) const
{
    if (!hasIndex(row, column, parent))
        return {};
    return createIndex(row, column, parent.isValid() ? static_cast<quintptr>(parent.row()) + 1 : 0);
}

QModelIndex ComparisonModel::parent(const QModelIndex &child) const
{
    if (!child.isValid() || child.internalId() == 0)
        return {};
    return createIndex(static_cast<int>(child.internalId()) - 1, 0, quintptr{0});
}

int ComparisonModel::rowCount(const QModelIndex &parent) const
{
    if (!parent.isValid())
        return static_cast<int>(m_groups.size());
    if (parent.internalId() != 0 || parent.column() != 0)
        return 0;
    return static_cast<int>(m_groups[static_cast<std::size_t>(parent.row())].rows.size());
}

int ComparisonModel::columnCount(const QModelIndex &) const { return ColumnCount; }

QString ComparisonModel::amount(const ComparisonRow &row, std::int64_t value) const
{
    return row.count ? QString::fromStdString(formatCount(value)) : m_display->bytes({value});
}

QVariant ComparisonModel::data(const QModelIndex &index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    if (role == Qt::TextAlignmentRole)
        return int((index.column() == Figure ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    if (index.internalId() == 0) {
        if (role == Qt::FontRole) {
            QFont font;
            font.setBold(true);
            return font;
        }
        return role == Qt::DisplayRole && index.column() == Figure
                   ? QVariant(groupTitle(m_groups[static_cast<std::size_t>(index.row())].kind))
                   : QVariant();
    }
    const ComparisonRow &row = m_groups[static_cast<std::size_t>(index.internalId()) - 1].rows[static_cast<std::size_t>(index.row())];
    if (role == FigureRole)
        return QString::fromStdString(row.figure);
    if (role == Qt::FontRole && row.total) {
        QFont font;
        font.setBold(true);
        return font;
    }
    if (role == Qt::ToolTipRole)
        return tr("%1: predicted %2, measured %3").arg(QString::fromStdString(row.figure)).arg(row.predicted).arg(row.measured);
    const std::int64_t difference = row.predicted - row.measured;
    if (role == BytesRole)
        return qlonglong(index.column() == Measured ? row.measured : index.column() == Difference ? difference : row.predicted);
    if (role != Qt::DisplayRole)
        return {};
    switch (index.column()) {
    case Figure: return QString::fromStdString(row.label);
    case Predicted: return amount(row, row.predicted);
    case Measured: return amount(row, row.measured);
    case Difference: return difference > 0 ? QLatin1Char('+') + amount(row, difference) : amount(row, difference);
    case Error: return QString::fromStdString(formatError(row.error));
    default: return {};
    }
}

QVariant ComparisonModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::TextAlignmentRole)
        return int((section == Figure ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    if (role == Qt::ToolTipRole && section == Error)
        return tr("Predicted minus measured, as a share of measured");
    if (role != Qt::DisplayRole)
        return {};
    switch (section) {
    case Figure: return tr("Figure");
    case Predicted: return tr("Predicted");
    case Measured: return tr("Measured");
    case Difference: return tr("Difference");
    case Error: return tr("Error");
    default: return {};
    }
}

} // namespace headroom
