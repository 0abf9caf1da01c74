// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDoubleSpinBox>

#include <optional>

namespace headroom {

/// A spin box for a field's number, whole up to 2^53 or real, with its unit, and with a word for "not set" where the field
/// may be null. Typed text counts when it is finished (Enter, or focus leaves), so that typing 8192 is one change.
class NumberBox : public QDoubleSpinBox
{
    Q_OBJECT
public:
    explicit NumberBox(QWidget *parent = nullptr);

    /// Whole numbers; on a logarithmic field the arrows step by a tenth of the number's magnitude.
    void setWholeRange(double minimum, double maximum, bool logarithmic);
    void setRealRange(double minimum, double maximum);
    /// Written behind the number: "8 micro-batches", "1 micro-batch".
    void setUnit(const QString &unit);
    /// Makes the field nullable: one below the minimum, shown as this text, stands for null.
    void setNullText(const QString &text);

    /// Shows a number; emits nothing. What is being typed stays.
    void setNumber(std::optional<double> number);
    std::optional<double> number() const;
    /// Whether something was typed that is not finished.
    bool isPending() const;

protected:
    void wheelEvent(QWheelEvent *event) override;
    QString textFromValue(double value) const override;

private:
    void updateSuffix();

    bool m_nullable = false;
    QString m_unit, m_unitOfOne;
};

} // namespace headroom
