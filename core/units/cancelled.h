// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <stop_token>

namespace headroom {

/// Thrown by what is long, where it is told to stop.
struct Cancelled {
};

inline void throwIfCancelled(const std::stop_token &cancel)
{
    if (cancel.stop_requested())
        throw Cancelled{};
}

} // namespace headroom
