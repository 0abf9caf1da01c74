// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Keys of a config.json that say what kind each layer is of. Defaults are those of transformers 5.24, models/*/configuration_*.py. What
// is wrong with a key is left with the reader.
#pragma once

#include "core/model/config_reader.h"
#include "core/model/model_config.h"
#include "core/model/model_families.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace headroom {

/// no_rope_layers of smollm3: 1 where a layer rotates; else every n-th layer does not.
std::vector<bool> readRotaryLayers(ConfigReader &reader, std::size_t count);

/// sliding_window, in tokens; nothing where it is null, not given or switched off.
std::optional<std::int64_t> readWindow(ConfigReader &reader, const ModelFamily &family);

/// The layers that attend within the window only; empty: none.
std::vector<bool> readSlidingLayers(ConfigReader &reader, const ModelConfig &config, const ModelFamily &family);

} // namespace headroom
