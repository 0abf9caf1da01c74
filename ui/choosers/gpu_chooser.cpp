// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/choosers/gpu_chooser.h"

#include "core/hardware/gpu.h"
#include "ui/choosers/model_list.h"
#include "ui/undo_keys.h"

#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QPainter>
#include <QScopedValueRollback>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

namespace headroom {
namespace {

constexpr int visibleRows = 7;

/// Tick and title at the left, capacity at the right.
class GpuDelegate : public QStyledItemDelegate
{
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const override
    {
        QStyledItemDelegate::paint(painter, option, index);
        const bool selected = option.state.testFlag(QStyle::State_Selected);
        painter->save();
        painter->setPen(option.palette.color(selected ? QPalette::HighlightedText : QPalette::Text));
        painter->drawText(option.rect.adjusted(0, 0, -4, 0), Qt::AlignRight | Qt::AlignVCenter,
                          index.data(GpuList::CapacityRole).toString());
        painter->restore();
    }
};

} // namespace

GpuChooser::GpuChooser(DisplaySettings *display, QWidget *parent)
    : QWidget(parent)
    , m_gpus(new GpuList(display, this))
    , m_matches(new WordFilter(GpuList::SearchRole, this))
    , m_search(new QLineEdit(this))
    , m_list(new QListView(this))
    , m_unknown(new QLabel(this))
{
    m_matches->setSourceModel(m_gpus);
    m_matches->setSortRole(GpuList::OrderRole);
    // Not dynamic: a row must not run away from under the pointer when it is ticked.
    m_matches->setDynamicSortFilter(false);
    m_matches->sort(0);

    m_search->setPlaceholderText(tr("Search GPUs"));
    m_search->setClearButtonEnabled(true);
    m_search->setAccessibleName(tr("Search GPUs"));
    m_search->setAccessibleDescription(tr("Keeps the GPUs whose name, maker or architecture contains every word"));
    new UndoKeys(m_search, [this] { return !m_search->text().isEmpty(); });
    m_list->setModel(m_matches);
    m_list->setItemDelegate(new GpuDelegate(m_list));
    m_list->setUniformItemSizes(true);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setAccessibleName(tr("GPUs"));
    m_list->setAccessibleDescription(tr("Space ticks a GPU; the plan is judged on every ticked one"));
    m_list->setToolTip(tr("Tick every GPU that the plan is to be judged on"));
    m_list->setFixedHeight(visibleRows * m_list->sizeHintForRow(0) + 2 * m_list->frameWidth());
    m_unknown->setWordWrap(true);
    m_unknown->hide();

    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(3);
    layout->addWidget(m_search);
    layout->addWidget(m_list);
    layout->addWidget(m_unknown);

    connect(m_gpus, &GpuList::chosenEdited, this, [this](const std::vector<std::string> &ids) {
        const QScopedValueRollback ticking(m_ticking, true);
        emit chosenEdited(ids);
    });
    connect(m_search, &QLineEdit::textChanged, this, [this](const QString &text) {
        m_gpus->arrange();
        m_matches->setSearch(text);
        m_matches->sort(0);
        m_list->scrollToTop();
    });
}

void GpuChooser::setChosen(const std::vector<std::string> &ids)
{
    // A change made here keeps the order of rows; one from elsewhere (a file, undo) brings what is chosen to the top.
    if (m_isArranged && ids == m_gpus->chosen())
        return;
    m_gpus->setChosen(ids);
    m_isArranged = !m_ticking;
    if (m_isArranged) {
        m_gpus->arrange();
        m_matches->sort(0);
    }
    QStringList unknown;
    for (const std::string &id : ids)
        if (!findGpu(id))
            unknown << QString::fromStdString(id);
    m_unknown->setText(tr("Not in the catalogue: %1").arg(unknown.join(QLatin1String(", "))));
    m_unknown->setVisible(!unknown.isEmpty());
}

void GpuChooser::takeFocus() { m_list->setFocus(Qt::OtherFocusReason); }

void GpuChooser::takeSearchFocus()
{
    m_search->setFocus(Qt::ShortcutFocusReason);
    m_search->selectAll();
}

} // namespace headroom
