// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panel/number_editors.h"

#include "ui/panel/number_box.h"
#include "ui/panel/stop_slider.h"

#include <QSignalBlocker>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace headroom {
namespace {

/// A range of at most this many whole numbers is a list of stages, each with its name below the slider.
constexpr double fewStages = 8;
constexpr double longestLinearScale = 4096;

/// The part of a field's range that the slider covers: what people plan with. The box takes the whole range.
struct SliderRange {
    std::string_view path;
    double from, to;
};
constexpr SliderRange sliderRanges[] = {
    {"method.rank", 1, 512},
    {"method.dropout", 0, 0.5},
    {"batch.micro_batch", 1, 256},
    {"batch.sequence_length", 128, 262'144},
    {"batch.gradient_accumulation", 1, 512},
    {"parallel.data", 1, 1024},
};

std::optional<ValueScale> scaleOf(const Field &field)
{
    const bool whole = field.type == FieldType::Integer;
    double from = field.minimum;
    double to = field.maximum;
    for (const SliderRange &range : sliderRanges) {
        if (range.path == field.path) {
            from = std::max(from, range.from);
            to = std::min(to, range.to);
        }
    }
    if (field.logarithmic)
        return ValueScale::logarithmic(from, to);
    // What may be left unset is set rarely: the box is enough, unless the values are few stages.
    const double span = to - from;
    if (field.nullable ? span <= fewStages : span <= longestLinearScale)
        return ValueScale::linear(from, to, whole);
    return std::nullopt;
}

std::optional<double> numberOf(const FieldValue &value)
{
    if (const auto *whole = std::get_if<std::int64_t>(&value))
        return static_cast<double>(*whole);
    if (const auto *real = std::get_if<double>(&value))
        return *real;
    return std::nullopt;
}

} // namespace

NumberEditor::NumberEditor(const Field &field, QWidget *parent)
    : FieldEditor(field)
    , m_number(new NumberBox(parent))
    , m_scale(field.advanced ? std::nullopt : scaleOf(field))
{
    if (field.type == FieldType::Integer)
        m_number->setWholeRange(field.minimum, field.maximum, field.logarithmic);
    else
        m_number->setRealRange(field.minimum, field.maximum);
    if (field.nullable)
        m_number->setNullText(QString::fromStdString(displayValue(field, {})));
    m_number->setUnit(fromView(field.unit));
    setBox(m_number);
    connect(m_number, &QDoubleSpinBox::valueChanged, this, [this] { emit edited(toField(m_number->number())); });

    if (!m_scale)
        return;
    m_stops = new StopSlider(parent);
    m_stops->setRange(0, m_scale->size() - 1);
    m_stops->setPageStep(m_scale->page());
    if (field.type == FieldType::Integer && m_scale->size() <= fewStages) {
        QStringList names;
        for (int i = 0; i < m_scale->size(); ++i)
            names << QString::number(m_scale->valueAt(i));
        m_stops->setStopNames(names);
    }
    setSlider(m_stops);
    connect(m_stops, &QSlider::valueChanged, this, [this](int position) { emit edited(toField(m_scale->valueAt(position))); });
}

void NumberEditor::setValue(const FieldValue &value)
{
    const std::optional<double> number = numberOf(value);
    m_number->setNumber(number);
    if (m_stops) {
        const QSignalBlocker blocker(m_stops);
        m_stops->setValue(m_scale->nearest(number.value_or(m_scale->valueAt(0))));
    }
}

void NumberEditor::commit() { m_number->interpretText(); }

FieldValue NumberEditor::toField(std::optional<double> number) const
{
    if (!number)
        return std::monostate{};
    if (field().type == FieldType::Integer)
        return static_cast<std::int64_t>(std::llround(*number));
    return *number;
}

} // namespace headroom
