// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Defaults are those of transformers 5.24, models/*/configuration_*.py; which fields reach the modules, models/*/modeling_*.py.
#include "core/model/model_config.h"

#include "core/model/config_checks.h"
#include "core/model/config_limits.h"
#include "core/model/config_reader.h"
#include "core/model/family_keys.h"
#include "core/model/layer_keys.h"
#include "core/model/model_families.h"
#include "core/model/model_json.h"
#include "core/model/parameters.h"
#include "core/model/rope_keys.h"
#include "core/units/checked.h"
#include "core/units/text.h"

#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>

namespace headroom {

namespace {

constexpr std::array<std::string_view, 8> activations{"silu",     "swish",     "gelu", "gelu_pytorch_tanh",
                                                      "gelu_new", "gelu_fast", "relu", "relu2"};

/// The names of what every config.json says.
struct Keys {
    std::string_view hidden = "hidden_size", layers = "num_hidden_layers", heads = "num_attention_heads",
                     positions = "max_position_embeddings";

    /// The class's own names, for which the general ones stand in (attribute_map).
    Keys(const ConfigReader &reader, const ModelFamily &family)
    {
        const auto own = [&](std::string_view &key, std::string_view name) {
            if (!name.empty() && reader.find(key) == nullptr)
                key = name;
        };
        own(hidden, family.names.hidden);
        own(layers, family.names.layers);
        own(heads, family.names.heads);
        own(positions, family.names.positions);
        if (family.names.hidden == "n_embed" && reader.find("n_embed") != nullptr)
            hidden = "n_embed"; // which replaces hidden_size (__post_init__)
    }
};

/// Sizes that a class's own code cannot bring together: transformers builds the model, or not even that, and stops in forward.
void refuseWhereClassesStop(ConfigReader &reader, const ModelConfig &config, const Keys &keys)
{
    if (reader.issue())
        return;
    const int line = reader.lineOf(keys.heads, 0);
    if (config.modelType == "codegen" && config.heads % 4 != 0) // mp_num (modeling_codegen.py: _split_heads)
        reader.fail(line, keys.heads, fmt::format("{} is not a multiple of 4, the parts in which CodeGen keeps its heads", config.heads),
                    "give a multiple of 4");
    // BitNet: attn_sub_norm, Helium: o_proj take what attention gives for hidden_size wide, OLMoE: q_norm what it gets.
    const bool asWideAsHidden = config.modelType == "bitnet" || config.modelType == "helium" || config.modelType == "olmoe";
    if (asWideAsHidden && config.heads * config.headDim != config.hiddenSize)
        reader.fail(reader.lineOf("head_dim", line), "head_dim",
                    fmt::format("{} heads of {} are not the hidden size of {}, as the {} class takes them to be", config.heads,
                                config.headDim, config.hiddenSize, config.modelType),
                    config.hiddenSize % config.heads == 0
                        ? fmt::format("write {}", config.hiddenSize / config.heads)
                        : fmt::format("make {} a multiple of {} and leave head_dim out", keys.hidden, keys.heads));
    // Their cosines are made for a head_dim that is given, their heads are hidden_size / num_attention_heads wide.
    if (config.modelType == "stablelm" || config.modelType == "persimmon") {
        const std::int64_t given = reader.count("head_dim", config.headDim, mostWidth);
        ModelConfig other = config;
        other.headDim = given;
        if (given != config.headDim && readRotaryDim(reader, other, *findModelFamily(config.modelType)) !=
                                           readRotaryDim(reader, config, *findModelFamily(config.modelType)))
            reader.fail(reader.lineOf("head_dim", line), "head_dim",
                        fmt::format("{} is another width than that of this class's heads, {}: transformers stops", given, config.headDim),
                        "leave it out");
    }
    if (config.modelType == "internlm3" && config.queryKeyValueBias != config.mlpBias)
        reader.fail(reader.lineOf("qkv_bias", reader.lineOf("bias", reader.lineOf("attention_bias", line))), "qkv_bias",
                    "transformers stops where it is another than bias", "give both the same value");
    if (config.modelType == "iquestcoder" && reader.flag("use_sliding_window", false))
        reader.fail(reader.lineOf("use_sliding_window", line), "use_sliding_window", "transformers stops: this class has no sliding window",
                    "leave it out");
}

void refuseWhatIsNotExecuted(ConfigReader &reader, const ModelConfig &config, const ModelFamily &family)
{
    const bool ownActivation = config.modelType == "apertus" && config.hiddenActivation == "xielu";
    if (!ownActivation && std::find(activations.begin(), activations.end(), config.hiddenActivation) == activations.end())
        reader.fail(reader.lineOf(family.activationKey, 0), family.activationKey,
                    fmt::format("\"{}\" is not executed by this version's engine yet", excerpt(config.hiddenActivation)),
                    "models with " + orList(activations) + " are");
    if (reader.flag("use_bidirectional_attention", false))
        reader.fail(reader.lineOf("use_bidirectional_attention", 0), "use_bidirectional_attention",
                    "attention to later tokens is not executed by this version's engine yet", "set it to false");
    for (const std::string_view key :
         {"add_cross_attention", "reorder_and_upcast_attn", "qk_layernorm", "use_qk_norm", "output_router_logits"})
        if (reader.flag(key, false) && !((key == "use_qk_norm" || key == "qk_layernorm") && config.queryKeyNorm))
            reader.fail(reader.lineOf(key, 0), key, "what it switches on is not executed by this version's engine yet", "set it to false");
    if (reader.find("clip_qkv") != nullptr)
        reader.fail(reader.lineOf("clip_qkv", 0), "clip_qkv", "clipped projections are not executed by this version's engine yet",
                    "set it to null");
    if (reader.fraction("router_jitter_noise", 0.0) > 0.0)
        reader.fail(reader.lineOf("router_jitter_noise", 0), "router_jitter_noise",
                    "noise on the router's input is not executed by this version's engine yet", "set it to 0");
    // gpt-oss is published in mxfp4 and trained in 16 bits: transformers unpacks it while loading (Mxfp4Config(dequantize=True)).
    const JsonValue *stored = reader.find("quantization_config");
    const JsonValue *storedAs = stored == nullptr ? nullptr : stored->find("quant_method");
    const bool unpacked =
        config.modelType == "gpt_oss" && storedAs != nullptr && storedAs->string() != nullptr && *storedAs->string() == "mxfp4";
    if (const JsonValue *value = unpacked ? nullptr : stored)
        reader.fail(value->line, "quantization_config",
                    "a checkpoint that is stored quantised is not executed by this version's engine yet",
                    "take the config.json of the model's 16-bit checkpoint");
    if (const JsonValue *value = reader.find("text_config"))
        reader.fail(value->line, "text_config", "a model of several towers is not executed by this version's engine yet",
                    "take the config.json of a model for text alone");
}

/// A model of several towers: whether the one for text alone is executed.
void explainTowers(const ConfigReader &reader, std::string_view modelType, Issue &refused)
{
    const JsonValue *text = reader.find("text_config");
    const JsonValue *type = text == nullptr ? nullptr : text->find("model_type");
    const std::string *name = type == nullptr ? nullptr : type->string();
    if (name == nullptr)
        return;
    refused.what = fmt::format("{}: models of several towers are not executed by this version's engine yet", excerpt(modelType));
    if (const std::optional<Issue> other = unsupportedReason(*name))
        refused.hint = fmt::format("nor is its text model ({})", other->what);
    else
        refused.hint = fmt::format("for the text model alone give the config.json's text_config, whose model_type is {}", *name);
}

bool isCountable(const ModelConfig &config)
{
    try {
        return parameterCount(config) <= mostParameters;
    } catch (const SizeOverflow &) {
        return false;
    }
}

} // namespace

Result<ModelConfig> readModelConfig(const JsonValue &json, std::string_view where)
{
    if (json.object() == nullptr)
        return Issue{{},
                     json.line,
                     std::string(where),
                     fmt::format("a config.json is an object, not {}", json.typeName()),
                     "paste the file's whole text, from { to }"};

    ConfigReader reader(json, where);
    ModelConfig config;
    if (reader.find("model_type") == nullptr)
        reader.fail(json.line, "model_type", "missing", R"(a config.json must say its architecture, for example "model_type": "llama")");
    config.modelType = reader.text("model_type", "llama");
    if (reader.issue())
        return *reader.issue();
    if (config.modelType == "gpt-sw3") // transformers reads its config as GPT-2's (configuration_auto.py)
        config.modelType = "gpt2";
    if (std::optional<Issue> refused = unsupportedReason(config.modelType)) {
        explainTowers(reader, config.modelType, *refused);
        refused->line = reader.find("model_type")->line;
        refused->where = joinPath(where, "model_type");
        return *refused;
    }
    const ModelFamily &family = *findModelFamily(config.modelType);
    useAliases(reader, config.modelType);

    const Keys keys(reader, family);
    config.hiddenSize = reader.requiredCount(keys.hidden, mostWidth);
    config.layers = reader.requiredCount(keys.layers, mostLayers);
    config.heads = reader.requiredCount(keys.heads, mostHeads);
    const std::string_view width = family.names.intermediate.empty() ? "intermediate_size" : family.names.intermediate;
    if (family.alwaysFourTimesHidden)
        config.intermediateSize = checkedMultiply(4, config.hiddenSize);
    else if (family.fourTimesHidden)
        config.intermediateSize = reader.count(width, checkedMultiply(4, config.hiddenSize), mostIntermediate);
    else if (family.intermediateSize > 0)
        config.intermediateSize = reader.count(width, family.intermediateSize, mostIntermediate);
    else
        config.intermediateSize = reader.requiredCount(width, mostIntermediate);
    config.vocabSize = reader.requiredCount("vocab_size", mostVocabulary);
    config.embeddingWidth = config.hiddenSize;

    // null means "as many as attention heads" in all classes; only an absent key takes the class's number.
    const bool multiQuery = config.modelType == "gpt_bigcode" && reader.flag("multi_query", true);
    const std::int64_t absent = family.keyValueHeads == 0 || reader.isNull("num_key_value_heads") ? config.heads : family.keyValueHeads;
    config.keyValueHeads = multiQuery ? 1 : family.allHeads ? config.heads : reader.count("num_key_value_heads", absent, mostHeads);
    if (!reader.issue() && config.heads % config.keyValueHeads != 0) {
        const JsonValue *value = reader.find("num_key_value_heads");
        reader.fail(reader.lineOf("num_key_value_heads", json.line), "num_key_value_heads",
                    fmt::format("{} attention heads cannot be shared out among {} key/value heads", config.heads, config.keyValueHeads),
                    value != nullptr
                        ? "num_attention_heads must be a multiple of num_key_value_heads"
                        : fmt::format("where the key is missing {} takes {}: write num_key_value_heads", config.modelType, absent));
    }

    const bool readsHeadDim = family.headDimRule != HeadDimRule::Unread;
    const bool givenHeadDim = readsHeadDim && reader.find("head_dim") != nullptr;
    const bool nullHeadDim = readsHeadDim && reader.isNull("head_dim");
    if (family.headDimRule == HeadDimRule::Demanded && !givenHeadDim)
        reader.fail(
            json.line, "head_dim",
            fmt::format("{}: models of type {} need it, transformers stops without", nullHeadDim ? "is null" : "missing", config.modelType),
            "write the width of one head");
    else if (nullHeadDim && family.headDimRule == HeadDimRule::Number)
        reader.fail(json.line, "head_dim",
                    fmt::format("must be a whole number, not null: transformers stops for models of type {}", config.modelType),
                    family.headDim == 0 ? "leave it out for hidden_size / num_attention_heads" : "write the width of one head");
    const bool derivedHeadDim = !givenHeadDim && (nullHeadDim || family.headDim == 0);
    // Some classes demand it; in the others a remainder is lost where head_dim is derived.
    if (!reader.issue() && family.dividesHidden && config.hiddenSize % config.heads != 0)
        reader.fail(reader.lineOf(keys.hidden, json.line), keys.hidden,
                    fmt::format("{} is not a multiple of the {} attention heads", config.hiddenSize, config.heads),
                    fmt::format("{} must be a multiple of {}", keys.hidden, keys.heads));
    if (!reader.issue() && derivedHeadDim && config.hiddenSize < config.heads)
        reader.fail(reader.lineOf(keys.heads, json.line), keys.heads,
                    fmt::format("{} heads cannot share a hidden size of {}", config.heads, config.hiddenSize),
                    "lower it, or give head_dim");
    config.headDim = derivedHeadDim ? config.hiddenSize / config.heads
                     : readsHeadDim ? reader.count("head_dim", family.headDim, mostWidth)
                                    : family.headDim;
    const bool rotatesWhole = !family.learnedPositions && !family.linearBiases && !family.readsPartialRotary && !isGptJ(config.modelType);
    if (!reader.issue() && rotatesWhole && config.headDim % 2 != 0)
        failOddHead(reader, config);

    const bool tableOfPositions = family.learnedPositions || isGptJ(config.modelType) || config.modelType == "mpt";
    config.tableOfPositions = tableOfPositions;
    config.maxPositions = reader.isNull(keys.positions) && !tableOfPositions
                              ? 0
                              : reader.count(keys.positions, family.maxPositions, tableOfPositions ? mostVocabulary : mostPositions);
    config.tiedEmbeddings = reader.flag("tie_word_embeddings", family.tied);
    config.queryKeyValueBias = family.biasKey.empty() ? family.bias : reader.flag(family.biasKey, family.bias);
    config.outputBias = family.outputBiasKey.empty() ? config.queryKeyValueBias && family.biasOnOutput
                                                     : reader.flag(family.outputBiasKey, family.biasOnOutput);
    config.mlpBias = family.biasOnMlp ? config.queryKeyValueBias : family.readsMlpBias && reader.flag("mlp_bias", family.mlpBias);
    const bool scored = config.modelType == "glm4_moe" || config.modelType == "sarvam_moe";
    config.queryKeyNorm = scored ? reader.flag("use_qk_norm", config.modelType == "sarvam_moe") : family.queryKeyNorm;

    if (config.modelType == "persimmon")
        config.queryKeyNorm = reader.flag("qk_layernorm", true);

    refuseWhereClassesStop(reader, config, keys);
    config.ropeType = readRopeType(reader, config, false);
    config.slidingRopeType = readRopeType(reader, config, true);
    config.rotaryDim = readRotaryDim(reader, config, family);
    if (config.modelType == "ministral3")
        checkMinistral3Rope(reader, config);
    if (hasLatentAttention(config.modelType))
        readLatentAttention(reader, config);
    if (config.modelType == "smollm3")
        config.rotaryLayers = readRotaryLayers(reader, static_cast<std::size_t>(config.layers));
    config.slidingWindow = readWindow(reader, family);
    config.slidingLayers = readSlidingLayers(reader, config, family);
    if (!family.attentionDropoutKey.empty())
        config.attentionDropout = reader.fraction(family.attentionDropoutKey, family.attentionDropout.value_or(family.dropout));
    if (!family.residualDropoutKey.empty())
        config.residualDropout = reader.fraction(family.residualDropoutKey, family.dropout);
    if (!family.embeddingDropoutKey.empty())
        config.embeddingDropout = reader.fraction(family.embeddingDropoutKey, family.dropout);
    config.headBias = family.headBias;
    const bool parallel = config.modelType == "gpt_neox";
    config.parallelResidual = parallel || config.modelType == "stablelm" ? reader.flag("use_parallel_residual", parallel) : true;
    config.postNorms = config.modelType == "hyperclovax" && reader.flag("use_post_norm", true);
    if (family.experts > 0)
        readExperts(reader, config, family);
    if (config.modelType == "granitemoehybrid")
        readHybrid(reader, config);
    if (config.modelType == "opt")
        readOpt(reader, config);
    if (config.modelType == "falcon")
        readFalcon(reader, config);
    if (config.modelType == "bloom")
        readBloom(reader, config);
    if (config.modelType == "mpt")
        readMpt(reader, config);
    if (config.modelType == "gpt_neo")
        readGptNeo(reader, config);
    if (config.modelType == "gemma2" || config.modelType == "vaultgemma") {
        config.attentionSoftcapping = !reader.isNull("attn_logit_softcapping");
        config.logitSoftcapping = !reader.isNull("final_logit_softcapping");
    }
    if (config.modelType == "nanochat")
        config.logitSoftcapping = !reader.isNull("final_logit_softcapping");
    if (config.modelType == "gemma3_text")
        config.logitSoftcapping = reader.find("final_logit_softcapping") != nullptr;
    config.hiddenActivation = reader.text(family.activationKey, family.activation);
    refuseWhatIsNotExecuted(reader, config, family);
    checkConfigKeys(reader, config, family);

    if (!reader.issue() && !isCountable(config))
        reader.fail(json.line, {}, fmt::format("the model has more than {} parameters", mostParameters),
                    "check hidden_size, intermediate_size, num_hidden_layers, head_dim and vocab_size");
    if (reader.issue())
        return *reader.issue();
    return config;
}

Result<ModelConfig> readModelConfig(std::string_view json, std::string_view where)
{
    const Result<JsonValue> parsed = parseJson(json, where);
    if (!parsed)
        return parsed.issue();
    return readModelConfig(*parsed, where);
}

bool ModelConfig::uniformLayers() const
{
    const auto equal = [](const std::vector<bool> &kinds) {
        return std::adjacent_find(kinds.begin(), kinds.end(), std::not_equal_to<>()) == kinds.end();
    };
    return equal(slidingLayers) && equal(rotaryLayers) && equal(denseLayers) && equal(localLayers);
}

ModelConfig ModelConfig::withLayers(std::int64_t count) const
{
    ModelConfig out = *this;
    out.layers = std::min(layers, count);
    for (std::vector<bool> *kinds : {&out.slidingLayers, &out.rotaryLayers, &out.denseLayers, &out.localLayers})
        kinds->resize(std::min(kinds->size(), static_cast<std::size_t>(out.layers)));
    return out;
}

} // namespace headroom
