// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model_config.h"

#include <array>
#include <vector>

namespace headroom {

/// The rows in which parameters are summed up for people.
enum class ParameterGroup : std::uint8_t { Embedding, Attention, Mlp, Norm, Head, Adapter };

/// One parameter tensor of the base model, as `named_parameters()` would list it.
struct Parameter {
    std::string name;                ///< "model.layers.0.self_attn.q_proj.weight"
    std::vector<std::int64_t> shape; ///< [out_features, in_features] for a Linear
    ParameterGroup group = ParameterGroup::Embedding;
    int layer = -1; ///< decoder layer; -1: outside the layers

    std::int64_t elements() const;
};

/// Every parameter tensor in module order (embedding, layers, final norm, head unless tied).
std::vector<Parameter> parameterInventory(const ModelConfig &config);

/// The sum of all elements; the same as adding up the inventory, without building it.
std::int64_t parameterCount(const ModelConfig &config);

} // namespace headroom
