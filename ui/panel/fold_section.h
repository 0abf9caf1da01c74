// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

class QToolButton;
class QVBoxLayout;

namespace headroom {

/// A heading that folds what is below it, and within that a second fold for what is needed rarely.
class FoldSection : public QWidget
{
    Q_OBJECT
public:
    /// `name`: stays the same in every language, for the settings.
    FoldSection(const QString &name, const QString &title, QWidget *parent = nullptr);

    const QString &name() const { return m_name; }
    /// Adds a row; `advanced` ones stand below "More".
    void addRow(QWidget *row, bool advanced = false);
    bool isFolded() const;
    void setFolded(bool folded);
    bool isMoreShown() const;
    void setMoreShown(bool shown);
    /// Opens whatever hides the row.
    void reveal(QWidget *row);

signals:
    void foldedChanged();

private:
    void update();

    QString m_name;
    QToolButton *m_heading;
    QWidget *m_body;
    QVBoxLayout *m_rows;
    QToolButton *m_more;
    QWidget *m_moreBody;
    QVBoxLayout *m_moreRows;
    bool m_folded = false;
    bool m_moreShown = false;
};

} // namespace headroom
