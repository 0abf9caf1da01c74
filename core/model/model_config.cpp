// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Defaults are those of transformers 5.24, models/{llama,mistral,qwen2,qwen3}/configuration_*.py; which fields reach the
// modules, models/{llama,mistral,qwen2,qwen3}/modeling_*.py.
#include "core/model/model_config.h"

#include "core/model/model_json.h"
#include "core/model/parameters.h"
#include "core/units/checked.h"
#include "core/units/text.h"

#include <array>
#include <cmath>

#include <algorithm>
#include <functional>

#include <fmt/format.h>

namespace headroom {

namespace {

/// What the classes take where config.json says nothing.
struct ClassDefaults {
    std::string_view modelType;
    std::int64_t keyValueHeads; ///< 0: as many as attention heads
    std::int64_t headDim;       ///< 0: hidden_size / num_attention_heads
    std::int64_t maxPositions;
    bool readsBiases;  ///< attention_bias
    bool readsMlpBias; ///< mlp_bias
};

constexpr std::array<ClassDefaults, 4> classes{{
    {"llama", 0, 0, 2048, true, true},
    {"mistral", 8, 0, 131072, false, false},
    {"qwen2", 32, 0, 32768, false, false},
    {"qwen3", 32, 128, 32768, true, false},
}};

// Far above any model there is, low enough that no inventory fills the memory.
constexpr std::int64_t mostWidth = std::int64_t{1} << 20;
constexpr std::int64_t mostIntermediate = std::int64_t{1} << 22;
constexpr std::int64_t mostLayers = 10'000;
constexpr std::int64_t mostHeads = std::int64_t{1} << 16;
constexpr std::int64_t mostVocabulary = std::int64_t{1} << 27;
constexpr std::int64_t mostPositions = std::int64_t{1} << 40;
constexpr std::int64_t mostParameters = std::int64_t{1} << 50;

constexpr std::array<std::string_view, 6> ropeTypes{"default", "linear", "dynamic", "yarn", "longrope", "llama3"};

/// Reads keys of one object; the first issue stays, later reads are harmless.
class Reader
{
public:
    Reader(const JsonValue &object, std::string_view where)
        : m_object(object)
        , m_where(where)
    {}

    /// The value, null and absent alike as nullptr.
    const JsonValue *find(std::string_view key) const
    {
        const JsonValue *value = m_object.find(key);
        return value == nullptr || value->isNull() ? nullptr : value;
    }

    /// Where the key's value stands; `fallback` where it is missing.
    int lineOf(std::string_view key, int fallback) const
    {
        const JsonValue *value = find(key);
        return value == nullptr ? fallback : value->line;
    }

    bool isNull(std::string_view key) const
    {
        const JsonValue *value = m_object.find(key);
        return value != nullptr && value->isNull();
    }

    std::int64_t count(std::string_view key, std::int64_t fallback, std::int64_t most)
    {
        const JsonValue *value = find(key);
        return value == nullptr ? fallback : checkedCount(*value, key, 1, most);
    }

    std::int64_t countFromZero(std::string_view key, std::int64_t fallback, std::int64_t most)
    {
        const JsonValue *value = find(key);
        return value == nullptr ? fallback : checkedCount(*value, key, 0, most);
    }

    std::int64_t requiredCount(std::string_view key, std::int64_t most)
    {
        if (const JsonValue *value = find(key))
            return checkedCount(*value, key, 1, most);
        fail(m_object.line, key, isNull(key) ? "must be given, not null" : "missing",
             fmt::format("a config.json must say {}: a whole number from 1 to {}", key, most));
        return 1;
    }

    bool flag(std::string_view key, bool fallback)
    {
        const JsonValue *value = find(key);
        if (value == nullptr)
            return fallback;
        if (const bool *boolean = value->boolean())
            return *boolean;
        fail(value->line, key, fmt::format("must be true or false, not {}", value->typeName()), "write true or false");
        return fallback;
    }

    std::string text(std::string_view key, std::string_view fallback)
    {
        const JsonValue *value = find(key);
        if (value == nullptr)
            return std::string(fallback);
        if (const std::string *string = value->string())
            return *string;
        fail(value->line, key, fmt::format("must be a string, not {}", value->typeName()), "write it in quotes");
        return std::string(fallback);
    }

    double fraction(std::string_view key, double fallback)
    {
        const JsonValue *value = find(key);
        if (value == nullptr)
            return fallback;
        const std::optional<double> number = value->number();
        if (number && *number >= 0.0 && *number < 1.0)
            return *number;
        fail(value->line, key, number ? "must be at least 0 and less than 1" : fmt::format("must be a number, not {}", value->typeName()),
             "write a number from 0 to less than 1, for example 0.0");
        return fallback;
    }

    void fail(int line, std::string_view key, std::string what, std::string hint)
    {
        if (!m_issue)
            m_issue = Issue{{}, line, joinPath(m_where, key), std::move(what), std::move(hint)};
    }

    const std::optional<Issue> &issue() const { return m_issue; }

private:
    std::int64_t checkedCount(const JsonValue &value, std::string_view key, std::int64_t least, std::int64_t most)
    {
        const std::optional<double> number = value.number();
        const std::optional<std::int64_t> whole = value.wholeNumber();
        const std::string hint = fmt::format("write a whole number from {} to {}", least, most);
        if (!number)
            fail(value.line, key, fmt::format("must be a whole number, not {}", value.typeName()), hint);
        else if (*number < static_cast<double>(least))
            fail(value.line, key, fmt::format("must be at least {}", least), hint);
        else if (*number > static_cast<double>(most))
            fail(value.line, key, fmt::format("must be at most {}", most), hint);
        else if (!whole)
            fail(value.line, key, "must be a whole number", hint);
        else
            return *whole;
        return 1; // stands in until the issue is returned
    }

    const JsonValue &m_object;
    std::string m_where;
    std::optional<Issue> m_issue;
};

/// rope_parameters (transformers 5) or rope_scaling (before): {"rope_type" or "type": ...}.
std::string readRopeType(Reader &reader)
{
    for (const std::string_view key : {std::string_view("rope_parameters"), std::string_view("rope_scaling")}) {
        const JsonValue *rope = reader.find(key);
        if (rope == nullptr)
            continue;
        if (rope->object() == nullptr) {
            reader.fail(rope->line, key, fmt::format("must be an object, not {}", rope->typeName()),
                        R"(for example {"rope_type": "default"})");
            return {};
        }
        const JsonValue *type = rope->find("rope_type");
        if (type == nullptr)
            type = rope->find("type");
        if (type == nullptr || type->isNull())
            continue;
        const std::string path = joinPath(key, "rope_type");
        const std::string *name = type->string();
        if (name == nullptr) {
            reader.fail(type->line, path, fmt::format("must be a string, not {}", type->typeName()), "one of " + orList(ropeTypes));
            return {};
        }
        for (const std::string_view known : ropeTypes)
            if (*name == known)
                return *name;
        reader.fail(type->line, path, fmt::format("\"{}\" is not a kind of rotary embedding that this version knows", excerpt(*name)),
                    "one of " + orList(ropeTypes));
        return {};
    }
    return "default";
}

/// layer_types of qwen2 and qwen3: which layers attend within the window; nothing where the key is missing.
std::optional<std::vector<bool>> readLayerTypes(Reader &reader, std::size_t count)
{
    const JsonValue *types = reader.find("layer_types");
    if (types == nullptr)
        return std::nullopt;
    const auto *list = types->array();
    if (list == nullptr || list->size() != count) {
        reader.fail(types->line, "layer_types", fmt::format("must be a list of {} strings, one for each layer", count),
                    "or leave it out: max_window_layers decides then");
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

/// The layers that attend within the window only; empty: none.
std::vector<bool> readSlidingLayers(Reader &reader, const ModelConfig &config)
{
    const auto count = static_cast<std::size_t>(config.layers);
    if (config.modelType == "llama")
        return {};
    // One window for every layer (modeling_mistral.py).
    if (config.modelType == "mistral")
        return config.slidingWindow ? std::vector<bool>(count, true) : std::vector<bool>();

    const std::optional<std::vector<bool>> given = readLayerTypes(reader, count);
    const std::int64_t first = reader.countFromZero("max_window_layers", 28, mostLayers);
    if (!config.slidingWindow)
        return {};
    if (given)
        return *given;
    std::vector<bool> sliding(count, false);
    for (std::size_t i = 0; i < count; ++i)
        sliding[i] = static_cast<std::int64_t>(i) >= first;
    return sliding;
}

void refuseWhatIsNotExecuted(Reader &reader, const ModelConfig &config)
{
    if (config.hiddenActivation != "silu") {
        const JsonValue *value = reader.find("hidden_act");
        reader.fail(value->line, "hidden_act",
                    fmt::format("\"{}\" is not executed by this version's engine yet", excerpt(config.hiddenActivation)),
                    "models with \"silu\" are");
    }
    if (const JsonValue *value = reader.find("quantization_config"))
        reader.fail(value->line, "quantization_config",
                    "a checkpoint that is stored quantised is not executed by this version's engine yet",
                    "take the config.json of the model's 16-bit checkpoint");
    if (const JsonValue *value = reader.find("text_config"))
        reader.fail(value->line, "text_config", "a model of several towers is not executed by this version's engine yet",
                    "take the config.json of a model for text alone");
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

std::optional<Issue> unsupportedReason(std::string_view modelType)
{
    for (const ClassDefaults &known : classes)
        if (known.modelType == modelType)
            return std::nullopt;

    struct Reason {
        std::string_view modelType, what;
    };
    constexpr std::string_view experts = "routed experts are not executed by this version's engine yet";
    constexpr std::string_view latent = "multi-head latent attention is not executed by this version's engine yet";
    constexpr std::string_view linear = "linear attention is not executed by this version's engine yet";
    constexpr std::string_view towers = "models of several towers are not executed by this version's engine yet";
    constexpr std::array reasons{
        Reason{"qwen2_moe", experts},
        Reason{"qwen3_moe", experts},
        Reason{"mixtral", experts},
        Reason{"phimoe", experts},
        Reason{"olmoe", experts},
        Reason{"gpt_oss", experts},
        Reason{"glm4_moe", experts},
        Reason{"deepseek_v2", latent},
        Reason{"deepseek_v3", latent},
        Reason{"deepseek_v32", latent},
        Reason{"deepseek_v4", latent},
        Reason{"kimi_k2", latent},
        Reason{"glm4_moe_lite", latent},
        Reason{"glm_moe_dsa", latent},
        Reason{"qwen3_next", linear},
        Reason{"qwen3_5", linear},
        Reason{"qwen3_5_text", linear},
        Reason{"qwen3_5_moe", linear},
        Reason{"qwen3_5_moe_text", linear},
        Reason{"gemma3", towers},
        Reason{"gemma4", towers},
        Reason{"llama4", towers},
        Reason{"bert", "an encoder has no causal language-model loss; only decoders are executed"},
    };
    Issue issue{{}, 0, "model_type", {}, "this version executes llama, mistral, qwen2 and qwen3"};
    for (const Reason &reason : reasons)
        if (reason.modelType == modelType)
            issue.what = fmt::format("{}: {}", modelType, reason.what);
    if (issue.what.empty())
        issue.what = fmt::format("{}: not executed by this version's engine yet", excerpt(modelType));
    return issue;
}

Result<ModelConfig> readModelConfig(const JsonValue &json, std::string_view where)
{
    if (json.object() == nullptr)
        return Issue{{},
                     json.line,
                     std::string(where),
                     fmt::format("a config.json is an object, not {}", json.typeName()),
                     "paste the file's whole text, from { to }"};

    Reader reader(json, where);
    ModelConfig config;
    if (reader.find("model_type") == nullptr)
        reader.fail(json.line, "model_type", "missing", R"(a config.json must say its architecture, for example "model_type": "llama")");
    config.modelType = reader.text("model_type", "llama");
    if (reader.issue())
        return *reader.issue();
    if (std::optional<Issue> refused = unsupportedReason(config.modelType)) {
        refused->line = reader.find("model_type")->line;
        refused->where = joinPath(where, "model_type");
        return *refused;
    }
    const ClassDefaults *defaults = classes.data();
    while (defaults->modelType != config.modelType)
        ++defaults;

    config.hiddenSize = reader.requiredCount("hidden_size", mostWidth);
    config.layers = reader.requiredCount("num_hidden_layers", mostLayers);
    config.heads = reader.requiredCount("num_attention_heads", mostHeads);
    config.intermediateSize = reader.requiredCount("intermediate_size", mostIntermediate);
    config.vocabSize = reader.requiredCount("vocab_size", mostVocabulary);

    // null means "as many as attention heads" in all four classes; only an absent key takes the class's number.
    const std::int64_t absent =
        defaults->keyValueHeads == 0 || reader.isNull("num_key_value_heads") ? config.heads : defaults->keyValueHeads;
    config.keyValueHeads = reader.count("num_key_value_heads", absent, mostHeads);
    if (!reader.issue() && config.heads % config.keyValueHeads != 0) {
        const JsonValue *value = reader.find("num_key_value_heads");
        reader.fail(reader.lineOf("num_key_value_heads", json.line), "num_key_value_heads",
                    fmt::format("{} attention heads cannot be shared out among {} key/value heads", config.heads, config.keyValueHeads),
                    value != nullptr
                        ? "num_attention_heads must be a multiple of num_key_value_heads"
                        : fmt::format("where the key is missing {} takes {}: write num_key_value_heads", config.modelType, absent));
    }

    const bool derivedHeadDim = reader.find("head_dim") == nullptr && defaults->headDim == 0;
    // LlamaConfig demands it in any case; the others where head_dim is derived, for a remainder would be lost.
    if (!reader.issue() && (derivedHeadDim || config.modelType == "llama") && config.hiddenSize % config.heads != 0)
        reader.fail(reader.find("hidden_size")->line, "hidden_size",
                    fmt::format("{} is not a multiple of the {} attention heads", config.hiddenSize, config.heads),
                    config.modelType == "llama" ? "hidden_size must be a multiple of num_attention_heads" : "or give head_dim");
    config.headDim = reader.count("head_dim", derivedHeadDim ? config.hiddenSize / config.heads : defaults->headDim, mostWidth);
    if (!reader.issue() && config.headDim % 2 != 0)
        reader.fail(reader.lineOf("head_dim", json.line), "head_dim",
                    fmt::format("{} is odd, but rotary embeddings turn pairs", config.headDim), "give an even head_dim");

    config.maxPositions =
        reader.isNull("max_position_embeddings") ? 0 : reader.count("max_position_embeddings", defaults->maxPositions, mostPositions);
    config.tiedEmbeddings = reader.flag("tie_word_embeddings", false);
    const bool attentionBias = defaults->readsBiases && reader.flag("attention_bias", false);
    config.queryKeyValueBias = attentionBias || config.modelType == "qwen2";
    config.outputBias = attentionBias;
    config.mlpBias = defaults->readsMlpBias && reader.flag("mlp_bias", false);
    config.queryKeyNorm = config.modelType == "qwen3";

    if (config.modelType == "mistral") {
        if (!reader.isNull("sliding_window"))
            config.slidingWindow = reader.count("sliding_window", 4096, mostPositions);
    } else if (config.modelType != "llama" && reader.flag("use_sliding_window", false) && !reader.isNull("sliding_window")) {
        config.slidingWindow = reader.count("sliding_window", 4096, mostPositions);
    }
    config.slidingLayers = readSlidingLayers(reader, config);
    config.attentionDropout = reader.fraction("attention_dropout", 0.0);
    config.ropeType = readRopeType(reader);
    config.hiddenActivation = reader.text("hidden_act", "silu");
    refuseWhatIsNotExecuted(reader, config);

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
    return std::adjacent_find(slidingLayers.begin(), slidingLayers.end(), std::not_equal_to<>()) == slidingLayers.end();
}

} // namespace headroom
