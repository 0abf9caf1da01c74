// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/display_settings.h"

namespace headroom {

DisplaySettings::DisplaySettings(QObject *parent)
    : QObject(parent)
{}

void DisplaySettings::setUnit(ByteUnit unit)
{
    if (unit == m_unit)
        return;
    m_unit = unit;
    emit changed();
}

QString DisplaySettings::bytes(Bytes bytes, int decimals) const { return QString::fromStdString(formatBytes(bytes, m_unit, decimals)); }

QString DisplaySettings::giga(Bytes bytes, int decimals) const { return QString::fromStdString(formatGiga(bytes, m_unit, decimals)); }

QString DisplaySettings::gigaName() const { return QLatin1String(headroom::gigaName(m_unit)); }

double DisplaySettings::gigaBytes() const { return m_unit == ByteUnit::Binary ? 1024.0 * 1024.0 * 1024.0 : 1e9; }

} // namespace headroom
