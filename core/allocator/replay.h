// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/units/result.h"

#include <string>
#include <string_view>

namespace headroom {

/// `headroom-cli replay-allocator`: one line `{"config": {...}, "events": [[1, id, bytes, stream] | [-1, id], ...]}` in,
/// one line `{"after": [[allocated, reserved], ...], "peak_allocated", "peak_reserved", "out_of_memory"}` out.
/// An event list may end early at an out-of-memory error, whose figures are then given. Unknown ids, an id allocated twice,
/// negative sizes, unknown options are an Issue.
Result<std::string> replayAllocatorLine(std::string_view json);

} // namespace headroom
