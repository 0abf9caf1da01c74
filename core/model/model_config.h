// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/units/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// A decoder's architecture as its Hugging Face config.json states it, defaults of the class filled in
/// (transformers 5.24, `configuration_*.py`). All counts are elements, not bytes.
struct ModelConfig {
    std::string modelType;                         ///< "llama", "qwen3", "gemma2" ...
    std::int64_t hiddenSize = 0;                   ///< h
    std::int64_t layers = 0;                       ///< L, num_hidden_layers
    std::int64_t heads = 0;                        ///< H, num_attention_heads
    std::int64_t keyValueHeads = 0;                ///< Hk, num_key_value_heads
    std::int64_t headDim = 0;                      ///< D
    std::int64_t intermediateSize = 0;             ///< I
    std::int64_t vocabSize = 0;                    ///< V
    std::int64_t maxPositions = 0;                 ///< max_position_embeddings; 0: unknown
    bool tableOfPositions = false;                 ///< they are looked up in a table of that length: no sequence may be longer
    bool tiedEmbeddings = false;                   ///< lm_head.weight is embed_tokens.weight
    bool queryKeyValueBias = false;                ///< biases on q_proj, k_proj, v_proj (qwen2: always; most others: attention_bias)
    bool outputBias = false;                       ///< bias on o_proj (llama, qwen3 ...: attention_bias; qwen2, mistral, glm: never)
    bool mlpBias = false;                          ///< biases on gate_proj, up_proj, down_proj (llama: mlp_bias)
    bool queryKeyNorm = false;                     ///< RMSNorm on q and k: over head_dim (qwen3, gemma3), over all heads (olmo2, olmo3)
    std::optional<std::int64_t> slidingWindow;     ///< tokens; nullopt: none, or switched off by use_sliding_window
    std::vector<bool> slidingLayers;               ///< per layer: attends within the window only; empty: none does
    double attentionDropout = 0.0;                 ///< attention_dropout
    double residualDropout = 0.0;                  ///< resid_pdrop, hidden_dropout: on what attention and MLP return
    double embeddingDropout = 0.0;                 ///< embd_pdrop, hidden_dropout: on the embeddings
    bool headBias = false;                         ///< bias on lm_head (phi)
    bool alibi = false;                            ///< linear biases on the scores instead of a rotation (bloom, mpt; falcon: alibi)
    bool multiQuery = false;                       ///< one key and value for all heads, after the queries (falcon: multi_query)
    bool groupedProjection = false;                ///< new_decoder_architecture: each group's queries, key and value together (falcon)
    bool normsApart = false;                       ///< a norm each before attention and MLP side by side (falcon)
    bool normedResidual = false;                   ///< apply_residual_connection_post_layernorm: what is added is the norm's output (bloom)
    bool clipsProjections = false;                 ///< attn_config.clip_qkv (mpt)
    std::vector<bool> localLayers;                 ///< per layer: its mask leaves out what lies beyond the window (gpt_neo); empty: none
    bool postNorms = false;                        ///< use_post_norm: norms after attention and MLP (hyperclovax)
    std::int64_t embeddingWidth = 0;               ///< word_embed_proj_dim: h, or what is projected to h and back (opt)
    bool normsFirst = true;                        ///< do_layer_norm_before: norms before attention and MLP, not after (opt)
    bool finalNorm = true;                         ///< a norm after the last layer (opt may have none)
    bool rotates = true;                           ///< rotary embeddings (granitemoehybrid: position_embedding_type "rope")
    bool parallelResidual = true;                  ///< use_parallel_residual: attention and MLP side by side (gpt_neox)
    std::string ropeType = "default";              ///< "rope_type": default | linear | dynamic | yarn | longrope | llama3
    std::string slidingRopeType = "default";       ///< of sliding attention, where each kind of layer rotates in its own way
    std::int64_t rotaryDim = 0;                    ///< dimensions of a head that are rotated: D, or part of it (partial_rotary_factor)
    std::vector<bool> rotaryLayers;                ///< per layer: rotates (smollm3: no_rope_layers); empty: all do
    std::string hiddenActivation = "silu";         ///< hidden_act, hidden_activation
    bool attentionSoftcapping = false;             ///< attn_logit_softcapping: eager attention bounds its scores (gemma2)
    std::int64_t experts = 0;                      ///< num_experts, num_local_experts; 0: an MLP in every layer
    std::int64_t expertsPerToken = 0;              ///< num_experts_per_tok
    std::int64_t expertIntermediateSize = 0;       ///< width of one expert
    std::int64_t sharedExpertIntermediateSize = 0; ///< width of the expert that all tokens go to (qwen2_moe); 0: none
    std::int64_t latentWidth = 0;                  ///< kv_lora_rank: of the row that keys and values are made from (deepseek_v3)
    std::int64_t queryLatentWidth = 0;             ///< q_lora_rank; 0: queries are projected at once
    std::int64_t plainHeadDim = 0;                 ///< qk_nope_head_dim: what of a query or key is not rotated; rotaryDim: the rest
    std::int64_t valueHeadDim = 0;                 ///< v_head_dim
    bool interleavedRotation = false;              ///< rope_interleave
    std::int64_t expertGroups = 1;                 ///< n_group: experts are chosen from the best groups (glm4_moe)
    std::int64_t bestExpertGroups = 1;             ///< topk_group
    bool normalisesExperts = false;                ///< norm_topk_prob: the chosen experts' weights are divided by their sum
    std::vector<bool> denseLayers; ///< per layer: an MLP instead of experts (mlp_only_layers, decoder_sparse_step); empty: none
    bool logitSoftcapping = false; ///< final_logit_softcapping: the logits are bounded (gemma2, gemma3)

    /// Whether a layer has an MLP instead of experts.
    bool isDense(std::int64_t layer) const
    {
        return experts == 0 || (!denseLayers.empty() && denseLayers[static_cast<std::size_t>(layer)]);
    }
    /// Whether all layers are alike, so that one can stand for another. Whatever a field sets layer by layer belongs here.
    bool uniformLayers() const;
    /// The same with fewer layers: the first ones.
    ModelConfig withLayers(std::int64_t count) const;

    bool operator==(const ModelConfig &) const = default;
};

/// Reads a config.json's text. Required: hidden_size, num_hidden_layers, num_attention_heads, intermediate_size, vocab_size.
/// Unknown keys are ignored (config.json carries much that moves no memory); wrong types, impossible values and
/// architectures that the engine does not execute are an Issue whose `where` is the key's path ("model.config.hidden_size").
Result<ModelConfig> readModelConfig(std::string_view json, std::string_view where = "model.config");

/// Whether the engine executes this model_type; the Issue's text says why not.
std::optional<Issue> unsupportedReason(std::string_view modelType);

} // namespace headroom
