// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model_config.h"

#include <span>

namespace headroom {

/// A model shipped with Headroom (presets/models.json, embedded at build time).
struct ModelPreset {
    std::string id;              ///< Hugging Face id, "Qwen/Qwen3-8B"
    std::string family;          ///< "Qwen3"
    std::string modelType;       ///< "qwen3"
    std::int64_t parameters = 0; ///< elements of all parameters, a tied head once; 0: not known
    bool supported = false;
    std::string unsupportedReason; ///< empty where supported
    ModelConfig config;            ///< valid where supported
    std::string configText;        ///< its config.json, as compact JSON
    std::string source;            ///< where the figures come from
};

/// All presets, in the order of the file: families together, small to large.
std::span<const ModelPreset> modelPresets();

/// The preset with this id (exactly, or but for case), or null.
const ModelPreset *findModelPreset(std::string_view id);

} // namespace headroom
