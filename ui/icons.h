// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QIcon>
#include <QPalette>
#include <QString>

namespace headroom {

/// resources/icons/<name>.svg in the palette's text colours (normal and disabled). The drawings are black; icons are made
/// anew when the palette changes.
QIcon themedIcon(const QString &name, const QPalette &palette);
/// The same in one colour.
QIcon colouredIcon(const QString &name, const QColor &colour);
/// The program's pictogram.
QIcon programIcon();

} // namespace headroom
