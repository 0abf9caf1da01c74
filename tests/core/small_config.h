// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model_config.h"
#include "core/model/parameters.h"

#include <string>
#include <string_view>

/// A small config.json, for the tests that read one.
namespace headroom::test {

inline constexpr std::string_view smallLlama =
    R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 1000)";

/// The small config with more keys, for another type where named.
inline Result<ModelConfig> small(std::string_view more = {}, std::string_view type = "llama")
{
    std::string text(smallLlama);
    text.replace(text.find("llama"), 5, type);
    if (!more.empty())
        text.append(", ").append(more);
    return readModelConfig(text + '}');
}

inline std::int64_t summed(const ModelConfig &config)
{
    std::int64_t sum = 0;
    for (const Parameter &parameter : parameterInventory(config))
        sum += parameter.elements();
    return sum;
}

} // namespace headroom::test
