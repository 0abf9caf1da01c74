// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/breakdown/breakdown_model.h"

#include "ui/palette.h"

#include <QLocale>
#include <QPixmap>

#include <algorithm>
#include <utility>

namespace headroom {
namespace {

constexpr int swatchPixels = 10;

bool isNumeric(int column) { return column == BreakdownModel::Size || column == BreakdownModel::Share || column == BreakdownModel::Count; }

} // namespace

BreakdownModel::BreakdownModel(DisplaySettings *display, QObject *parent)
    : QAbstractItemModel(parent)
    , m_display(display)
{
    connect(display, &DisplaySettings::changed, this, [this] {
        announceChange({});
        emit headerDataChanged(Qt::Horizontal, 0, ColumnCount - 1);
    });
}

void BreakdownModel::flatten(const BreakdownRow &row, int parent, int position, std::vector<Node> &nodes)
{
    const int self = static_cast<int>(nodes.size());
    nodes.push_back({row, parent, position, {}});
    nodes.back().row.children.clear();
    if (parent >= 0)
        nodes[static_cast<std::size_t>(parent)].children.push_back(self);
    for (int i = 0; i < static_cast<int>(row.children.size()); ++i)
        flatten(row.children[static_cast<std::size_t>(i)], self, i, nodes);
}

bool BreakdownModel::sameShape(const std::vector<Node> &a, const std::vector<Node> &b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Node &x, const Node &y) {
        return x.parent == y.parent && x.row.component == y.row.component && x.row.label == y.row.label;
    });
}

void BreakdownModel::setRows(const std::vector<BreakdownRow> &rows, Bytes peak)
{
    std::vector<Node> nodes;
    std::vector<int> top;
    for (int i = 0; i < static_cast<int>(rows.size()); ++i) {
        top.push_back(static_cast<int>(nodes.size()));
        flatten(rows[static_cast<std::size_t>(i)], -1, i, nodes);
    }
    m_peak = peak;
    if (sameShape(nodes, m_nodes)) {
        m_nodes = std::move(nodes);
        announceChange({});
        return;
    }
    beginResetModel();
    m_nodes = std::move(nodes);
    m_top = std::move(top);
    endResetModel();
}

void BreakdownModel::announceChange(const QModelIndex &parent)
{
    const int rows = rowCount(parent);
    if (rows == 0)
        return;
    emit dataChanged(index(0, 0, parent), index(rows - 1, ColumnCount - 1, parent));
    for (int row = 0; row < rows; ++row)
        announceChange(index(row, 0, parent));
}

QModelIndex BreakdownModel::componentIndex(Component component) const
{
    for (int row = 0; row < rowCount(); ++row)
        if (m_nodes[static_cast<std::size_t>(m_top[static_cast<std::size_t>(row)])].row.component == component)
            return index(row, 0);
    return {};
}

QModelIndex BreakdownModel::find(Component component, const QString &label) const
{
    const std::string wanted = label.toStdString();
    for (std::size_t i = 0; i < m_nodes.size(); ++i) {
        const Node &node = m_nodes[i];
        if (node.parent >= 0 && node.row.component == component && node.row.label == wanted)
            return createIndex(node.position, 0, static_cast<quintptr>(i));
    }
    return {};
}

const std::vector<int> &BreakdownModel::childrenOf(const QModelIndex &parent) const
{
    return parent.isValid() ? m_nodes[parent.internalId()].children : m_top;
}

QModelIndex BreakdownModel::index(int row, int column, const QModelIndex &parent) const
{
    if (!hasIndex(row, column, parent))
        return {};
    return createIndex(row, column, static_cast<quintptr>(childrenOf(parent)[static_cast<std::size_t>(row)]));
}

QModelIndex BreakdownModel::parent(const QModelIndex &child) const
{
    if (!child.isValid())
        return {};
    const int parent = m_nodes[child.internalId()].parent;
    if (parent < 0)
        return {};
    return createIndex(m_nodes[static_cast<std::size_t>(parent)].position, 0, static_cast<quintptr>(parent));
}

int BreakdownModel::rowCount(const QModelIndex &parent) const
{
    return parent.column() > 0 ? 0 : static_cast<int>(childrenOf(parent).size());
}

int BreakdownModel::columnCount(const QModelIndex &) const { return ColumnCount; }

QString BreakdownModel::text(const BreakdownRow &row, int column) const
{
    switch (column) {
    case Name: return QString::fromStdString(row.label);
    case Size: return m_display->bytes(row.bytes);
    case Share:
        return m_peak.value > 0 ? tr("%1 %").arg(QLocale().toString(
                                      100.0 * static_cast<double>(row.bytes.value) / static_cast<double>(m_peak.value), 'f', 1))
                                : QString();
    case Count: return row.count > 0 ? QString::fromStdString(formatCount(row.count)) : QString();
    case Shape: return QString::fromStdString(row.shape);
    case Dtype: return QString::fromStdString(row.dtype);
    case Rule: return QString::fromStdString(row.rule);
    case Source: return QString::fromStdString(row.source);
    default: return {};
    }
}

QVariant BreakdownModel::data(const QModelIndex &index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const Node &node = m_nodes[index.internalId()];
    switch (role) {
    case Qt::DisplayRole:
        // The five components have names for people; deeper rows name tensors as PyTorch does.
        return index.column() == Name && node.parent < 0 ? componentLabel(node.row.component) : text(node.row, index.column());
    case Qt::ToolTipRole:
        if (index.column() == Size)
            return tr("%1 bytes").arg(QString::fromStdString(formatCount(node.row.bytes.value)));
        return index.column() == Name && !node.row.rule.empty() ? text(node.row, Rule) : text(node.row, index.column());
    case Qt::TextAlignmentRole:
        return static_cast<int>(isNumeric(index.column()) ? Qt::AlignRight | Qt::AlignVCenter : Qt::AlignLeft | Qt::AlignVCenter);
    case Qt::DecorationRole:
        if (index.column() == Name && node.parent < 0) {
            QPixmap swatch(swatchPixels, swatchPixels);
            swatch.fill(componentColour(node.row.component));
            return swatch;
        }
        return {};
    case ComponentRole: return static_cast<int>(node.row.component);
    case BytesRole: return static_cast<qint64>(node.row.bytes.value);
    default: return {};
    }
}

QVariant BreakdownModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::TextAlignmentRole)
        return static_cast<int>(isNumeric(section) ? Qt::AlignRight | Qt::AlignVCenter : Qt::AlignLeft | Qt::AlignVCenter);
    if (role != Qt::DisplayRole)
        return {};
    switch (section) {
    case Name: return tr("Tensor");
    case Size: return tr("Size");
    case Share: return tr("Of peak");
    case Count: return tr("Count");
    case Shape: return tr("Shape");
    case Dtype: return tr("Dtype");
    case Rule: return tr("Why it is there");
    case Source: return tr("Source");
    default: return {};
    }
}

} // namespace headroom
