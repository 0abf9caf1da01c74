// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panel/number_box.h"

#include <QSignalBlocker>
#include <QWheelEvent>

#include <algorithm>

namespace headroom {
namespace {

/// Beyond this, neighbouring whole numbers are the same double.
constexpr double largestWhole = 9007199254740992.0;

} // namespace

NumberBox::NumberBox(QWidget *parent)
    : QDoubleSpinBox(parent)
{
    setKeyboardTracking(false);
    setAlignment(Qt::AlignRight);
    setFocusPolicy(Qt::StrongFocus);
    setAccelerated(true);
}

void NumberBox::setWholeRange(double minimum, double maximum, bool logarithmic)
{
    setDecimals(0);
    setRange(minimum, std::min(maximum, largestWhole));
    setSingleStep(1);
    setStepType(logarithmic ? QAbstractSpinBox::AdaptiveDecimalStepType : QAbstractSpinBox::DefaultStepType);
}

void NumberBox::setRealRange(double minimum, double maximum)
{
    setDecimals(3);
    setRange(minimum, maximum);
    setSingleStep((maximum - minimum) / 100);
}

void NumberBox::setNullText(const QString &text)
{
    Q_ASSERT(!m_nullable);
    m_nullable = true;
    setMinimum(minimum() - 1);
    setSpecialValueText(text);
}

void NumberBox::setNumber(std::optional<double> number)
{
    const QSignalBlocker blocker(this);
    setValue(number.value_or(minimum()));
}

std::optional<double> NumberBox::number() const
{
    if (m_nullable && value() <= minimum())
        return std::nullopt;
    return value();
}

void NumberBox::wheelEvent(QWheelEvent *event)
{
    // In a panel that scrolls, the wheel belongs to the panel until the box was chosen.
    if (hasFocus())
        QDoubleSpinBox::wheelEvent(event);
    else
        event->ignore();
}

QString NumberBox::textFromValue(double value) const
{
    // 0.05, not 0.050; thousands stay ungrouped, as they are typed.
    QLocale plain = locale();
    plain.setNumberOptions(QLocale::OmitGroupSeparator);
    return decimals() == 0 ? plain.toString(value, 'f', 0) : plain.toString(value, 'g', 4);
}

} // namespace headroom
