// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Names, shapes and order: transformers 5.24, models/{llama,mistral,qwen2,qwen3}/modeling_*.py (the order in which the
// modules are made, which is that of named_parameters()).
#include "core/model/parameters.h"

#include "core/units/checked.h"

namespace headroom {

namespace {

/// Calls visit(name, group, rows, columns) for each parameter of one decoder layer; columns 0: a vector of `rows`.
template<typename Visitor>
void visitLayer(const ModelConfig &config, Visitor &&visit)
{
    const std::int64_t hidden = config.hiddenSize;
    const std::int64_t queries = checkedMultiply(config.heads, config.headDim);
    const std::int64_t keys = checkedMultiply(config.keyValueHeads, config.headDim);
    const auto linear = [&](std::string_view weight, std::string_view bias, ParameterGroup group, std::int64_t out, std::int64_t in,
                            bool hasBias) {
        visit(weight, group, out, in);
        if (hasBias)
            visit(bias, group, out, std::int64_t{0});
    };
    using enum ParameterGroup;
    linear("self_attn.q_proj.weight", "self_attn.q_proj.bias", Attention, queries, hidden, config.queryKeyValueBias);
    linear("self_attn.k_proj.weight", "self_attn.k_proj.bias", Attention, keys, hidden, config.queryKeyValueBias);
    linear("self_attn.v_proj.weight", "self_attn.v_proj.bias", Attention, keys, hidden, config.queryKeyValueBias);
    linear("self_attn.o_proj.weight", "self_attn.o_proj.bias", Attention, hidden, queries, config.outputBias);
    if (config.queryKeyNorm) {
        visit("self_attn.q_norm.weight", Norm, config.headDim, std::int64_t{0});
        visit("self_attn.k_norm.weight", Norm, config.headDim, std::int64_t{0});
    }
    linear("mlp.gate_proj.weight", "mlp.gate_proj.bias", Mlp, config.intermediateSize, hidden, config.mlpBias);
    linear("mlp.up_proj.weight", "mlp.up_proj.bias", Mlp, config.intermediateSize, hidden, config.mlpBias);
    linear("mlp.down_proj.weight", "mlp.down_proj.bias", Mlp, hidden, config.intermediateSize, config.mlpBias);
    visit("input_layernorm.weight", Norm, hidden, std::int64_t{0});
    visit("post_attention_layernorm.weight", Norm, hidden, std::int64_t{0});
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
