// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panel/number_box.h"

#include "ui/undo_keys.h"

#include <QLineEdit>
#include <QSignalBlocker>
#include <QWheelEvent>

#include <algorithm>

namespace headroom {
namespace {

/// Beyond this, neighbouring whole numbers are the same double.
constexpr double largestWhole = 9007199254740992.0;

/// The field table has its units in the plural, as nearly all values need them.
QString unitOfOne(const QString &unit)
{
    if (unit == QLatin1String("micro-batches"))
        return QStringLiteral("micro-batch");
    return unit.endsWith(QLatin1Char('s')) ? unit.chopped(1) : unit;
}

} // namespace

NumberBox::NumberBox(QWidget *parent)
    : QDoubleSpinBox(parent)
{
    setKeyboardTracking(false);
    setAlignment(Qt::AlignRight);
    setFocusPolicy(Qt::StrongFocus);
    setAccelerated(true);
    connect(this, &QDoubleSpinBox::valueChanged, this, &NumberBox::updateSuffix);
    new UndoKeys(this, [this] { return isPending(); });
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

void NumberBox::setUnit(const QString &unit)
{
    m_unit = unit;
    m_unitOfOne = unitOfOne(unit);
    updateSuffix();
}

void NumberBox::updateSuffix()
{
    const QString &unit = value() == 1 ? m_unitOfOne : m_unit;
    const QString wanted = unit.isEmpty() ? QString() : QLatin1Char(' ') + unit;
    if (wanted != suffix())
        setSuffix(wanted);
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
    const bool keep = isPending();
    const QString typed = text();
    const int cursor = lineEdit()->cursorPosition();
    setValue(number.value_or(minimum()));
    updateSuffix();
    if (keep) {
        lineEdit()->setText(typed);
        lineEdit()->setCursorPosition(cursor);
    }
}

bool NumberBox::isPending() const
{
    const bool isNull = m_nullable && value() <= minimum();
    return hasFocus() && (isNull ? text() != specialValueText() : cleanText() != textFromValue(value()));
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
