// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/choosers/gpu_list.h"

#include <QWidget>

class QLabel;
class QLineEdit;
class QListView;

namespace headroom {

class WordFilter;

/// The GPUs of the plan: a searchable list with a tick and the capacity of each; any number can be ticked.
class GpuChooser : public QWidget
{
    Q_OBJECT
public:
    explicit GpuChooser(DisplaySettings *display, QWidget *parent = nullptr);

    /// Shows the plan's GPUs; emits nothing. Ids that the catalogue lacks are named in a line below the list.
    void setChosen(const std::vector<std::string> &ids);
    QListView *list() const { return m_list; }
    QLineEdit *search() const { return m_search; }
    void takeFocus();
    void takeSearchFocus();

signals:
    void chosenEdited(const std::vector<std::string> &ids);

private:
    GpuList *m_gpus;
    WordFilter *m_matches;
    QLineEdit *m_search;
    QListView *m_list;
    QLabel *m_unknown;
    bool m_ticking = false;    ///< the change that comes in was made in this list
    bool m_isArranged = false; ///< what is chosen stands at the top
};

} // namespace headroom
