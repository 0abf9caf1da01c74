// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Names, shapes and order: transformers 5.24, models/*/modeling_*.py (the order in which the modules
// are made, which is that of named_parameters()).
#include "core/model/parameters.h"

#include "core/units/checked.h"

#include <algorithm>
#include <array>

namespace headroom {

namespace {

/// Up to three sizes; 0: none.
using Shape = std::array<std::int64_t, 3>;

/// Calls visit(name, group, shape) for each parameter of one decoder layer.
template<typename Visitor>
class LayerParameters
{
public:
    LayerParameters(const ModelConfig &config, std::int64_t layer, Visitor &visitor)
        : m_config(config)
        , m_dense(config.isDense(layer))
        , m_visit(visitor)
        , m_hidden(config.hiddenSize)
        , m_queries(checkedMultiply(config.heads, config.headDim))
        , m_keys(checkedMultiply(config.keyValueHeads, config.headDim))
    {}

    void run()
    {
        if (is("gpt2") || is("gpt_bigcode"))
            return gpt2();
        if (is("gpt_neox"))
            return gptNeoX();
        if (is("opt"))
            return opt();
        if (is("falcon"))
            return falcon();
        if (is("bloom"))
            return bloom();
        if (is("persimmon"))
            return persimmon();
        if (is("mpt"))
            return mpt();
        if (is("gpt_neo"))
            return gptNeo();
        if (is("gptj") || is("codegen"))
            return gptJ();
        if (is("granitemoe") || is("granitemoeshared") || is("granitemoehybrid"))
            return graniteMoe();
        attention();
        if (m_dense)
            mlp();
        else
            experts();
        norms();
    }

private:
    using Group = ParameterGroup;

    void vector(std::string_view name, Group group, std::int64_t width) { m_visit(name, group, Shape{width, 0, 0}); }
    void matrix(std::string_view name, Group group, std::int64_t rows, std::int64_t columns)
    {
        m_visit(name, group, Shape{rows, columns, 0});
    }
    void linear(std::string_view weight, std::string_view bias, Group group, std::int64_t out, std::int64_t in, bool hasBias)
    {
        matrix(weight, group, out, in);
        if (hasBias)
            vector(bias, group, out);
    }
    bool is(std::string_view modelType) const { return m_config.modelType == modelType; }

    void attention()
    {
        if (is("phi3")) {
            matrix("self_attn.o_proj.weight", Group::Attention, m_hidden, m_queries);
            matrix("self_attn.qkv_proj.weight", Group::Attention, checkedAdd(m_queries, checkedMultiply(2, m_keys)), m_hidden);
            return;
        }
        if (m_config.latentWidth > 0)
            return latentAttention();
        if (is("gpt_oss"))
            vector("self_attn.sinks", Group::Attention, m_config.heads);
        const bool bias = m_config.queryKeyValueBias;
        linear("self_attn.q_proj.weight", "self_attn.q_proj.bias", Group::Attention, m_queries, m_hidden, bias);
        linear("self_attn.k_proj.weight", "self_attn.k_proj.bias", Group::Attention, m_keys, m_hidden, bias);
        linear("self_attn.v_proj.weight", "self_attn.v_proj.bias", Group::Attention, m_keys, m_hidden, bias);
        if (is("phi"))
            return linear("self_attn.dense.weight", "self_attn.dense.bias", Group::Attention, m_hidden, m_queries, true);
        linear("self_attn.o_proj.weight", "self_attn.o_proj.bias", Group::Attention, m_hidden, m_queries, m_config.outputBias);
        if (m_config.queryKeyNorm) {
            const bool allHeads = is("olmo2") || is("olmo3") || is("olmoe");
            vector("self_attn.q_norm.weight", Group::Norm, allHeads ? m_queries : m_config.headDim);
            vector("self_attn.k_norm.weight", Group::Norm, allHeads ? m_keys : m_config.headDim);
        }
        if (is("bitnet"))
            vector("self_attn.attn_sub_norm.weight", Group::Norm, m_hidden);
        if (is("hunyuan_v1_dense")) {
            vector("self_attn.query_layernorm.weight", Group::Norm, m_config.headDim);
            vector("self_attn.key_layernorm.weight", Group::Norm, m_config.headDim);
        }
    }

    void latentAttention()
    {
        const bool bias = m_config.queryKeyValueBias;
        const std::int64_t heads = m_config.heads, latent = m_config.latentWidth, narrow = m_config.queryLatentWidth;
        const std::int64_t queries = checkedMultiply(heads, checkedAdd(m_config.plainHeadDim, m_config.rotaryDim));
        if (narrow == 0) {
            matrix("self_attn.q_proj.weight", Group::Attention, queries, m_hidden);
        } else {
            linear("self_attn.q_a_proj.weight", "self_attn.q_a_proj.bias", Group::Attention, narrow, m_hidden, bias);
            vector("self_attn.q_a_layernorm.weight", Group::Norm, narrow);
            matrix("self_attn.q_b_proj.weight", Group::Attention, queries, narrow);
        }
        linear("self_attn.kv_a_proj_with_mqa.weight", "self_attn.kv_a_proj_with_mqa.bias", Group::Attention,
               checkedAdd(latent, m_config.rotaryDim), m_hidden, bias);
        vector("self_attn.kv_a_layernorm.weight", Group::Norm, latent);
        matrix("self_attn.kv_b_proj.weight", Group::Attention,
               checkedMultiply(heads, checkedAdd(m_config.plainHeadDim, m_config.valueHeadDim)), latent);
        linear("self_attn.o_proj.weight", "self_attn.o_proj.bias", Group::Attention, m_hidden,
               checkedMultiply(heads, m_config.valueHeadDim), m_config.outputBias);
    }

    void mlp()
    {
        const std::int64_t width = m_config.intermediateSize;
        if (is("phi3") || is("glm") || is("glm4")) {
            matrix("mlp.gate_up_proj.weight", Group::Mlp, checkedMultiply(2, width), m_hidden);
            matrix("mlp.down_proj.weight", Group::Mlp, m_hidden, width);
            return;
        }
        if (is("phi")) {
            linear("mlp.fc1.weight", "mlp.fc1.bias", Group::Mlp, width, m_hidden, true);
            linear("mlp.fc2.weight", "mlp.fc2.bias", Group::Mlp, m_hidden, width, true);
            return;
        }
        if (is("nanochat")) {
            matrix("mlp.fc1.weight", Group::Mlp, width, m_hidden);
            return matrix("mlp.fc2.weight", Group::Mlp, m_hidden, width);
        }
        const bool bias = m_config.mlpBias;
        if (is("starcoder2")) {
            linear("mlp.c_fc.weight", "mlp.c_fc.bias", Group::Mlp, width, m_hidden, bias);
            linear("mlp.c_proj.weight", "mlp.c_proj.bias", Group::Mlp, m_hidden, width, bias);
            return;
        }
        if (!is("arcee") && !is("jais2") && !is("nemotron") && !is("apertus"))
            linear("mlp.gate_proj.weight", "mlp.gate_proj.bias", Group::Mlp, width, m_hidden, bias);
        linear("mlp.up_proj.weight", "mlp.up_proj.bias", Group::Mlp, width, m_hidden, bias);
        linear("mlp.down_proj.weight", "mlp.down_proj.bias", Group::Mlp, m_hidden, width, bias);
        if (is("bitnet"))
            vector("mlp.ffn_sub_norm.weight", Group::Norm, width);
        if (m_config.hiddenActivation == "xielu") {
            vector("mlp.act_fn.alpha_p", Group::Mlp, 1);
            vector("mlp.act_fn.alpha_n", Group::Mlp, 1);
        }
    }

    void experts()
    {
        if (is("gpt_oss"))
            return gptOssExperts();
        const auto router = [&] { matrix("mlp.gate.weight", Group::Mlp, m_config.experts, m_hidden); };
        const std::int64_t width = m_config.expertIntermediateSize, shared = m_config.sharedExpertIntermediateSize;
        const bool expertsFirst = is("qwen3_moe") || m_config.latentWidth > 0 || is("glm4_moe") || is("sarvam_moe");
        if (!expertsFirst)
            router();
        m_visit("mlp.experts.gate_up_proj", Group::Mlp, Shape{m_config.experts, checkedMultiply(2, width), m_hidden});
        m_visit("mlp.experts.down_proj", Group::Mlp, Shape{m_config.experts, m_hidden, width});
        if (expertsFirst)
            router();
        if (shared == 0)
            return;
        if (!is("qwen2_moe")) {
            matrix("mlp.shared_experts.gate_proj.weight", Group::Mlp, shared, m_hidden);
            matrix("mlp.shared_experts.up_proj.weight", Group::Mlp, shared, m_hidden);
            matrix("mlp.shared_experts.down_proj.weight", Group::Mlp, m_hidden, shared);
            return;
        }
        matrix("mlp.shared_expert.gate_proj.weight", Group::Mlp, shared, m_hidden);
        matrix("mlp.shared_expert.up_proj.weight", Group::Mlp, shared, m_hidden);
        matrix("mlp.shared_expert.down_proj.weight", Group::Mlp, m_hidden, shared);
        matrix("mlp.shared_expert_gate.weight", Group::Mlp, 1, m_hidden);
    }

    void gptOssExperts()
    {
        const std::int64_t count = m_config.experts, width = m_config.expertIntermediateSize, both = checkedMultiply(2, width);
        linear("mlp.router.weight", "mlp.router.bias", Group::Mlp, count, m_hidden, true);
        m_visit("mlp.experts.gate_up_proj", Group::Mlp, Shape{count, m_hidden, both});
        matrix("mlp.experts.gate_up_proj_bias", Group::Mlp, count, both);
        m_visit("mlp.experts.down_proj", Group::Mlp, Shape{count, width, m_hidden});
        matrix("mlp.experts.down_proj_bias", Group::Mlp, count, m_hidden);
    }

    void layerNorm(std::string_view weight, std::string_view bias)
    {
        vector(weight, Group::Norm, m_hidden);
        vector(bias, Group::Norm, m_hidden);
    }

    /// GPT-2's Conv1D holds its weight as [in, out].
    void gpt2()
    {
        const auto project = [&](std::string_view weight, std::string_view bias, Group group, std::int64_t out, std::int64_t in) {
            matrix(weight, group, is("gpt2") ? in : out, is("gpt2") ? out : in);
            vector(bias, group, out);
        };
        layerNorm("ln_1.weight", "ln_1.bias");
        project("attn.c_attn.weight", "attn.c_attn.bias", Group::Attention, checkedAdd(m_hidden, checkedMultiply(2, m_keys)), m_hidden);
        project("attn.c_proj.weight", "attn.c_proj.bias", Group::Attention, m_hidden, m_hidden);
        layerNorm("ln_2.weight", "ln_2.bias");
        project("mlp.c_fc.weight", "mlp.c_fc.bias", Group::Mlp, m_config.intermediateSize, m_hidden);
        project("mlp.c_proj.weight", "mlp.c_proj.bias", Group::Mlp, m_hidden, m_config.intermediateSize);
    }

    void gptNeoX()
    {
        layerNorm("input_layernorm.weight", "input_layernorm.bias");
        layerNorm("post_attention_layernorm.weight", "post_attention_layernorm.bias");
        const bool bias = m_config.queryKeyValueBias;
        linear("attention.query_key_value.weight", "attention.query_key_value.bias", Group::Attention, checkedMultiply(3, m_hidden),
               m_hidden, bias);
        linear("attention.dense.weight", "attention.dense.bias", Group::Attention, m_hidden, m_hidden, bias);
        linear("mlp.dense_h_to_4h.weight", "mlp.dense_h_to_4h.bias", Group::Mlp, m_config.intermediateSize, m_hidden, true);
        linear("mlp.dense_4h_to_h.weight", "mlp.dense_4h_to_h.bias", Group::Mlp, m_hidden, m_config.intermediateSize, true);
    }

    void opt()
    {
        const bool bias = m_config.queryKeyValueBias;
        linear("self_attn.k_proj.weight", "self_attn.k_proj.bias", Group::Attention, m_hidden, m_hidden, bias);
        linear("self_attn.v_proj.weight", "self_attn.v_proj.bias", Group::Attention, m_hidden, m_hidden, bias);
        linear("self_attn.q_proj.weight", "self_attn.q_proj.bias", Group::Attention, m_hidden, m_hidden, bias);
        linear("self_attn.out_proj.weight", "self_attn.out_proj.bias", Group::Attention, m_hidden, m_hidden, m_config.outputBias);
        layerNorm("self_attn_layer_norm.weight", "self_attn_layer_norm.bias");
        linear("fc1.weight", "fc1.bias", Group::Mlp, m_config.intermediateSize, m_hidden, m_config.mlpBias);
        linear("fc2.weight", "fc2.bias", Group::Mlp, m_hidden, m_config.intermediateSize, m_config.mlpBias);
        layerNorm("final_layer_norm.weight", "final_layer_norm.bias");
    }

    void falcon()
    {
        const bool bias = m_config.queryKeyValueBias;
        linear("self_attention.query_key_value.weight", "self_attention.query_key_value.bias", Group::Attention,
               checkedAdd(m_queries, checkedMultiply(2, m_keys)), m_hidden, bias);
        linear("self_attention.dense.weight", "self_attention.dense.bias", Group::Attention, m_hidden, m_hidden, bias);
        linear("mlp.dense_h_to_4h.weight", "mlp.dense_h_to_4h.bias", Group::Mlp, m_config.intermediateSize, m_hidden, bias);
        linear("mlp.dense_4h_to_h.weight", "mlp.dense_4h_to_h.bias", Group::Mlp, m_hidden, m_config.intermediateSize, bias);
        if (m_config.normsApart) {
            layerNorm("ln_attn.weight", "ln_attn.bias");
            return layerNorm("ln_mlp.weight", "ln_mlp.bias");
        }
        if (!m_config.parallelResidual)
            layerNorm("post_attention_layernorm.weight", "post_attention_layernorm.bias");
        layerNorm("input_layernorm.weight", "input_layernorm.bias");
    }

    void bloom()
    {
        layerNorm("input_layernorm.weight", "input_layernorm.bias");
        linear("self_attention.query_key_value.weight", "self_attention.query_key_value.bias", Group::Attention,
               checkedMultiply(3, m_hidden), m_hidden, true);
        linear("self_attention.dense.weight", "self_attention.dense.bias", Group::Attention, m_hidden, m_hidden, true);
        layerNorm("post_attention_layernorm.weight", "post_attention_layernorm.bias");
        linear("mlp.dense_h_to_4h.weight", "mlp.dense_h_to_4h.bias", Group::Mlp, m_config.intermediateSize, m_hidden, true);
        linear("mlp.dense_4h_to_h.weight", "mlp.dense_4h_to_h.bias", Group::Mlp, m_hidden, m_config.intermediateSize, true);
    }

    void persimmon()
    {
        linear("self_attn.query_key_value.weight", "self_attn.query_key_value.bias", Group::Attention, checkedMultiply(3, m_hidden),
               m_hidden, true);
        linear("self_attn.dense.weight", "self_attn.dense.bias", Group::Attention, m_hidden, m_hidden, true);
        if (m_config.queryKeyNorm)
            for (const char *name : {"self_attn.q_layernorm.weight", "self_attn.q_layernorm.bias", "self_attn.k_layernorm.weight",
                                     "self_attn.k_layernorm.bias"})
                vector(name, Group::Norm, m_config.headDim);
        linear("mlp.dense_h_to_4h.weight", "mlp.dense_h_to_4h.bias", Group::Mlp, m_config.intermediateSize, m_hidden, true);
        linear("mlp.dense_4h_to_h.weight", "mlp.dense_4h_to_h.bias", Group::Mlp, m_hidden, m_config.intermediateSize, true);
        layerNorm("input_layernorm.weight", "input_layernorm.bias");
        layerNorm("post_attention_layernorm.weight", "post_attention_layernorm.bias");
    }

    void mpt()
    {
        vector("norm_1.weight", Group::Norm, m_hidden);
        matrix("attn.Wqkv.weight", Group::Attention, checkedMultiply(3, m_hidden), m_hidden);
        matrix("attn.out_proj.weight", Group::Attention, m_hidden, m_hidden);
        vector("norm_2.weight", Group::Norm, m_hidden);
        matrix("ffn.up_proj.weight", Group::Mlp, m_config.intermediateSize, m_hidden);
        matrix("ffn.down_proj.weight", Group::Mlp, m_hidden, m_config.intermediateSize);
    }

    void gptNeo()
    {
        layerNorm("ln_1.weight", "ln_1.bias");
        for (const char *name : {"attn.attention.k_proj.weight", "attn.attention.v_proj.weight", "attn.attention.q_proj.weight"})
            matrix(name, Group::Attention, m_hidden, m_hidden);
        linear("attn.attention.out_proj.weight", "attn.attention.out_proj.bias", Group::Attention, m_hidden, m_hidden, true);
        layerNorm("ln_2.weight", "ln_2.bias");
        linear("mlp.c_fc.weight", "mlp.c_fc.bias", Group::Mlp, m_config.intermediateSize, m_hidden, true);
        linear("mlp.c_proj.weight", "mlp.c_proj.bias", Group::Mlp, m_hidden, m_config.intermediateSize, true);
    }

    void gptJ()
    {
        layerNorm("ln_1.weight", "ln_1.bias");
        if (is("gptj"))
            for (const char *name : {"attn.k_proj.weight", "attn.v_proj.weight", "attn.q_proj.weight"})
                matrix(name, Group::Attention, m_hidden, m_hidden);
        matrix("attn.out_proj.weight", Group::Attention, m_hidden, m_hidden);
        if (is("codegen"))
            matrix("attn.qkv_proj.weight", Group::Attention, checkedMultiply(3, m_hidden), m_hidden);
        linear("mlp.fc_in.weight", "mlp.fc_in.bias", Group::Mlp, m_config.intermediateSize, m_hidden, true);
        linear("mlp.fc_out.weight", "mlp.fc_out.bias", Group::Mlp, m_hidden, m_config.intermediateSize, true);
    }

    void graniteMoe()
    {
        const bool attentionLast = is("granitemoehybrid");
        if (!attentionLast)
            attention();
        vector("input_layernorm.weight", Group::Norm, m_hidden);
        vector("post_attention_layernorm.weight", Group::Norm, m_hidden);
        const std::int64_t width = m_config.expertIntermediateSize, shared = m_config.sharedExpertIntermediateSize;
        if (m_config.experts > 0) {
            matrix("block_sparse_moe.router.weight", Group::Mlp, m_config.experts, m_hidden);
            m_visit("block_sparse_moe.experts.gate_up_proj", Group::Mlp, Shape{m_config.experts, checkedMultiply(2, width), m_hidden});
            m_visit("block_sparse_moe.experts.down_proj", Group::Mlp, Shape{m_config.experts, m_hidden, width});
        }
        if (shared > 0) {
            matrix("shared_mlp.input_linear.weight", Group::Mlp, checkedMultiply(2, shared), m_hidden);
            matrix("shared_mlp.output_linear.weight", Group::Mlp, m_hidden, shared);
        }
        if (attentionLast)
            attention();
    }

    void norms()
    {
        if (is("phi"))
            return layerNorm("input_layernorm.weight", "input_layernorm.bias");
        if (is("olmo") || is("nanochat"))
            return; // without parameters
        if (is("starcoder2") || is("stablelm") || is("jais2") || is("nemotron")) {
            layerNorm("input_layernorm.weight", "input_layernorm.bias");
            if (!is("stablelm") || !m_config.parallelResidual)
                layerNorm("post_attention_layernorm.weight", "post_attention_layernorm.bias");
            return;
        }
        if (is("apertus")) {
            vector("attention_layernorm.weight", Group::Norm, m_hidden);
            return vector("feedforward_layernorm.weight", Group::Norm, m_hidden);
        }
        const bool after = is("olmo2") || is("olmo3") || is("exaone4");
        if (!after)
            vector("input_layernorm.weight", Group::Norm, m_hidden);
        if (is("cohere") || is("cohere2"))
            return; // one for attention and MLP
        vector(is("vaultgemma") ? "pre_feedforward_layernorm.weight" : "post_attention_layernorm.weight", Group::Norm, m_hidden);
        if (m_config.postNorms) {
            vector("post_norm1.weight", Group::Norm, m_hidden);
            vector("post_norm2.weight", Group::Norm, m_hidden);
        }
        if (is("gemma2") || is("gemma3_text"))
            vector("pre_feedforward_layernorm.weight", Group::Norm, m_hidden);
        if (is("gemma2") || is("gemma3_text") || after)
            vector("post_feedforward_layernorm.weight", Group::Norm, m_hidden);
        if (is("glm4")) {
            vector("post_self_attn_layernorm.weight", Group::Norm, m_hidden);
            vector("post_mlp_layernorm.weight", Group::Norm, m_hidden);
        }
    }

    const ModelConfig &m_config;
    bool m_dense; // an MLP, not experts
    Visitor &m_visit;
    std::int64_t m_hidden, m_queries, m_keys;
};

template<typename Visitor>
void visitLayer(const ModelConfig &config, std::int64_t layer, Visitor visitor)
{
    LayerParameters<Visitor>(config, layer, visitor).run();
}

std::vector<std::int64_t> sizesOf(const Shape &shape) { return {shape.begin(), std::find(shape.begin(), shape.end(), 0)}; }

/// What lies outside the layers, in the order of named_parameters().
struct Ends {
    std::vector<Parameter> before, after;
    std::string_view layers = "model.layers.";
};

/// Names of modules outside the layers, and what the layers' names begin with.
struct EndNames {
    std::string_view embedding, layers, norm;
};

EndNames endNamesOf(std::string_view modelType)
{
    struct Row {
        std::string_view modelType;
        EndNames names;
    };
    constexpr EndNames gpt{"transformer.wte", "transformer.h.", "transformer.ln_f"};
    constexpr EndNames wordEmbeddings{"transformer.word_embeddings", "transformer.h.", "transformer.ln_f"};
    constexpr Row rows[] = {
        {"gpt2", gpt},
        {"gpt_bigcode", gpt},
        {"gptj", gpt},
        {"codegen", gpt},
        {"gpt_neo", gpt},
        {"falcon", wordEmbeddings},
        {"bloom", wordEmbeddings},
        {"mpt", {"transformer.wte", "transformer.blocks.", "transformer.norm_f"}},
        {"gpt_neox", {"gpt_neox.embed_in", "gpt_neox.layers.", "gpt_neox.final_layer_norm"}},
        {"opt", {"model.decoder.embed_tokens", "model.decoder.layers.", "model.decoder.final_layer_norm"}},
        {"phi", {"model.embed_tokens", "model.layers.", "model.final_layernorm"}},
        {"persimmon", {"model.embed_tokens", "model.layers.", "model.final_layernorm"}},
    };
    for (const Row &row : rows)
        if (row.modelType == modelType)
            return row.names;
    return {"model.embed_tokens", "model.layers.", "model.norm"};
}

Ends endsOf(const ModelConfig &config)
{
    using enum ParameterGroup;
    const auto is = [&](std::string_view modelType) { return config.modelType == modelType; };
    const bool opt = is("opt");
    const std::int64_t hidden = config.hiddenSize, width = config.embeddingWidth;
    const EndNames names = endNamesOf(config.modelType);
    Ends ends;
    ends.layers = names.layers;
    ends.before.push_back({std::string(names.embedding) + ".weight", {config.vocabSize, width}, Embedding, -1});
    if (is("gpt2") || is("gpt_bigcode") || is("gpt_neo"))
        ends.before.push_back({"transformer.wpe.weight", {config.maxPositions, hidden}, Embedding, -1});
    if (opt)
        ends.before.push_back({"model.decoder.embed_positions.weight", {checkedAdd(config.maxPositions, 2), hidden}, Embedding, -1});
    if (opt && width != hidden) {
        ends.before.push_back({"model.decoder.project_out.weight", {width, hidden}, Embedding, -1});
        ends.before.push_back({"model.decoder.project_in.weight", {hidden, width}, Embedding, -1});
    }
    if (is("bloom"))
        for (const char *name : {"transformer.word_embeddings_layernorm.weight", "transformer.word_embeddings_layernorm.bias"})
            ends.before.push_back({name, {hidden}, Norm, -1});
    const std::string norm(names.norm);
    constexpr std::string_view layerNorms[] = {"gpt2",   "gpt_bigcode", "gptj",       "codegen",  "gpt_neo", "gpt_neox", "opt",      "phi",
                                               "falcon", "bloom",       "starcoder2", "stablelm", "jais2",   "nemotron", "persimmon"};
    const bool layerNorm = std::find(std::begin(layerNorms), std::end(layerNorms), config.modelType) != std::end(layerNorms);
    std::vector<Parameter> &normAt = opt ? ends.before : ends.after;
    if (config.finalNorm && !is("olmo") && !is("nanochat")) // whose norms have no parameters
        normAt.push_back({norm + ".weight", {hidden}, Norm, -1});
    if (config.finalNorm && layerNorm)
        normAt.push_back({norm + ".bias", {hidden}, Norm, -1});
    if (!config.tiedEmbeddings)
        ends.after.push_back({"lm_head.weight", {config.vocabSize, width}, Head, -1});
    if (config.headBias)
        ends.after.push_back({"lm_head.bias", {config.vocabSize}, Head, -1});
    return ends;
}

std::int64_t elementsOf(const ModelConfig &config, std::int64_t layer)
{
    std::int64_t sum = 0;
    visitLayer(config, layer, [&](std::string_view, ParameterGroup, const Shape &shape) {
        std::int64_t elements = 1;
        for (const std::int64_t extent : sizesOf(shape))
            elements = checkedMultiply(elements, extent);
        sum = checkedAdd(sum, elements);
    });
    return sum;
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
    const Ends ends = endsOf(config);
    std::vector<Parameter> out = ends.before;
    for (std::int64_t layer = 0; layer < config.layers; ++layer) {
        const std::string prefix = std::string(ends.layers) + std::to_string(layer) + '.';
        visitLayer(config, layer, [&](std::string_view name, ParameterGroup group, const Shape &shape) {
            out.push_back({prefix + std::string(name), sizesOf(shape), group, static_cast<int>(layer)});
        });
    }
    out.insert(out.end(), ends.after.begin(), ends.after.end());
    return out;
}

std::int64_t parameterCount(const ModelConfig &config)
{
    const Ends ends = endsOf(config);
    std::int64_t sum = 0;
    for (const std::vector<Parameter> *part : {&ends.before, &ends.after})
        for (const Parameter &parameter : *part)
            sum = checkedAdd(sum, parameter.elements());
    if (config.denseLayers.empty())
        return checkedAdd(sum, checkedMultiply(elementsOf(config, 0), config.layers));
    for (std::int64_t layer = 0; layer < config.layers; ++layer)
        sum = checkedAdd(sum, elementsOf(config, layer));
    return sum;
}

} // namespace headroom
