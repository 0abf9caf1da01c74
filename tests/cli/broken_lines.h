// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>

#include <vector>

/// A line of JSON lines that is no plan, or a plan that nobody can run.
struct BrokenLine {
    const char *kind;  ///< what is broken about it
    QByteArray line;   ///< without its line feed
    const char *where; ///< the place that the error must name; null: the document as a whole, whatever is said of it
};

/// Every way of breaking a line that we could think of.
std::vector<BrokenLine> brokenLines();
