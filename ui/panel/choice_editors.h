// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/panel/field_editor.h"

#include <vector>

class QCheckBox;
class QComboBox;

namespace headroom {

class StopSlider;

/// One of several named values. What the engine does not execute yet is listed, disabled, and its tip says why. A staged
/// choice has a slider over what can be chosen.
class ChoiceEditor : public FieldEditor
{
    Q_OBJECT
public:
    ChoiceEditor(const Field &field, QWidget *parent);

    void setValue(const FieldValue &value) override;

private:
    FieldValue valueAt(int index) const;

    QComboBox *m_list;
    StopSlider *m_stops = nullptr;
    std::vector<int> m_stages; ///< index in the list of each slider position
};

/// Yes or no.
class BooleanEditor : public FieldEditor
{
    Q_OBJECT
public:
    BooleanEditor(const Field &field, QWidget *parent);

    void setValue(const FieldValue &value) override;

private:
    QCheckBox *m_tick;
};

/// Yes, no, or left to what the plan runs on.
class TristateEditor : public FieldEditor
{
    Q_OBJECT
public:
    TristateEditor(const Field &field, QWidget *parent);

    void setValue(const FieldValue &value) override;

private:
    QComboBox *m_list;
};

} // namespace headroom
