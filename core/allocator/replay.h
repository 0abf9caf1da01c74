// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/units/result.h"

#include <string>
#include <string_view>

namespace headroom {

/// `headroom-cli replay-allocator`: one line `{"config": {...}, "events": [[1, id, bytes, stream] | [-1, id], ...]}` in, one line
/// `{"after": [[allocated, reserved], ...], "peak_allocated", "peak_reserved", "retries", "out_of_memory"}` out.
///
/// config (all optional, null: not set): capacity_bytes, max_split_size_mb, expandable_segments, roundup_power2_divisions (the
/// option's text), garbage_collection_threshold, memory_fraction. The stream may be left out: 0, the default stream.
/// An id is a whole number that names an allocation until its release; it may then be used again. out_of_memory is null, or
/// `{"event", "tried_bytes", "capacity_bytes", "free_bytes", "allocated_bytes", "reserved_unallocated_bytes", "message"}` with the
/// message as PyTorch 2.4 writes it; the replay then ends, `after` with what is left after the release of the cache.
///
/// Malformed JSON, unknown keys or options, wrong types, sizes below 0 or of 1 EiB and more, an id that is not allocated or is so
/// already, more than 1024 streams or about 800,000 events are an Issue with the place ("events[3]"). Never throws.
Result<std::string> replayAllocatorLine(std::string_view json);

} // namespace headroom
