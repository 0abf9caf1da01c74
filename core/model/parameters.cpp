// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Names, shapes and order: transformers 5.24, models/*/modeling_*.py (the order in which the modules
// are made, which is that of named_parameters()).
#include "core/model/parameters.h"

#include "core/units/checked.h"

namespace headroom {

namespace {

/// Calls visit(name, group, rows, columns) for each parameter of one decoder layer; columns 0: a vector of `rows`.
template<typename Visitor>
class LayerParameters
{
public:
    LayerParameters(const ModelConfig &config, Visitor &visitor)
        : m_config(config)
        , m_visit(visitor)
        , m_hidden(config.hiddenSize)
        , m_queries(checkedMultiply(config.heads, config.headDim))
        , m_keys(checkedMultiply(config.keyValueHeads, config.headDim))
    {}

    void run()
    {
        attention();
        mlp();
        norms();
    }

private:
    using Group = ParameterGroup;

    void vector(std::string_view name, Group group, std::int64_t width) { m_visit(name, group, width, std::int64_t{0}); }
    void linear(std::string_view weight, std::string_view bias, Group group, std::int64_t out, std::int64_t in, bool hasBias)
    {
        m_visit(weight, group, out, in);
        if (hasBias)
            vector(bias, group, out);
    }
    bool is(std::string_view modelType) const { return m_config.modelType == modelType; }

    void attention()
    {
        if (is("phi3")) {
            m_visit("self_attn.o_proj.weight", Group::Attention, m_hidden, m_queries);
            m_visit("self_attn.qkv_proj.weight", Group::Attention, checkedAdd(m_queries, checkedMultiply(2, m_keys)), m_hidden);
            return;
        }
        const bool bias = m_config.queryKeyValueBias;
        linear("self_attn.q_proj.weight", "self_attn.q_proj.bias", Group::Attention, m_queries, m_hidden, bias);
        linear("self_attn.k_proj.weight", "self_attn.k_proj.bias", Group::Attention, m_keys, m_hidden, bias);
        linear("self_attn.v_proj.weight", "self_attn.v_proj.bias", Group::Attention, m_keys, m_hidden, bias);
        linear("self_attn.o_proj.weight", "self_attn.o_proj.bias", Group::Attention, m_hidden, m_queries, m_config.outputBias);
        if (m_config.queryKeyNorm) {
            const bool allHeads = is("olmo2") || is("olmo3");
            vector("self_attn.q_norm.weight", Group::Norm, allHeads ? m_queries : m_config.headDim);
            vector("self_attn.k_norm.weight", Group::Norm, allHeads ? m_keys : m_config.headDim);
        }
    }

    void mlp()
    {
        const std::int64_t width = m_config.intermediateSize;
        if (is("phi3") || is("glm") || is("glm4")) {
            m_visit("mlp.gate_up_proj.weight", Group::Mlp, checkedMultiply(2, width), m_hidden);
            m_visit("mlp.down_proj.weight", Group::Mlp, m_hidden, width);
            return;
        }
        const bool bias = m_config.mlpBias;
        linear("mlp.gate_proj.weight", "mlp.gate_proj.bias", Group::Mlp, width, m_hidden, bias);
        linear("mlp.up_proj.weight", "mlp.up_proj.bias", Group::Mlp, width, m_hidden, bias);
        linear("mlp.down_proj.weight", "mlp.down_proj.bias", Group::Mlp, m_hidden, width, bias);
    }

    void norms()
    {
        if (!is("olmo2") && !is("olmo3"))
            vector("input_layernorm.weight", Group::Norm, m_hidden);
        vector("post_attention_layernorm.weight", Group::Norm, m_hidden);
        if (is("gemma2") || is("gemma3_text"))
            vector("pre_feedforward_layernorm.weight", Group::Norm, m_hidden);
        if (is("gemma2") || is("gemma3_text") || is("olmo2") || is("olmo3"))
            vector("post_feedforward_layernorm.weight", Group::Norm, m_hidden);
        if (is("glm4")) {
            vector("post_self_attn_layernorm.weight", Group::Norm, m_hidden);
            vector("post_mlp_layernorm.weight", Group::Norm, m_hidden);
        }
    }

    const ModelConfig &m_config;
    Visitor &m_visit;
    std::int64_t m_hidden, m_queries, m_keys;
};

template<typename Visitor>
void visitLayer(const ModelConfig &config, Visitor visitor)
{
    LayerParameters<Visitor>(config, visitor).run();
}

std::vector<std::int64_t> shapeOf(std::int64_t rows, std::int64_t columns)
{
    return columns == 0 ? std::vector<std::int64_t>{rows} : std::vector<std::int64_t>{rows, columns};
}

} // namespace

std::int64_t Parameter::elements() const
{
    std::int64_t count = 1;
    for (const std::int64_t extent : shape)
        count = checkedMultiply(count, extent);
    return count;
}

std::vector<Parameter> parameterInventory(const ModelConfig &config)
{
    using enum ParameterGroup;
    std::vector<Parameter> out;
    out.push_back({"model.embed_tokens.weight", {config.vocabSize, config.hiddenSize}, Embedding, -1});
    for (std::int64_t layer = 0; layer < config.layers; ++layer) {
        const std::string prefix = "model.layers." + std::to_string(layer) + '.';
        visitLayer(config, [&](std::string_view name, ParameterGroup group, std::int64_t rows, std::int64_t columns) {
            out.push_back({prefix + std::string(name), shapeOf(rows, columns), group, static_cast<int>(layer)});
        });
    }
    out.push_back({"model.norm.weight", {config.hiddenSize}, Norm, -1});
    if (!config.tiedEmbeddings)
        out.push_back({"lm_head.weight", {config.vocabSize, config.hiddenSize}, Head, -1});
    return out;
}

std::int64_t parameterCount(const ModelConfig &config)
{
    std::int64_t layer = 0;
    visitLayer(config, [&](std::string_view, ParameterGroup, std::int64_t rows, std::int64_t columns) {
        layer = checkedAdd(layer, checkedMultiply(rows, columns == 0 ? 1 : columns));
    });
    const std::int64_t embedding = checkedMultiply(config.vocabSize, config.hiddenSize);
    const std::int64_t ends = checkedAdd(config.tiedEmbeddings ? embedding : checkedMultiply(embedding, 2), config.hiddenSize);
    return checkedAdd(checkedMultiply(layer, config.layers), ends);
}

} // namespace headroom
