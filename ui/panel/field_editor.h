// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/plan/fields.h"

#include <QObject>
#include <QString>

#include <memory>
#include <vector>

class QSlider;
class QWidget;

namespace headroom {

/// The controls of one field: a box (spin box, list, text, tick) and for ranges and scales a slider besides. Made from the
/// field table alone. The widgets belong to the row that lays them out.
class FieldEditor : public QObject
{
    Q_OBJECT
public:
    /// The editor that suits the field's type and range.
    static std::unique_ptr<FieldEditor> create(const Field &field, QWidget *parent);

    const Field &field() const { return m_field; }
    /// Exact entry; never null.
    QWidget *box() const { return m_box; }
    /// Null where the field has no scale.
    QSlider *slider() const { return m_slider; }
    /// Every widget that can take the focus.
    std::vector<QWidget *> focusWidgets() const;

    /// Shows the plan's value; emits nothing. What is being typed stays.
    virtual void setValue(const FieldValue &value) = 0;
    /// Finishes what is being typed, as Enter does.
    virtual void commit() {}

signals:
    /// The user chose a value.
    void edited(const headroom::FieldValue &value);
    /// A drag of the slider began and ended; what is edited between is one change.
    void dragStarted();
    void dragFinished();

protected:
    explicit FieldEditor(const Field &field);
    void setBox(QWidget *box) { m_box = box; }
    void setSlider(QSlider *slider);

private:
    const Field &m_field;
    QWidget *m_box = nullptr;
    QSlider *m_slider = nullptr;
};

/// Choices that form a scale, less to more: shown as a slider with named stops beside the list.
bool isStagedChoice(const Field &field);

QString fromView(std::string_view text);

} // namespace headroom
