// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Keys of a config.json that only some families have. Defaults are those of transformers 5.24, models/*/configuration_*.py.
#pragma once

#include "core/model/config_reader.h"
#include "core/model/model_config.h"
#include "core/model/model_families.h"

#include <string_view>

namespace headroom {

/// From now on the reader finds keys by the other names that this model type has for them.
void useAliases(ConfigReader &reader, std::string_view modelType);

bool hasLatentAttention(std::string_view modelType);
/// Multi-head latent attention. Its classes call head_dim what is rotated (DeepseekV3Config.__post_init__).
void readLatentAttention(ConfigReader &reader, ModelConfig &config);
void readExperts(ConfigReader &reader, ModelConfig &config, const ModelFamily &family);
/// granitemoehybrid: attention and state-space layers mixed; experts and a rotation are optional.
void readHybrid(ConfigReader &reader, ModelConfig &config);
void readOpt(ConfigReader &reader, ModelConfig &config);
void readFalcon(ConfigReader &reader, ModelConfig &config);
void readBloom(ConfigReader &reader, ModelConfig &config);
void readMpt(ConfigReader &reader, ModelConfig &config);
void readGptNeo(ConfigReader &reader, ModelConfig &config);

} // namespace headroom
