// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model_config.h"
#include "core/units/strict_json.h"

namespace headroom {

/// readModelConfig() of a config.json that stands within another document: the Issue's line is that document's.
Result<ModelConfig> readModelConfig(const JsonValue &json, std::string_view where);

} // namespace headroom
