// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/choosers/model_chooser.h"

#include "ui/choosers/model_list.h"
#include "ui/icons.h"
#include "ui/undo_keys.h"

#include <QAbstractItemView>
#include <QAction>
#include <QApplication>
#include <QCompleter>
#include <QKeyEvent>
#include <QPainter>
#include <QStyledItemDelegate>

namespace headroom {
namespace {

constexpr int visibleRows = 14;

/// Id at the left, parameters or the reason for refusal at the right.
class PresetDelegate : public QStyledItemDelegate
{
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const override
    {
        QStyledItemDelegate::paint(painter, option, index);
        const bool enabled = index.flags().testFlag(Qt::ItemIsEnabled);
        const bool selected = option.state.testFlag(QStyle::State_Selected) && enabled;
        const auto group = enabled ? QPalette::Active : QPalette::Disabled;
        painter->save();
        painter->setPen(option.palette.color(group, selected ? QPalette::HighlightedText : QPalette::Text));
        painter->setOpacity(selected ? 1.0 : 0.75);
        painter->drawText(option.rect.adjusted(0, 0, -6, 0), Qt::AlignRight | Qt::AlignVCenter,
                          index.data(ModelList::DetailRole).toString());
        painter->restore();
    }
    QSize sizeHint(const QStyleOptionViewItem &option, const QModelIndex &index) const override
    {
        const QSize size = QStyledItemDelegate::sizeHint(option, index);
        const int detail = option.fontMetrics.horizontalAdvance(index.data(ModelList::DetailRole).toString());
        return {size.width() + detail + 4 * option.fontMetrics.averageCharWidth(), size.height() + 4};
    }
};

} // namespace

ModelChooser::ModelChooser(QWidget *parent)
    : QLineEdit(parent)
    , m_models(new ModelList(this))
    , m_matches(new WordFilter(ModelList::SearchRole, this))
    , m_completer(new QCompleter(this))
    , m_search(addAction(themedIcon(QStringLiteral("search"), palette()), LeadingPosition))
    , m_openConfig(addAction(themedIcon(QStringLiteral("open"), palette()), TrailingPosition))
{
    setObjectName(QStringLiteral("modelChooser"));
    setAccessibleName(tr("Model"));
    setAccessibleDescription(tr("Type to search the presets; Down opens the list, Enter takes a model"));
    setPlaceholderText(tr("Search models"));
    setToolTip(tr("Model: type to search the presets"));
    m_search->setToolTip(tr("Show all presets"));
    m_search->setText(m_search->toolTip());
    m_openConfig->setToolTip(tr("Open a Hugging Face config.json"));
    m_openConfig->setText(m_openConfig->toolTip());

    m_matches->setSourceModel(m_models);
    m_matches->setSortRole(ModelList::OrderRole);
    m_matches->sort(0);
    m_completer->setModel(m_matches);
    m_completer->setCompletionMode(QCompleter::UnfilteredPopupCompletion);
    m_completer->setCompletionRole(ModelList::IdRole);
    m_completer->setMaxVisibleItems(visibleRows);
    m_completer->setWidget(this);
    QAbstractItemView *list = m_completer->popup();
    list->setItemDelegate(new PresetDelegate(list));
    list->setAccessibleName(tr("Models that match"));

    new UndoKeys(this, [this] { return text() != m_shown; });
    connect(this, &QLineEdit::textEdited, this, &ModelChooser::showMatches);
    connect(m_search, &QAction::triggered, this, [this] { showMatches({}); });
    connect(m_openConfig, &QAction::triggered, this, &ModelChooser::openConfigRequested);
    connect(m_completer, qOverload<const QString &>(&QCompleter::activated), this, &ModelChooser::choose);
}

void ModelChooser::setModel(const ModelChoice &model)
{
    // What is being typed stays: it is a search, no model yet.
    const bool keep = hasFocus() && text() != m_shown;
    if (!model.preset.empty())
        m_shown = QString::fromStdString(model.preset);
    else
        m_shown = model.configPath.empty() ? tr("Own config.json") : QString::fromStdString(model.configPath);
    if (keep)
        return;
    if (text() != m_shown)
        setText(m_shown);
    setCursorPosition(0);
}

void ModelChooser::showMatches(const QString &search)
{
    m_matches->setSearch(search);
    if (m_matches->rowCount() == 0) {
        m_completer->popup()->hide();
        return;
    }
    m_completer->setCompletionPrefix(QString());
    const int width = std::max(this->width(), m_completer->popup()->sizeHintForColumn(0) + 24);
    m_completer->complete(QRect(0, 0, width, height()));
}

void ModelChooser::choose(const QString &id)
{
    setText(id);
    if (id != m_shown)
        emit presetChosen(id);
    // Where the document refused it, the line goes back to what the plan holds.
    giveUp();
}

void ModelChooser::giveUp()
{
    setText(m_shown);
    setCursorPosition(0);
}

void ModelChooser::keyPressEvent(QKeyEvent *event)
{
    QAbstractItemView *list = m_completer->popup();
    const bool open = list->isVisible();
    switch (event->key()) {
    case Qt::Key_Down:
    case Qt::Key_Up:
        if (!open) {
            showMatches(text() == m_shown ? QString() : text());
            return;
        }
        break;
    case Qt::Key_Escape:
        giveUp();
        event->ignore();
        return;
    case Qt::Key_Return:
    case Qt::Key_Enter: {
        // The open list passes its keys on to here first.
        const QModelIndex walkedTo = open ? list->currentIndex() : QModelIndex();
        list->hide();
        if (walkedTo.isValid()) {
            if (walkedTo.flags().testFlag(Qt::ItemIsEnabled))
                choose(walkedTo.data(ModelList::IdRole).toString());
            return;
        }
        // Typed and entered without choosing: the first match that can be taken.
        if (text() == m_shown)
            return;
        m_matches->setSearch(text());
        for (int row = 0; row < m_matches->rowCount(); ++row) {
            const QModelIndex index = m_matches->index(row, 0);
            if (index.flags().testFlag(Qt::ItemIsEnabled)) {
                choose(index.data(ModelList::IdRole).toString());
                return;
            }
        }
        giveUp();
        return;
    }
    default: break;
    }
    QLineEdit::keyPressEvent(event);
}

void ModelChooser::focusInEvent(QFocusEvent *event)
{
    QLineEdit::focusInEvent(event);
    if (event->reason() != Qt::PopupFocusReason)
        selectAll();
}

void ModelChooser::focusOutEvent(QFocusEvent *event)
{
    QLineEdit::focusOutEvent(event);
    if (event->reason() != Qt::PopupFocusReason && event->reason() != Qt::ActiveWindowFocusReason)
        giveUp();
}

void ModelChooser::mouseReleaseEvent(QMouseEvent *event)
{
    QLineEdit::mouseReleaseEvent(event);
    if (!hasSelectedText())
        selectAll();
}

void ModelChooser::changeEvent(QEvent *event)
{
    if (event->type() == QEvent::PaletteChange) {
        m_search->setIcon(themedIcon(QStringLiteral("search"), palette()));
        m_openConfig->setIcon(themedIcon(QStringLiteral("open"), palette()));
    }
    QLineEdit::changeEvent(event);
}

} // namespace headroom
