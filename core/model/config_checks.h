// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/config_reader.h"
#include "core/model/model_config.h"
#include "core/model/model_families.h"

namespace headroom {

/// Refuses values of keys that move no memory but that transformers 5.24 would not build the model with, or that make no sense:
/// a config.json that holds them is not the one that is meant. `config` has its sizes already. null is left to pass as if the
/// key were missing: many config.json on the Hub hold it where the class asks for a number.
void checkConfigKeys(ConfigReader &reader, const ModelConfig &config, const ModelFamily &family);

} // namespace headroom
