// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/rope_keys.h"

#include "core/units/text.h"

#include <array>
#include <optional>

#include <fmt/format.h>

namespace headroom {

namespace {

constexpr std::array<std::string_view, 6> ropeTypes{"default", "linear", "dynamic", "yarn", "longrope", "llama3"};
constexpr std::int64_t gptJRotaryDim = 64; ///< GPTJConfig, CodeGenConfig: rotary_dim

/// rope_parameters (transformers 5) or rope_scaling (before); null where neither is given. Families whose kinds of layer
/// rotate differently hold an object for each.
const JsonValue *findRope(ConfigReader &reader, std::string_view &key, std::string_view attention = "full_attention")
{
    for (const std::string_view candidate : {std::string_view("rope_parameters"), std::string_view("rope_scaling")}) {
        const JsonValue *rope = reader.find(candidate);
        if (rope == nullptr)
            continue;
        if (rope->object() == nullptr) {
            reader.fail(rope->line, candidate, fmt::format("must be an object, not {}", rope->typeName()),
                        R"(for example {"rope_type": "default"})");
            return nullptr;
        }
        key = candidate;
        const JsonValue *own = rope->find(attention);
        return own != nullptr && own->object() != nullptr ? own : rope;
    }
    return nullptr;
}

} // namespace

std::string readRopeType(ConfigReader &reader, const ModelConfig &config, bool sliding)
{
    std::string_view key;
    const JsonValue *rope = findRope(reader, key, sliding ? "sliding_attention" : "full_attention");
    // Where the object is not one for each kind of attention it tells how full attention rotates.
    if (sliding && (rope == nullptr || rope == reader.find(key)))
        return "default";
    if (rope == nullptr)
        return config.modelType == "gpt_oss" || config.modelType == "ministral3" ? "yarn"
               : config.modelType == "cwm" || config.modelType == "apertus"      ? "llama3"
                                                                                 : "default";
    const JsonValue *type = rope->find("rope_type");
    if (type == nullptr)
        type = rope->find("type");
    if (type == nullptr || type->isNull())
        return "default";
    const std::string path = joinPath(key, "rope_type");
    const std::string *name = type->string();
    if (name == nullptr) {
        reader.fail(type->line, path, fmt::format("must be a string, not {}", type->typeName()), "one of " + orList(ropeTypes));
        return {};
    }
    if (config.modelType == "phi3" && (*name == "su" || *name == "yarn"))
        return "longrope"; // as Phi3Config reads its older names
    if (config.modelType == "phi3" && *name != "longrope" && *name != "default") {
        reader.fail(type->line, path, fmt::format("\"{}\": Phi3Config takes longrope alone, and transformers stops", excerpt(*name)),
                    "write longrope, or leave it out");
        return {};
    }
    if (config.modelType == "hunyuan_v1_dense" && *name == "dynamic" && rope->find("alpha") != nullptr)
        return "default"; // "alpha" changes the base alone (HunYuanDenseV1RotaryEmbedding: ntk_alpha)
    for (const std::string_view known : ropeTypes)
        if (*name == known)
            return *name;
    reader.fail(type->line, path, fmt::format("\"{}\" is not a kind of rotary embedding that this version knows", excerpt(*name)),
                "one of " + orList(ropeTypes));
    return {};
}

bool isGptJ(std::string_view modelType) { return modelType == "gptj" || modelType == "codegen"; }

void failOddHead(ConfigReader &reader, const ModelConfig &config)
{
    reader.fail(reader.lineOf("head_dim", 0), "head_dim", fmt::format("{} is odd, but rotary embeddings turn pairs", config.headDim),
                "give an even head_dim");
}

std::int64_t readRotaryDim(ConfigReader &reader, const ModelConfig &config, const ModelFamily &family)
{
    if (isGptJ(config.modelType)) { // a number of dimensions; null: all of the head
        if (reader.isNull("rotary_dim"))
            reader.fail(reader.lineOf("rotary_dim", 0), "rotary_dim", "must be a number of dimensions, not null",
                        "transformers takes cosines as wide as the model then, and stops");
        const std::int64_t dim = reader.count("rotary_dim", gptJRotaryDim, config.headDim);
        if (reader.find("rotary_dim") == nullptr && dim > config.headDim)
            reader.fail(reader.lineOf("n_head", 0), "rotary_dim",
                        fmt::format("missing: the {} dimensions that are turned then are more than the {} of a head", dim, config.headDim),
                        "give rotary_dim");
        if (dim % 2 != 0)
            reader.fail(reader.lineOf("rotary_dim", 0), "rotary_dim", fmt::format("{} is odd, but rotary embeddings turn pairs", dim),
                        "give an even number");
        return dim;
    }
    if (!family.readsPartialRotary)
        return config.headDim;
    double factor = family.partialRotary;
    std::string_view key;
    const JsonValue *rope = findRope(reader, key);
    const JsonValue *given = rope == nullptr ? nullptr : rope->find("partial_rotary_factor");
    if (given == nullptr || given->isNull()) {
        key = family.partialRotaryKey;
        given = reader.find(key);
    }
    if (given != nullptr && !given->isNull()) {
        const std::optional<double> number = given->number();
        if (!number || !(*number > 0.0) || *number > 1.0) {
            reader.fail(given->line, key, "the rotated part of a head must be a number above 0 and at most 1", "for example 0.5");
            return config.headDim;
        }
        factor = *number;
    }
    const auto dim = static_cast<std::int64_t>(static_cast<double>(config.headDim) * factor);
    const bool cutsOut = config.modelType == "phi" || config.modelType == "stablelm" || config.modelType == "persimmon";
    const bool whole = dim == config.headDim; // refused with head_dim
    if (dim < 1 || (dim % 2 != 0 && cutsOut && !whole))
        reader.fail(given == nullptr ? 0 : given->line, family.partialRotaryKey,
                    fmt::format("of {} dimensions {} would be rotated, but rotary embeddings turn pairs", config.headDim, dim),
                    "give a factor that leaves an even number");
    if (dim % 2 != 0 && whole)
        failOddHead(reader, config);
    return dim + dim % 2;
}

void checkMinistral3Rope(ConfigReader &reader, const ModelConfig &config)
{
    std::string_view key;
    const JsonValue *rope = findRope(reader, key);
    if (rope == nullptr || rope->object() == nullptr || rope->object()->empty())
        return;
    const bool filledIn = config.ropeType == "yarn" || config.ropeType == "llama3" || config.ropeType == "longrope";
    for (const std::string_view needed : {"llama_4_scaling_beta", "original_max_position_embeddings"}) {
        const JsonValue *value = rope->find(needed);
        if ((value == nullptr || !value->number()) && !(filledIn && value == nullptr && needed != "llama_4_scaling_beta"))
            reader.fail(value == nullptr ? rope->line : value->line, joinPath(key, needed),
                        value == nullptr ? "missing: transformers scales queries by it, and stops"
                                         : fmt::format("must be a number, not {}", value->typeName()),
                        "take it from the model's own config.json");
    }
}

} // namespace headroom
