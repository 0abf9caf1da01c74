// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What is refused follows transformers 5.24: configuration_utils.py (the fields' types),
// modeling_rope_utils.py (validate_rope and the functions that compute the frequencies), and torch.nn.Embedding's padding_idx.
#include "core/model/config_checks.h"

#include "core/units/text.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace headroom {

namespace {

using Keys = std::initializer_list<std::string_view>;

/// Keys of one object of the config: the whole of it, or one that tells how layers rotate.
class Checker
{
public:
    Checker(ConfigReader &reader, const JsonValue *object, std::string where)
        : m_reader(reader)
        , m_object(object)
        , m_where(std::move(where))
    {}

    const JsonValue *find(std::string_view key) const
    {
        const JsonValue *value = m_object == nullptr ? m_reader.find(key) : m_object->find(key);
        return value == nullptr || value->isNull() ? nullptr : value;
    }

    bool has(std::string_view key) const { return m_object != nullptr && m_object->find(key) != nullptr; }

    void fail(const JsonValue &value, std::string_view key, std::string what, std::string hint)
    {
        m_reader.fail(value.line, joinPath(m_where, key), std::move(what), std::move(hint));
    }

    /// Numbers from `least` to `most`; `least` itself only where `inclusive`.
    void numbers(Keys keys, double least, double most, bool inclusive, const char *hint)
    {
        for (const std::string_view key : keys) {
            const JsonValue *value = find(key);
            if (value == nullptr)
                continue;
            const std::optional<double> number = value->number();
            if (!number)
                fail(*value, key, fmt::format("must be a number, not {}", value->typeName()), hint);
            else if (*number < least || *number > most || (*number == least && !inclusive))
                fail(*value, key,
                     most < HUGE_VAL ? fmt::format("must be above {} and at most {}", least, most)
                                     : fmt::format("must be {} {}", inclusive ? "at least" : "above", least),
                     hint);
        }
    }

    void wholeNumbers(Keys keys, const char *hint)
    {
        for (const std::string_view key : keys)
            if (const JsonValue *value = find(key); value != nullptr && !value->wholeNumber())
                fail(*value, key,
                     value->number() ? "must be a whole number" : fmt::format("must be a whole number, not {}", value->typeName()), hint);
    }

private:
    ConfigReader &m_reader;
    const JsonValue *m_object; ///< null: the whole config
    std::string m_where;
};

/// One set of rotary parameters.
void checkRope(ConfigReader &reader, const JsonValue &rope, const std::string &where, std::string_view type, std::int64_t rotaryDim)
{
    Checker check(reader, &rope, where);
    check.numbers({"rope_theta"}, 0.0, HUGE_VAL, false, "for example 10000.0");
    check.numbers({"partial_rotary_factor"}, 0.0, 1.0, false, "for example 0.5");
    check.numbers({"factor"}, 0.0, HUGE_VAL, false, "how many times longer sequences become, for example 4.0");
    check.numbers({"low_freq_factor", "high_freq_factor", "beta_fast", "beta_slow", "original_max_position_embeddings"}, 0.0, HUGE_VAL,
                  false, "take it from the model's own config.json");
    check.numbers({"attention_factor", "mscale", "mscale_all_dim"}, -HUGE_VAL, HUGE_VAL, true, "take it from the model's own config.json");

    std::vector<std::string_view> required;
    if (type == "linear" || type == "dynamic" || type == "yarn" || type == "llama3")
        required.push_back("factor");
    if (type == "llama3")
        required.insert(required.end(), {"low_freq_factor", "high_freq_factor"});
    if (type == "longrope")
        required.insert(required.end(), {"short_factor", "long_factor"});
    for (const std::string_view key : required)
        // Where yarn's factor is null, the ratio of the two numbers of positions is.
        if (check.find(key) == nullptr && !(type == "yarn" && check.has(key)))
            check.fail(rope, key, fmt::format("missing: rotary embeddings of type {} need it", type),
                       "take it from the model's own config.json");

    const auto pairs = static_cast<std::size_t>(rotaryDim / 2);
    for (const std::string_view key : {"short_factor", "long_factor"}) {
        const JsonValue *value = type == "longrope" ? check.find(key) : nullptr;
        if (value == nullptr)
            continue;
        const auto *list = value->array();
        const bool good = list != nullptr && list->size() == pairs &&
                          std::all_of(list->begin(), list->end(), [](const JsonValue &item) { return item.number().has_value(); });
        if (!good)
            check.fail(*value, key, fmt::format("must be a list of {} numbers, one for each pair of rotated dimensions", pairs),
                       "take it from the model's own config.json");
    }
}

void checkRotary(ConfigReader &reader, const ModelConfig &config)
{
    Checker whole(reader, nullptr, {});
    whole.numbers({"rope_theta", "rope_local_base_freq", "rotary_emb_base"}, 0.0, HUGE_VAL, false, "for example 10000.0");
    whole.numbers({"partial_rotary_factor", "rotary_pct"}, 0.0, 1.0, false, "for example 0.5");
    whole.numbers({"original_max_position_embeddings"}, 0.0, HUGE_VAL, false, "take it from the model's own config.json");
    for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
        const JsonValue *rope = reader.find(key);
        if (rope == nullptr || rope->object() == nullptr)
            continue;
        // Families whose kinds of layer rotate differently hold an object for each.
        bool nested = false;
        for (const JsonMember &member : *rope->object()) {
            if (member.value.object() == nullptr || !member.key.ends_with("_attention"))
                continue;
            nested = true;
            const JsonValue *type = member.value.find("rope_type");
            checkRope(reader, member.value, joinPath(key, member.key),
                      type != nullptr && type->string() != nullptr ? *type->string() : std::string(), config.rotaryDim);
        }
        if (!nested && !rope->object()->empty())
            checkRope(reader, *rope, std::string(key), config.ropeType, config.rotaryDim);
    }
}

/// Ids of special tokens; eos_token_id may be several.
void checkTokens(ConfigReader &reader, const ModelConfig &config, const ModelFamily &family)
{
    Checker check(reader, nullptr, {});
    const char *hint = "write a token's id, or null";
    check.wholeNumbers({"pad_token_id", "bos_token_id"}, hint);
    if (const JsonValue *ends = check.find("eos_token_id"); ends != nullptr && ends->array() != nullptr) {
        for (const JsonValue &end : *ends->array())
            if (!end.wholeNumber())
                check.fail(end, "eos_token_id", "must be a whole number or a list of whole numbers", hint);
    } else {
        check.wholeNumbers({"eos_token_id"}, hint);
    }
    // Several config.json on the Hub hold -1, which is the last token.
    const JsonValue *padding = family.padsEmbeddings ? check.find("pad_token_id") : nullptr;
    if (const auto id = padding == nullptr ? std::nullopt : padding->wholeNumber();
        id && (*id >= config.vocabSize || *id < -config.vocabSize))
        check.fail(*padding, "pad_token_id", fmt::format("there is no token {} among {}", *id, config.vocabSize),
                   fmt::format("write a number below vocab_size ({}), or null", config.vocabSize));
}

/// Experts in a family that has none: another model_type is meant, whose weights are many times more.
void checkExperts(ConfigReader &reader, const ModelConfig &config, const ModelFamily &family)
{
    if (family.experts > 0)
        return;
    for (const std::string_view key : {"num_local_experts", "num_experts", "n_routed_experts"}) {
        const JsonValue *value = reader.find(key);
        if (value == nullptr)
            continue;
        const std::optional<std::int64_t> number = value->wholeNumber();
        if (!number)
            reader.fail(value->line, key, fmt::format("must be a whole number, not {}", value->typeName()), "leave it out");
        else if (*number > 1 || *number < 0)
            reader.fail(value->line, key, fmt::format("models of type {} have no experts", config.modelType),
                        "leave it out, or write the model_type that has them, for example mixtral or qwen3_moe");
    }
}

/// The checkpoint's dtype: a name of torch's, of floating-point numbers.
void checkDtype(ConfigReader &reader)
{
    constexpr std::array<std::string_view, 7> known{"float32", "bfloat16", "float16", "float64", "float", "half", "double"};
    for (const std::string_view key : {"torch_dtype", "dtype"}) {
        const JsonValue *value = reader.find(key);
        if (value == nullptr)
            continue;
        const std::string *name = value->string();
        if (name == nullptr)
            reader.fail(value->line, key, fmt::format("must be a string, not {}", value->typeName()), "one of " + orList(known));
        else if (std::find(known.begin(), known.end(), *name) == known.end())
            reader.fail(value->line, key, fmt::format("\"{}\" is no dtype that a model can have", excerpt(*name)),
                        "one of " + orList(known));
    }
}

} // namespace

void checkConfigKeys(ConfigReader &reader, const ModelConfig &config, const ModelFamily &family)
{
    checkRotary(reader, config);
    checkTokens(reader, config, family);
    checkExperts(reader, config, family);
    checkDtype(reader);
    Checker check(reader, nullptr, {});
    check.numbers({"rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps", "initializer_range"}, 0.0, HUGE_VAL,
                  true, "for example 1e-6");
    check.numbers({"attn_logit_softcapping", "final_logit_softcapping", "query_pre_attn_scalar"}, 0.0, HUGE_VAL, false,
                  "take it from the model's own config.json");
    check.numbers({"embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling", "router_aux_loss_coef",
                   "logit_scale", "swiglu_limit", "routed_scaling_factor"},
                  -HUGE_VAL, HUGE_VAL, true, "take it from the model's own config.json");
    check.wholeNumbers({"sliding_window", "max_window_layers"}, "write a whole number, or null");
    for (const std::string_view key : {"use_cache", "use_sliding_window"})
        reader.flag(key, false);
}

} // namespace headroom
