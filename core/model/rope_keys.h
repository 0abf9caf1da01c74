// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Keys of a config.json that say how heads are rotated. Defaults are those of transformers 5.24, models/*/configuration_*.py. What is
// wrong with a key is left with the reader.
#pragma once

#include "core/model/config_reader.h"
#include "core/model/model_config.h"
#include "core/model/model_families.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace headroom {

/// Whether the class names a number of rotated dimensions (rotary_dim) and has a table of them.
bool isGptJ(std::string_view modelType);

/// The kind of rotary embedding, {"rope_type" or "type": ...}: one of "default", "linear", "dynamic", "yarn", "longrope", "llama3".
/// `sliding`: of layers of sliding attention, where those have one of their own.
std::string readRopeType(ConfigReader &reader, const ModelConfig &config, bool sliding);

/// How many of a head's dimensions are rotated: int(head_dim * partial_rotary_factor), and one more where that is odd, for the
/// cosines are made for pairs. Phi, StableLM and Persimmon cut out the odd number, and stop.
std::int64_t readRotaryDim(ConfigReader &reader, const ModelConfig &config, const ModelFamily &family);

/// Says that a head of an odd width cannot be rotated.
void failOddHead(ConfigReader &reader, const ModelConfig &config);

/// Ministral 3 scales its queries by two of the rotary parameters, which transformers fills in where there are none at all, and the
/// number of positions for three kinds of rotation (modeling_ministral3.py: get_llama_4_attn_scale).
void checkMinistral3Rope(ConfigReader &reader, const ModelConfig &config);

} // namespace headroom
