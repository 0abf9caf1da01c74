// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/family_keys.h"

#include "core/model/config_limits.h"
#include "core/units/checked.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace headroom {

namespace {

/// attribute_map of the config classes (transformers 5.24), but for the names of what every config.json says (model_config.cpp).
constexpr KeyAlias keyAliases[] = {
    {"mixtral", "num_experts", "num_local_experts"},
    {"qwen3_moe", "num_experts", "num_local_experts"},
    {"gpt_oss", "num_experts", "num_local_experts"},
    {"olmoe", "num_local_experts", "num_experts"},
    {"exaone", "layer_norm_epsilon", "rms_norm_eps"},
    {"exaone", "activation_function", "hidden_act"},
    {"internlm3", "qkv_bias", "attention_bias"},
    {"internlm3", "bias", "mlp_bias"},
    {"deepseek_v3", "num_local_experts", "n_routed_experts"},
    {"glm4_moe_lite", "num_local_experts", "n_routed_experts"},
    {"glm4_moe_lite", "head_dim", "qk_rope_head_dim"},
    {"glm4_moe", "num_local_experts", "n_routed_experts"},
    {"sarvam_moe", "num_experts", "n_routed_experts"},
    {"sarvam_moe", "num_local_experts", "n_routed_experts"},
    {"sarvam_moe", "num_shared_experts", "n_shared_experts"},
    {"sarvam_moe", "use_qkv_bias", "attention_bias"},
    {"granitemoehybrid", "layers_block_type", "layer_types"},
};

/// Which layers have an MLP instead of experts: mlp_only_layers, and all but every decoder_sparse_step-th.
std::vector<bool> readDenseLayers(ConfigReader &reader, const ModelConfig &config)
{
    const std::int64_t step = reader.count("decoder_sparse_step", 1, mostLayerNumber);
    std::vector<bool> dense(static_cast<std::size_t>(config.layers), false);
    for (std::size_t i = 0; i < dense.size(); ++i)
        dense[i] = (static_cast<std::int64_t>(i) + 1) % step != 0;
    if (const JsonValue *layers = reader.find("mlp_only_layers")) {
        const auto *list = layers->array();
        if (list == nullptr) {
            reader.fail(layers->line, "mlp_only_layers", fmt::format("must be a list of layers' numbers, not {}", layers->typeName()),
                        "or leave it out");
            return {};
        }
        for (std::size_t i = 0; i < list->size(); ++i) {
            const std::optional<std::int64_t> layer = (*list)[i].wholeNumber();
            if (!layer || *layer < 0) {
                reader.fail((*list)[i].line, fmt::format("mlp_only_layers[{}]", i), "must be a layer's number, from 0 on", "for example 0");
                return {};
            }
            if (*layer < config.layers)
                dense[static_cast<std::size_t>(*layer)] = true;
        }
    }
    return std::find(dense.begin(), dense.end(), true) == dense.end() ? std::vector<bool>() : dense;
}

/// mlp_layer_types: "dense" or "sparse" for each layer; all but the first have experts where it is missing.
void readMlpTypes(ConfigReader &reader, ModelConfig &config)
{
    config.denseLayers.assign(static_cast<std::size_t>(config.layers), false);
    config.denseLayers.front() = true;
    const JsonValue *types = reader.find("mlp_layer_types");
    if (types == nullptr)
        return;
    const auto *list = types->array();
    if (list == nullptr || static_cast<std::int64_t>(list->size()) != config.layers)
        return reader.fail(types->line, "mlp_layer_types", fmt::format("must be a list of {} strings, one for each layer", config.layers),
                           "or leave it out");
    for (std::size_t i = 0; i < list->size(); ++i) {
        const std::string *type = (*list)[i].string();
        if (type == nullptr || (*type != "dense" && *type != "sparse"))
            return reader.fail((*list)[i].line, fmt::format("mlp_layer_types[{}]", i), "must be \"dense\" or \"sparse\"",
                               "\"sparse\" where a layer has experts");
        config.denseLayers[i] = *type == "dense";
    }
    if (std::find(config.denseLayers.begin(), config.denseLayers.end(), true) == config.denseLayers.end())
        config.denseLayers.clear();
}

/// Experts of GLM-4.5 and its likes, in all but the first layers.
void readScoredExperts(ConfigReader &reader, ModelConfig &config, const ModelFamily &family)
{
    config.experts = reader.count("n_routed_experts", family.experts, mostWidth);
    config.expertsPerToken = reader.count("num_experts_per_tok", family.expertsPerToken, mostWidth);
    config.expertIntermediateSize = reader.count("moe_intermediate_size", family.expertWidth, mostIntermediate);
    // Of 0 shared experts an MLP without width is made, which runs.
    config.sharedExpertIntermediateSize =
        checkedMultiply(reader.countFromZero("n_shared_experts", 1, mostWidth), config.expertIntermediateSize);
    const bool deepSeek = config.modelType == "deepseek_v3";
    config.expertGroups = reader.count("n_group", deepSeek ? 8 : 1, mostWidth);
    config.bestExpertGroups = reader.count("topk_group", deepSeek ? 4 : 1, mostWidth);
    config.normalisesExperts = reader.flag("norm_topk_prob", true);
    if (reader.issue())
        return;
    if (config.experts % config.expertGroups != 0 || config.experts / config.expertGroups < 2)
        reader.fail(reader.lineOf("n_group", 0), "n_group",
                    fmt::format("{} experts cannot be shared out among {} groups of two or more", config.experts, config.expertGroups),
                    "the number of experts must be a multiple of n_group, at least twice as large");
    else if (config.bestExpertGroups > config.expertGroups)
        reader.fail(reader.lineOf("topk_group", 0), "topk_group",
                    fmt::format("of {} groups {} cannot be chosen", config.expertGroups, config.bestExpertGroups), "lower it");
    else if (config.expertsPerToken > config.experts)
        reader.fail(reader.lineOf("num_experts_per_tok", 0), "num_experts_per_tok",
                    fmt::format("a token cannot go to {} of {} experts", config.expertsPerToken, config.experts), "lower it");
    if (config.modelType == "glm4_moe_lite")
        return readMlpTypes(reader, config);
    const std::int64_t dense = reader.countFromZero("first_k_dense_replace", deepSeek ? 3 : 1, mostLayerNumber);
    if (dense > 0) {
        config.denseLayers.assign(static_cast<std::size_t>(config.layers), false);
        std::fill_n(config.denseLayers.begin(), std::min(dense, config.layers), true);
    }
}

} // namespace

void useAliases(ConfigReader &reader, std::string_view modelType) { reader.useAliases(keyAliases, modelType); }

bool hasLatentAttention(std::string_view modelType)
{
    return modelType == "deepseek_v3" || modelType == "glm4_moe_lite" || modelType == "youtu";
}

namespace {

/// DeepseekV3Config and YoutuConfig keep a head_dim that is given, and make their cosines that wide.
void checkOwnHeadDim(ConfigReader &reader, const ModelConfig &config)
{
    const bool null = reader.isNull("head_dim");
    if (config.modelType == "glm4_moe_lite" || (!null && reader.find("head_dim") == nullptr))
        return;
    const std::int64_t dim = null ? config.hiddenSize / config.heads : reader.count("head_dim", config.rotaryDim, mostWidth);
    if (dim != config.rotaryDim)
        reader.fail(reader.lineOf("head_dim", 0), "head_dim",
                    fmt::format("cosines for {} dimensions are made for it, but qk_rope_head_dim turns {}: transformers stops", dim,
                                config.rotaryDim),
                    "leave it out, or give both the same number");
}

} // namespace

void readLatentAttention(ConfigReader &reader, ModelConfig &config)
{
    const bool lite = config.modelType == "glm4_moe_lite";
    config.latentWidth = reader.count("kv_lora_rank", 512, mostWidth);
    config.queryLatentWidth = reader.isNull("q_lora_rank") ? 0 : reader.count("q_lora_rank", lite ? 768 : 1536, mostWidth);
    config.rotaryDim = config.headDim = reader.count("qk_rope_head_dim", 64, mostWidth);
    config.plainHeadDim = reader.count("qk_nope_head_dim", lite ? 192 : 128, mostWidth);
    config.valueHeadDim = reader.count("v_head_dim", lite ? 256 : 128, mostWidth);
    config.interleavedRotation = reader.flag("rope_interleave", true);
    if (config.rotaryDim % 2 != 0)
        reader.fail(reader.lineOf("qk_rope_head_dim", 0), "qk_rope_head_dim",
                    fmt::format("{} is odd, but rotary embeddings turn pairs", config.rotaryDim), "give an even number");
    checkOwnHeadDim(reader, config);
}

void readExperts(ConfigReader &reader, ModelConfig &config, const ModelFamily &family)
{
    if (config.modelType == "glm4_moe" || config.modelType == "sarvam_moe" || hasLatentAttention(config.modelType))
        return readScoredExperts(reader, config, family);
    const std::string_view key = reader.find("num_local_experts") != nullptr ? "num_local_experts" : "num_experts";
    const bool optional = config.modelType == "granitemoehybrid"; // 0: none
    config.experts = optional ? reader.countFromZero(key, family.experts, mostWidth) : reader.count(key, family.experts, mostWidth);
    if (config.modelType == "granitemoeshared" || optional)
        config.sharedExpertIntermediateSize = reader.countFromZero("shared_intermediate_size", optional ? 1024 : 0, mostIntermediate);
    if (config.experts == 0)
        return;
    config.expertsPerToken = reader.count("num_experts_per_tok", family.expertsPerToken, mostWidth);
    if (config.expertsPerToken > config.experts)
        reader.fail(reader.lineOf("num_experts_per_tok", 0), "num_experts_per_tok",
                    fmt::format("a token cannot go to {} of {} experts", config.expertsPerToken, config.experts), "lower it");
    config.expertIntermediateSize =
        family.expertWidth > 0 ? reader.count("moe_intermediate_size", family.expertWidth, mostIntermediate) : config.intermediateSize;
    if (family.sharedExpertWidth > 0)
        config.sharedExpertIntermediateSize = reader.count("shared_expert_intermediate_size", family.sharedExpertWidth, mostIntermediate);
    config.normalisesExperts = config.modelType == "mixtral" || reader.flag("norm_topk_prob", false);
    if (config.modelType == "qwen2_moe" || config.modelType == "qwen3_moe")
        config.denseLayers = readDenseLayers(reader, config);
}

namespace {

/// GraniteMoeHybridConfig.validate_architecture, which looks at the sizes of layers that a model need not have.
void checkStateSpaceSizes(ConfigReader &reader, const ModelConfig &config)
{
    const std::int64_t width = checkedMultiply(reader.count("mamba_expand", 2, mostWidth), config.hiddenSize);
    const std::int64_t heads = reader.count("mamba_n_heads", 128, mostWidth);
    const JsonValue *given = reader.find("mamba_d_head");
    const bool derived = given == nullptr || given->string() != nullptr;
    const std::int64_t dim = derived ? width / heads : reader.count("mamba_d_head", 1, mostWidth);
    if (!reader.issue() && (width % heads != 0 || checkedMultiply(dim, heads) != width))
        reader.fail(
            reader.lineOf("mamba_n_heads", 0), "mamba_n_heads",
            fmt::format("{} heads of {} are not mamba_expand times hidden_size, which is {}: transformers stops", heads, dim, width),
            "give a number that divides it, and mamba_d_head what remains, or leave that out");
}

} // namespace

void readHybrid(ConfigReader &reader, ModelConfig &config)
{
    const JsonValue *types = reader.find("layer_types");
    const auto *list = types == nullptr ? nullptr : types->array();
    if (list == nullptr || static_cast<std::int64_t>(list->size()) != config.layers)
        return reader.fail(
            types == nullptr ? 0 : types->line, "layer_types",
            "state-space layers, which this class takes where it says nothing else, are not executed by this version's engine",
            "models whose layers are all \"attention\" are: list one for each layer");
    for (std::size_t i = 0; i < list->size(); ++i) {
        const std::string *type = (*list)[i].string();
        if (type == nullptr || (*type != "attention" && *type != "full_attention"))
            return reader.fail((*list)[i].line, fmt::format("{}[{}]", reader.nameOf("layer_types"), i),
                               "state-space layers are not executed by this version's engine",
                               "models whose layers are all \"attention\" are");
    }
    config.rotates = reader.text("position_embedding_type", "") == "rope";
    checkStateSpaceSizes(reader, config);
}

void readOpt(ConfigReader &reader, ModelConfig &config)
{
    config.embeddingWidth = reader.count("word_embed_proj_dim", config.hiddenSize, mostWidth);
    config.normsFirst = reader.flag("do_layer_norm_before", true);
    config.finalNorm = config.normsFirst && !reader.flag("_remove_final_layer_norm", false);
    if (!reader.flag("layer_norm_elementwise_affine", true))
        reader.fail(reader.lineOf("layer_norm_elementwise_affine", 0), "layer_norm_elementwise_affine",
                    "norms without parameters are not executed by this version's engine for OPT", "set it to true");
    if (reader.fraction("layerdrop", 0.0) > 0.0)
        reader.fail(reader.lineOf("layerdrop", 0), "layerdrop", "layers left out at random are not executed by this version's engine",
                    "set it to 0");
}

void readFalcon(ConfigReader &reader, ModelConfig &config)
{
    config.alibi = reader.flag("alibi", false);
    config.groupedProjection = reader.flag("new_decoder_architecture", false);
    config.multiQuery = !config.groupedProjection && reader.flag("multi_query", true);
    config.parallelResidual = reader.flag("parallel_attn", true);
    const std::int64_t groups = reader.count("num_kv_heads", config.heads, mostHeads);
    const std::int64_t norms = reader.countFromZero("num_ln_in_parallel_attn", config.groupedProjection ? 2 : 1, mostLayerNumber);
    config.normsApart = config.groupedProjection && norms == 2;
    const auto stops = [&](std::string_view key, std::string what, std::string hint) {
        reader.fail(reader.lineOf(key, 0), key, std::move(what), std::move(hint));
    };
    if (config.groupedProjection && !config.parallelResidual)
        stops("parallel_attn", "transformers stops: with new_decoder_architecture attention and MLP stand side by side", "set it to true");
    else if (config.groupedProjection && norms != 1 && norms != 2)
        stops("num_ln_in_parallel_attn", fmt::format("{}: transformers stops with another number than 1 or 2", norms), "leave it out");
    else if (!config.groupedProjection && config.parallelResidual && norms == 2)
        stops("num_ln_in_parallel_attn", "transformers stops: two norms need new_decoder_architecture", "leave it out");
    else if (config.groupedProjection && config.heads % groups != 0)
        stops("num_kv_heads", fmt::format("{} attention heads cannot be shared out among {} key/value heads", config.heads, groups),
              "num_attention_heads must be a multiple of num_kv_heads");
    else if (!config.groupedProjection && !config.multiQuery && groups != config.heads)
        stops("num_kv_heads", "transformers stops: without multi_query and new_decoder_architecture every head has its own key and value",
              "leave it out");
    config.keyValueHeads = config.groupedProjection ? groups : config.multiQuery ? 1 : config.heads;
}

void readBloom(ConfigReader &reader, ModelConfig &config)
{
    config.alibi = true;
    config.normedResidual = reader.flag("apply_residual_connection_post_layernorm", false);
    if (reader.flag("slow_but_exact", false) && reader.count("pretraining_tp", 1, mostWidth) > 1)
        reader.fail(reader.lineOf("slow_but_exact", 0), "slow_but_exact",
                    "Linears computed in slices are not executed by this version's engine", "set it to false");
}

void readMpt(ConfigReader &reader, ModelConfig &config)
{
    config.alibi = true;
    const JsonValue *attention = reader.find("attn_config");
    if (attention == nullptr)
        return;
    if (attention->object() == nullptr)
        return reader.fail(attention->line, "attn_config", fmt::format("must be an object, not {}", attention->typeName()),
                           "or leave it out");
    const auto number = [&](std::string_view key) {
        const JsonValue *value = attention->find(key);
        if (value == nullptr || value->isNull())
            return 0.0;
        const std::optional<double> given = value->number();
        if (!given)
            reader.fail(value->line, fmt::format("attn_config.{}", key), fmt::format("must be a number, not {}", value->typeName()),
                        "or leave it out");
        return given.value_or(0.0);
    };
    config.clipsProjections = number("clip_qkv") != 0.0;
    if (number("attn_pdrop") != 0.0) // MptAttentionConfig: attn_pdrop: int
        reader.fail(attention->find("attn_pdrop")->line, "attn_config.attn_pdrop",
                    "transformers takes whole numbers alone here, so no dropout but 0", "set it to 0");
}

void readGptNeo(ConfigReader &reader, ModelConfig &config)
{
    constexpr std::string_view key = "attention_types";
    constexpr const char *hint = R"(for example [[["global", "local"], 12]]: both kinds in turn, twelve times)";
    const JsonValue *types = reader.find(key);
    std::vector<bool> local;
    if (types == nullptr) { // [[["global", "local"], 12]]
        for (int i = 0; i < 24; ++i)
            local.push_back(i % 2 != 0);
    } else {
        const auto *groups = types->array();
        if (groups == nullptr)
            return reader.fail(types->line, key, fmt::format("must be a list, not {}", types->typeName()), hint);
        for (const JsonValue &group : *groups) {
            const auto *pair = group.array();
            const auto *kinds = pair != nullptr && pair->size() == 2 ? pair->front().array() : nullptr;
            const std::optional<std::int64_t> times = kinds == nullptr ? std::nullopt : pair->back().wholeNumber();
            if (!times || *times < 0 || *times > mostLayers)
                return reader.fail(group.line, key, "each entry must be a list of kinds and how often they come", hint);
            for (std::int64_t i = 0; i < *times && static_cast<std::int64_t>(local.size()) <= config.layers; ++i)
                for (const JsonValue &kind : *kinds) {
                    const std::string *name = kind.string();
                    if (name == nullptr || (*name != "global" && *name != "local"))
                        return reader.fail(kind.line, key, R"(kinds of attention are "global" and "local")", hint);
                    local.push_back(*name == "local");
                }
        }
    }
    if (static_cast<std::int64_t>(local.size()) != config.layers)
        return reader.fail(types == nullptr ? 0 : types->line, key,
                           types == nullptr ? fmt::format("missing: transformers takes 24 layers then, and stops with {}", config.layers)
                                            : fmt::format("must say of {} layers what they are, as num_layers has them", config.layers),
                           hint);
    config.localLayers = std::move(local);
}

} // namespace headroom
