// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panel/fold_section.h"

#include <QToolButton>
#include <QVBoxLayout>

namespace headroom {
namespace {

QToolButton *foldButton(QWidget *parent)
{
    auto *button = new QToolButton(parent);
    button->setCheckable(true);
    button->setAutoRaise(true);
    button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    button->setFocusPolicy(Qt::StrongFocus);
    button->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    return button;
}

QVBoxLayout *rowsOf(QWidget *body, int indent)
{
    auto *rows = new QVBoxLayout(body);
    rows->setContentsMargins(indent, 0, 0, 0);
    rows->setSpacing(2);
    return rows;
}

} // namespace

FoldSection::FoldSection(const QString &name, const QString &title, QWidget *parent)
    : QWidget(parent)
    , m_name(name)
    , m_heading(foldButton(this))
    , m_body(new QWidget(this))
    , m_rows(rowsOf(m_body, 6))
    , m_more(foldButton(m_body))
    , m_moreBody(new QWidget(m_body))
    , m_moreRows(rowsOf(m_moreBody, 0))
{
    QFont bold = m_heading->font();
    bold.setBold(true);
    m_heading->setFont(bold);
    m_heading->setText(title);
    m_heading->setAccessibleName(title);
    m_heading->setChecked(true);
    m_more->setText(tr("More"));
    m_more->setAccessibleName(tr("More of %1").arg(title));
    m_more->hide();

    m_rows->addWidget(m_more);
    m_rows->addWidget(m_moreBody);
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 4);
    layout->setSpacing(1);
    layout->addWidget(m_heading);
    layout->addWidget(m_body);
    connect(m_heading, &QToolButton::toggled, this, [this] {
        update();
        emit foldedChanged();
    });
    connect(m_more, &QToolButton::toggled, this, &FoldSection::update);
    update();
}

void FoldSection::update()
{
    m_heading->setArrowType(m_heading->isChecked() ? Qt::DownArrow : Qt::RightArrow);
    m_heading->setAccessibleDescription(m_heading->isChecked() ? tr("Shown; press to fold") : tr("Folded; press to show"));
    m_body->setVisible(m_heading->isChecked());
    m_more->setArrowType(m_more->isChecked() ? Qt::DownArrow : Qt::RightArrow);
    m_more->setAccessibleDescription(m_more->isChecked() ? tr("Shown; press to fold") : tr("Folded; press to show"));
    m_moreBody->setVisible(m_more->isChecked());
}

void FoldSection::addRow(QWidget *row, bool advanced)
{
    if (advanced) {
        m_moreRows->addWidget(row);
        m_more->show();
    } else {
        m_rows->insertWidget(m_rows->count() - 2, row);
    }
}

bool FoldSection::isFolded() const { return !m_heading->isChecked(); }

void FoldSection::setFolded(bool folded) { m_heading->setChecked(!folded); }

bool FoldSection::isMoreShown() const { return m_more->isChecked(); }

void FoldSection::setMoreShown(bool shown) { m_more->setChecked(shown); }

void FoldSection::reveal(QWidget *row)
{
    setFolded(false);
    if (m_moreBody->isAncestorOf(row))
        setMoreShown(true);
}

} // namespace headroom
