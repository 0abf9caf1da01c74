// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panel/field_editor.h"

#include "ui/panel/choice_editors.h"
#include "ui/panel/number_editors.h"
#include "ui/panel/text_editors.h"

#include <QSlider>

namespace headroom {

FieldEditor::FieldEditor(const Field &field)
    : m_field(field)
{}

std::vector<QWidget *> FieldEditor::focusWidgets() const
{
    std::vector<QWidget *> widgets;
    if (m_slider)
        widgets.push_back(m_slider);
    widgets.push_back(m_box);
    return widgets;
}

void FieldEditor::setSlider(QSlider *slider)
{
    m_slider = slider;
    connect(slider, &QSlider::sliderPressed, this, &FieldEditor::dragStarted);
    connect(slider, &QSlider::sliderReleased, this, &FieldEditor::dragFinished);
}

std::unique_ptr<FieldEditor> FieldEditor::create(const Field &field, QWidget *parent)
{
    switch (field.type) {
    case FieldType::Boolean:
        if (field.nullable)
            return std::make_unique<TristateEditor>(field, parent);
        return std::make_unique<BooleanEditor>(field, parent);
    case FieldType::Integer:
    case FieldType::Real: return std::make_unique<NumberEditor>(field, parent);
    case FieldType::Choice: return std::make_unique<ChoiceEditor>(field, parent);
    case FieldType::Text: return std::make_unique<TextEditor>(field, parent);
    case FieldType::TextList: return std::make_unique<TextListEditor>(field, parent);
    }
    Q_UNREACHABLE();
}

bool isStagedChoice(const Field &field)
{
    return field.type == FieldType::Choice && (field.path == "precision.recipe" || field.path == "checkpointing");
}

QString fromView(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

} // namespace headroom
