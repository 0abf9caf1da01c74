// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/units/result.h"

namespace headroom {

std::string toString(const Issue &issue)
{
    std::string text = issue.file;
    if (issue.line > 0) {
        if (text.empty())
            text = "line ";
        else
            text += ':';
        text += std::to_string(issue.line);
    }
    if (!text.empty())
        text += ": ";
    if (!issue.where.empty())
        text += issue.where + ": ";
    text += issue.what;
    if (!issue.hint.empty())
        text += " (" + issue.hint + ')';
    return text;
}

} // namespace headroom
