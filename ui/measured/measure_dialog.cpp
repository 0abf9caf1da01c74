// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/measured/measure_dialog.h"

#include <QCheckBox>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QRadioButton>
#include <QSpinBox>
#include <QVBoxLayout>

namespace headroom {

MeasureDialog::MeasureDialog(const MeasureSettings &settings, QWidget *parent)
    : QDialog(parent)
    , m_here(new QRadioButton(tr("On a GPU of &this machine"), this))
    , m_there(new QRadioButton(tr("On another machine, over &SSH"), this))
    , m_dry(new QRadioButton(tr("&Dry run on this machine: no GPU needed, allocated memory alone"), this))
    , m_host(new QLineEdit(settings.host, this))
    , m_python(new QLineEdit(settings.python, this))
    , m_steps(new QSpinBox(this))
    , m_snapshot(new QCheckBox(tr("Also record a memory s&napshot of the last step"), this))
    , m_problem(new QLabel(this))
    , m_buttons(new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, this))
{
    setWindowTitle(tr("Measure"));
    setObjectName(QStringLiteral("measureDialog"));
    m_host->setObjectName(QStringLiteral("host"));
    m_python->setObjectName(QStringLiteral("python"));
    m_steps->setObjectName(QStringLiteral("steps"));
    m_here->setObjectName(QStringLiteral("here"));
    m_there->setObjectName(QStringLiteral("there"));
    m_dry->setObjectName(QStringLiteral("dry"));
    auto *about =
        new QLabel(tr("The plan's steps are run with PyTorch, on a model with random weights. Nothing is installed or downloaded."), this);
    about->setWordWrap(true);
    m_host->setPlaceholderText(tr("user@host, or an alias of ~/.ssh/config"));
    m_host->setToolTip(tr("Reached with the system's ssh and your own configuration; keys must work without a question"));
    m_python->setPlaceholderText(QStringLiteral("python3"));
    m_python->setToolTip(tr("The Python that has PyTorch, transformers and what else the plan needs, on the machine that runs the plan"));
    m_steps->setRange(3, 1000);
    m_steps->setValue(settings.steps);
    m_steps->setToolTip(tr("Optimizer steps; from the third on they are alike"));
    m_snapshot->setObjectName(QStringLiteral("snapshot"));
    m_snapshot->setChecked(settings.snapshot);
    m_snapshot->setToolTip(tr("To lay over the timeline: every allocation of the last step, as PyTorch's allocator records it; of several "
                              "ranks, of rank 0. It needs a GPU"));
    auto *browse = new QPushButton(tr("&Browse..."), this);
    auto *pythonRow = new QHBoxLayout;
    pythonRow->addWidget(m_python, 1);
    pythonRow->addWidget(browse);
    auto *form = new QFormLayout;
    form->addRow(tr("&Host:"), m_host);
    auto *pythonLabel = new QLabel(tr("&Python:"), this);
    pythonLabel->setBuddy(m_python); // a form finds no field in a row of two
    form->addRow(pythonLabel, pythonRow);
    form->addRow(tr("St&eps:"), m_steps);
    form->addRow(QString(), m_snapshot);
    m_problem->setWordWrap(true);
    m_problem->setTextFormat(Qt::PlainText);
    m_buttons->button(QDialogButtonBox::Ok)->setText(tr("&Measure"));
    auto *column = new QVBoxLayout(this);
    column->addWidget(about);
    for (QRadioButton *button : {m_here, m_there, m_dry})
        column->addWidget(button);
    column->addLayout(form);
    column->addWidget(m_problem);
    column->addWidget(m_buttons);
    setMinimumWidth(fontMetrics().averageCharWidth() * 75);

    (settings.how == MeasureSettings::How::There ? m_there : settings.how == MeasureSettings::How::Dry ? m_dry : m_here)->setChecked(true);
    for (QRadioButton *button : {m_here, m_there, m_dry})
        connect(button, &QRadioButton::toggled, this, &MeasureDialog::check);
    for (QLineEdit *edit : {m_host, m_python})
        connect(edit, &QLineEdit::textChanged, this, &MeasureDialog::check);
    connect(browse, &QPushButton::clicked, this, [this] {
        const QString file = QFileDialog::getOpenFileName(this, tr("Choose a Python"), m_python->text());
        if (!file.isEmpty())
            m_python->setText(file);
    });
    connect(m_there, &QRadioButton::toggled, browse, &QWidget::setDisabled);
    browse->setDisabled(m_there->isChecked());
    connect(m_buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(m_buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    check();
}

void MeasureDialog::check()
{
    m_host->setEnabled(m_there->isChecked());
    m_snapshot->setEnabled(!m_dry->isChecked());
    QString problem;
    const QString host = m_host->text().trimmed();
    if (m_there->isChecked() && host.isEmpty())
        problem = tr("Name the machine to measure on.");
    else if (m_there->isChecked() && (host.startsWith(QLatin1Char('-')) || host.contains(QLatin1Char(' '))))
        problem = tr("This is no name of a host: it begins with \"-\" or holds a space.");
    else if (m_there->isChecked() && (host.startsWith(QLatin1Char('@')) || host.endsWith(QLatin1Char('@'))))
        problem = tr("This is no name of a host: before and after \"@\" stand a user and a machine.");
    else if (m_python->text().trimmed().startsWith(QLatin1Char('-')))
        problem = tr("This is no path of a Python: it begins with \"-\".");
    m_problem->setText(problem);
    m_buttons->button(QDialogButtonBox::Ok)->setEnabled(problem.isEmpty());
}

MeasureSettings MeasureDialog::settings() const
{
    MeasureSettings settings;
    settings.how = m_there->isChecked() ? MeasureSettings::How::There
                   : m_dry->isChecked() ? MeasureSettings::How::Dry
                                        : MeasureSettings::How::Here;
    settings.host = m_host->text().trimmed();
    settings.python = m_python->text().trimmed();
    settings.steps = m_steps->value();
    settings.snapshot = m_snapshot->isChecked();
    return settings;
}

} // namespace headroom
