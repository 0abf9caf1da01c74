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
    // Not checkable: styles draw a checked button sunken, which a heading is not.
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
    , m_rows(rowsOf(m_body, 4))
    , m_more(foldButton(m_body))
    , m_moreBody(new QWidget(m_body))
    , m_moreRows(rowsOf(m_moreBody, 0))
{
    QFont bold = m_heading->font();
    bold.setBold(true);
    m_heading->setFont(bold);
    m_heading->setText(title);
    m_heading->setAccessibleName(title);
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
    connect(m_heading, &QToolButton::clicked, this, [this] { setFolded(!m_folded); });
    connect(m_more, &QToolButton::clicked, this, [this] { setMoreShown(!m_moreShown); });
    update();
}

void FoldSection::update()
{
    const QString open = tr("Shown; press to fold");
    const QString closed = tr("Folded; press to show");
    m_heading->setArrowType(m_folded ? Qt::RightArrow : Qt::DownArrow);
    m_heading->setAccessibleDescription(m_folded ? closed : open);
    m_body->setVisible(!m_folded);
    m_more->setArrowType(m_moreShown ? Qt::DownArrow : Qt::RightArrow);
    m_more->setAccessibleDescription(m_moreShown ? open : closed);
    m_moreBody->setVisible(m_moreShown);
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

bool FoldSection::isFolded() const { return m_folded; }

void FoldSection::setFolded(bool folded)
{
    if (folded == m_folded)
        return;
    m_folded = folded;
    update();
    emit foldedChanged();
}

bool FoldSection::isMoreShown() const { return m_moreShown; }

void FoldSection::setMoreShown(bool shown)
{
    m_moreShown = shown;
    update();
}

void FoldSection::reveal(QWidget *row)
{
    setFolded(false);
    if (m_moreBody->isAncestorOf(row))
        setMoreShown(true);
}

} // namespace headroom
