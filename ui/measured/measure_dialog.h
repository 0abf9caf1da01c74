// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/settings.h"

#include <QDialog>

class QCheckBox;
class QDialogButtonBox;
class QLabel;
class QLineEdit;
class QRadioButton;
class QSpinBox;

namespace headroom {

/// Where and how the plan is to be run.
class MeasureDialog : public QDialog
{
    Q_OBJECT
public:
    MeasureDialog(const MeasureSettings &settings, QWidget *parent = nullptr);

    MeasureSettings settings() const;

private:
    void check();

    QRadioButton *m_here, *m_there, *m_dry;
    QLineEdit *m_host, *m_python;
    QSpinBox *m_steps;
    QCheckBox *m_snapshot;
    QLabel *m_problem;
    QDialogButtonBox *m_buttons;
};

} // namespace headroom
