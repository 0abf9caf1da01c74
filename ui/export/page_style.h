// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QColor>

/// What all that stands on a page shares; lengths in points.
namespace headroom::pagestyle {

inline constexpr double margin = 42;

inline constexpr QColor ink(0x1a, 0x1a, 0x1a);
inline constexpr QColor muted(0x59, 0x59, 0x59);
inline constexpr QColor faint(0xd0, 0xd0, 0xd0);

} // namespace headroom::pagestyle
