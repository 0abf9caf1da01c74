// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/plan/fields.h"

namespace headroom::training {

/// Whether this version's engine executes any plan in which the field applies and has another value than its default: what
/// the field's applicability and unsupported() say of plans of every method under every engine and ZeRO stage. A form has
/// no use for the other fields.
bool canTakeEffect(const Field &field);

} // namespace headroom::training
