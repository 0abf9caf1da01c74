// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractListModel>
#include <QSortFilterProxyModel>
#include <QStringList>

namespace headroom {

/// The model presets. What the engine does not execute yet is there too, disabled, its tip with the reason.
class ModelList : public QAbstractListModel
{
    Q_OBJECT
public:
    enum Role {
        IdRole = Qt::UserRole, ///< Hugging Face id
        SearchRole,            ///< what a search looks at: id and family
        DetailRole,            ///< "8.19 B parameters", or "not yet supported"
        OrderRole,             ///< what can be chosen first, each in the order of the catalogue
    };
    explicit ModelList(QObject *parent = nullptr);

    int rowCount(const QModelIndex &parent = {}) const override;
    QVariant data(const QModelIndex &index, int role) const override;
    Qt::ItemFlags flags(const QModelIndex &index) const override;
};

/// Keeps the rows whose `role` contains every word of the search, in any order and case.
class WordFilter : public QSortFilterProxyModel
{
    Q_OBJECT
public:
    explicit WordFilter(int role, QObject *parent = nullptr);

    void setSearch(const QString &text);

protected:
    bool filterAcceptsRow(int row, const QModelIndex &parent) const override;

private:
    int m_role;
    QStringList m_words;
};

/// "8.19 B", "596 M": a count of parameters in three digits.
QString shortCount(qint64 count);

} // namespace headroom
