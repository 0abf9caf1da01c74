// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/panel/field_editor.h"
#include "ui/panel/value_scale.h"

#include <optional>

namespace headroom {

class NumberBox;
class StopSlider;

/// A number: spin box with unit, and a slider where a range makes sense as one (not for bucket sizes in the billions).
class NumberEditor : public FieldEditor
{
    Q_OBJECT
public:
    NumberEditor(const Field &field, QWidget *parent);

    void setValue(const FieldValue &value) override;
    void commit() override;

private:
    FieldValue toField(std::optional<double> number) const;

    NumberBox *m_number;
    StopSlider *m_stops = nullptr;
    std::optional<ValueScale> m_scale;
};

} // namespace headroom
