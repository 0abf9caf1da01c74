// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/units/bytes.h"

#include <QObject>
#include <QString>

namespace headroom {

/// How figures are shown, the same in every view. One object of the window; views keep a pointer, write every amount
/// through it and relabel themselves on changed().
class DisplaySettings : public QObject
{
    Q_OBJECT
public:
    explicit DisplaySettings(QObject *parent = nullptr);

    ByteUnit unit() const { return m_unit; }
    void setUnit(ByteUnit unit);

    /// "15.42 GiB", "512 B": the unit that suits the amount.
    QString bytes(Bytes bytes, int decimals = 2) const;
    /// The number in GiB or GB alone, for axes and columns whose heading carries gigaName().
    QString giga(Bytes bytes, int decimals = 2) const;
    /// "GiB" or "GB".
    QString gigaName() const;
    /// Bytes in one GiB or GB: divide by it for an axis.
    double gigaBytes() const;

signals:
    void changed();

private:
    ByteUnit m_unit = ByteUnit::Binary;
};

} // namespace headroom
