// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panel/choice_editors.h"

#include "ui/panel/stop_slider.h"

#include <QAbstractItemView>
#include <QCheckBox>
#include <QComboBox>
#include <QSignalBlocker>
#include <QStandardItemModel>
#include <QStyleOptionComboBox>
#include <QStylePainter>
#include <QWheelEvent>

#include <algorithm>

namespace headroom {
namespace {

/// A list that leaves the wheel to the panel until it was chosen, and shortens what does not fit instead of growing.
class PanelList : public QComboBox
{
public:
    explicit PanelList(QWidget *parent)
        : QComboBox(parent)
    {
        setFocusPolicy(Qt::StrongFocus);
        setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        setMinimumContentsLength(8);
    }

protected:
    void wheelEvent(QWheelEvent *event) override
    {
        if (hasFocus())
            QComboBox::wheelEvent(event);
        else
            event->ignore();
    }
    void paintEvent(QPaintEvent *) override
    {
        // Styles cut what is too long; a sign that there is more is better.
        QStylePainter painter(this);
        QStyleOptionComboBox option;
        initStyleOption(&option);
        painter.drawComplexControl(QStyle::CC_ComboBox, option);
        const QRect room = style()->subControlRect(QStyle::CC_ComboBox, &option, QStyle::SC_ComboBoxEditField, this);
        option.currentText = fontMetrics().elidedText(option.currentText, Qt::ElideRight, room.width() - 2);
        painter.drawControl(QStyle::CE_ComboBoxLabel, option);
    }
    void showPopup() override
    {
        // The open list is as wide as its longest entry, whatever the box. Made here: most lists are never opened.
        view()->setTextElideMode(Qt::ElideNone);
        view()->setMinimumWidth(std::min(view()->sizeHintForColumn(0) + 40, 480));
        QComboBox::showPopup();
    }
};

} // namespace

ChoiceEditor::ChoiceEditor(const Field &field, QWidget *parent)
    : FieldEditor(field)
    , m_list(new PanelList(parent))
{
    auto *items = new QStandardItemModel(m_list);
    if (field.nullable)
        items->appendRow(new QStandardItem(QString::fromStdString(displayValue(field, {}))));
    QStringList names;
    for (const FieldChoice &choice : field.choices) {
        const bool refused = !choice.refused.empty();
        auto *item = new QStandardItem(refused ? tr("%1 (not yet)").arg(fromView(choice.label)) : fromView(choice.label));
        item->setToolTip(fromView(refused ? choice.refused : choice.tip));
        item->setData(item->toolTip(), Qt::AccessibleDescriptionRole);
        item->setEnabled(!refused);
        if (!refused) {
            m_stages.push_back(items->rowCount());
            // Two short lines find room where a long one does not.
            names << fromView(choice.value).replace(QLatin1Char('-'), QLatin1Char('\n'));
        }
        items->appendRow(item);
    }
    m_list->setModel(items);
    setBox(m_list);
    connect(m_list, &QComboBox::activated, this, [this](int index) { emit edited(valueAt(index)); });

    if (!isStagedChoice(field) || field.nullable || m_stages.size() < 2)
        return;
    m_stops = new StopSlider(parent);
    m_stops->setRange(0, static_cast<int>(m_stages.size()) - 1);
    m_stops->setPageStep(1);
    m_stops->setStopNames(names);
    setSlider(m_stops);
    connect(m_stops, &QSlider::valueChanged, this,
            [this](int position) { emit edited(valueAt(m_stages.at(static_cast<std::size_t>(position)))); });
}

FieldValue ChoiceEditor::valueAt(int index) const
{
    const int choice = field().nullable ? index - 1 : index;
    if (choice < 0)
        return std::monostate{};
    return std::string(field().choices[static_cast<std::size_t>(choice)].value);
}

void ChoiceEditor::setValue(const FieldValue &value)
{
    int index = field().nullable ? 0 : -1;
    if (const auto *text = std::get_if<std::string>(&value)) {
        const auto found =
            std::find_if(field().choices.begin(), field().choices.end(), [&](const FieldChoice &choice) { return choice.value == *text; });
        if (found != field().choices.end())
            index = static_cast<int>(found - field().choices.begin()) + (field().nullable ? 1 : 0);
    }
    m_list->setCurrentIndex(index);
    if (m_stops) {
        const QSignalBlocker blocker(m_stops);
        const auto stage = std::find(m_stages.begin(), m_stages.end(), index);
        if (stage != m_stages.end())
            m_stops->setValue(static_cast<int>(stage - m_stages.begin()));
    }
}

BooleanEditor::BooleanEditor(const Field &field, QWidget *parent)
    : FieldEditor(field)
    , m_tick(new QCheckBox(parent))
{
    setBox(m_tick);
    connect(m_tick, &QCheckBox::clicked, this, [this](bool on) { emit edited(on); });
}

void BooleanEditor::setValue(const FieldValue &value)
{
    const auto *on = std::get_if<bool>(&value);
    m_tick->setChecked(on && *on);
}

TristateEditor::TristateEditor(const Field &field, QWidget *parent)
    : FieldEditor(field)
    , m_list(new PanelList(parent))
{
    for (const FieldValue &value : {FieldValue{}, FieldValue{true}, FieldValue{false}})
        m_list->addItem(QString::fromStdString(displayValue(field, value)));
    setBox(m_list);
    connect(m_list, &QComboBox::activated, this, [this](int index) { emit edited(index == 0 ? FieldValue{} : FieldValue{index == 1}); });
}

void TristateEditor::setValue(const FieldValue &value)
{
    const auto *on = std::get_if<bool>(&value);
    m_list->setCurrentIndex(!on ? 0 : (*on ? 1 : 2));
}

} // namespace headroom
