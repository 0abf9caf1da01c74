// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"

#include <string>

namespace headroom {

/// Every allocation and release of loading and three steps, memory without end, tab-separated, one a line:
/// index, sign, id, bytes, live bytes after it, phase, module, operator, shape, dtype. A trace of PyTorch itself in the
/// same columns can be laid beside it (docs/comparing-traces.md).
std::string writeTraceEvents(const Estimate &estimate);

/// What is saved for backward at the end of the last forward pass: bytes, module, operator, shape, dtype.
std::string writeTraceSaved(const Estimate &estimate);

} // namespace headroom
