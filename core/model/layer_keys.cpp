// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/layer_keys.h"

#include "core/model/config_limits.h"

#include <algorithm>

#include <fmt/format.h>

namespace headroom {

namespace {

/// layer_types: which layers attend within the window; nothing where the key is missing.
std::optional<std::vector<bool>> readLayerTypes(ConfigReader &reader, std::size_t count)
{
    const JsonValue *types = reader.find("layer_types");
    if (types == nullptr)
        return std::nullopt;
    const auto *list = types->array();
    if (list == nullptr || list->size() != count) {
        reader.fail(types->line, "layer_types", fmt::format("must be a list of {} strings, one for each layer", count), "or leave it out");
        return std::nullopt;
    }
    std::vector<bool> sliding(count, false);
    for (std::size_t i = 0; i < count; ++i) {
        const std::string *type = (*list)[i].string();
        if (type == nullptr || (*type != "full_attention" && *type != "sliding_attention")) {
            reader.fail((*list)[i].line, fmt::format("layer_types[{}]", i), "must be \"full_attention\" or \"sliding_attention\"",
                        "other kinds of attention are not executed by this version's engine yet");
            return std::nullopt;
        }
        sliding[i] = *type == "sliding_attention";
    }
    return sliding;
}

} // namespace

std::vector<bool> readRotaryLayers(ConfigReader &reader, std::size_t count)
{
    const std::int64_t interval = reader.count("no_rope_layer_interval", 4, mostLayerNumber);
    std::vector<bool> rotary(count, true);
    const JsonValue *layers = reader.find("no_rope_layers");
    if (layers == nullptr) {
        for (std::size_t i = 0; i < count; ++i)
            rotary[i] = (static_cast<std::int64_t>(i) + 1) % interval != 0;
        return rotary;
    }
    const auto *list = layers->array();
    if (list == nullptr || list->size() < count) {
        reader.fail(layers->line, "no_rope_layers", fmt::format("must be a list of {} numbers, one for each layer", count),
                    "1 where a layer rotates, 0 where it does not; or leave it out");
        return rotary;
    }
    for (std::size_t i = 0; i < count; ++i) {
        const std::optional<std::int64_t> flag = (*list)[i].wholeNumber();
        if (!flag) {
            reader.fail((*list)[i].line, fmt::format("no_rope_layers[{}]", i), "must be 0 or 1", "1 where a layer rotates");
            return rotary;
        }
        rotary[i] = *flag != 0;
    }
    return rotary;
}

std::optional<std::int64_t> readWindow(ConfigReader &reader, const ModelFamily &family)
{
    const bool switched = family.window == WindowRule::SwitchedOn || family.window == WindowRule::AllSwitchedOn ||
                          family.window == WindowRule::Qwen2Moe || family.window == WindowRule::WithoutRope;
    if (family.window == WindowRule::Never || (switched && !reader.flag("use_sliding_window", false)) || reader.isNull("sliding_window"))
        return std::nullopt;
    if (family.windowTokens == 0 && reader.find("sliding_window") == nullptr)
        return std::nullopt;
    return reader.count("sliding_window", family.windowTokens, mostPositions);
}

std::vector<bool> readSlidingLayers(ConfigReader &reader, const ModelConfig &config, const ModelFamily &family)
{
    const auto count = static_cast<std::size_t>(config.layers);
    // transformers checks it in all families, also where nothing reads it
    const std::optional<std::vector<bool>> given = config.modelType == "granitemoehybrid" ? std::nullopt : readLayerTypes(reader, count);
    if (family.window == WindowRule::Never)
        return {};
    if (family.window == WindowRule::Always || family.window == WindowRule::AllSwitchedOn)
        return config.slidingWindow ? std::vector<bool>(count, true) : std::vector<bool>();

    const std::int64_t first = reader.countFromZero("max_window_layers", 28, mostLayerNumber);
    const std::int64_t pattern = family.readsPattern && !given
                                     ? reader.count("sliding_window_pattern", family.windowPattern, mostLayerNumber)
                                     : family.windowPattern;
    if (!config.slidingWindow) {
        const bool switchedOff = family.window == WindowRule::Qwen2Moe && !reader.flag("use_sliding_window", false);
        if (switchedOff) // a window of 0 tokens (Qwen2MoeConfig)
            return given.value_or(std::vector<bool>());
        // Ministral, CWM and Qwen2-MoE make a mask of sliding attention whether a layer needs it or not.
        const bool always =
            family.window == WindowRule::Listed || family.window == WindowRule::PatternFromFirst || family.window == WindowRule::Qwen2Moe;
        const bool listed = given && std::find(given->begin(), given->end(), true) != given->end();
        if (always || listed || (family.window == WindowRule::Pattern && !given))
            reader.fail(reader.lineOf("sliding_window", 0), "sliding_window", "layers of sliding attention need a window",
                        "give its number of tokens");
        return {};
    }
    if (given)
        return *given;
    std::vector<bool> sliding(count, false);
    for (std::size_t i = 0; i < count; ++i) {
        const auto layer = static_cast<std::int64_t>(i);
        switch (family.window) {
        case WindowRule::SwitchedOn: sliding[i] = layer >= first; break;
        case WindowRule::Qwen2Moe: sliding[i] = (layer + 1) % 2 != 0 && layer < first; break;
        case WindowRule::WithoutRope: sliding[i] = !config.rotaryLayers[i]; break;
        case WindowRule::Pattern: sliding[i] = (layer + 1) % pattern != 0; break;
        case WindowRule::PatternFromFirst: sliding[i] = layer % pattern != 0; break;
        case WindowRule::Listed: sliding[i] = true; break;
        case WindowRule::Never:
        case WindowRule::AllSwitchedOn:
        case WindowRule::Always: break;
        }
    }
    return sliding;
}

} // namespace headroom
