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

/// Which of a model's layers attend within a window only.
enum class WindowRule : std::uint8_t {
    Never,
    Always,           ///< every layer, where sliding_window is given (mistral, phi3, mixtral)
    SwitchedOn,       ///< use_sliding_window and the layers from max_window_layers on (qwen2, qwen3)
    Qwen2Moe,         ///< use_sliding_window and every second layer below max_window_layers
    WithoutRope,      ///< use_sliding_window and the layers that do not rotate (smollm3)
    AllSwitchedOn,    ///< use_sliding_window, then every layer (qwen3_moe)
    Pattern,          ///< layer_types; else all but every n-th layer (gemma2, gemma3, olmo3, gpt_oss)
    PatternFromFirst, ///< layer_types; else the first and every n-th layer after it are full ones (cwm)
    Listed,           ///< layer_types; else every layer. Without a window the model cannot run (ministral)
};

/// What a class makes of head_dim.
enum class HeadDimRule : std::uint8_t {
    Number,   ///< a number; with null transformers stops while it builds the model
    OrNull,   ///< null means hidden_size / num_attention_heads
    Demanded, ///< without a number transformers stops
    Unread,   ///< always hidden_size / num_attention_heads
};

/// A class's own names of what every config.json says; empty: the general ones. Where a config has the general name, that counts
/// (attribute_map); the MLP's width has one name alone.
struct OwnNames {
    std::string_view hidden = {}, layers = {}, heads = {}, positions = {}, intermediate = {};
};

/// What a class of configuration takes where config.json says nothing, and which of its keys it reads
/// (transformers 5.24, models/*/configuration_*.py).
struct ModelFamily {
    std::string_view modelType;
    std::int64_t keyValueHeads = 0; ///< num_key_value_heads; 0: as many as attention heads
    std::int64_t headDim = 0;       ///< where head_dim is missing; 0: hidden_size / num_attention_heads
    std::int64_t maxPositions = 0;
    // biases of the attention's projections
    std::string_view biasKey = {}; ///< empty: not configurable
    bool bias = false;             ///< where biasKey says nothing
    bool biasOnOutput = false;
    bool readsMlpBias = false;           ///< mlp_bias
    bool mlpBias = false;                ///< where mlp_bias says nothing
    bool biasOnMlp = false;              ///< the MLP has biases where the attention has
    std::string_view outputBiasKey = {}; ///< a key of its own for the output projection's; biasOnOutput is its default
    bool readsPattern = false;           ///< sliding_window_pattern: every n-th layer is a full one
    bool tied = false;                   ///< tie_word_embeddings
    std::string_view activationKey = "hidden_act";
    std::string_view activation = "silu";
    WindowRule window = WindowRule::Never;
    std::int64_t windowTokens = 0;  ///< sliding_window; 0: none
    std::int64_t windowPattern = 0; ///< every n-th layer is a full one
    double partialRotary = 1.0;     ///< the rotated part of a head
    std::string_view partialRotaryKey = "partial_rotary_factor";
    bool readsPartialRotary = false;
    OwnNames names = {};
    bool allHeads = false;              ///< no num_key_value_heads: as many as attention heads
    bool learnedPositions = false;      ///< a table of positions instead of a rotation
    bool linearBiases = false;          ///< on the attention's scores, instead of any positions
    bool alwaysFourTimesHidden = false; ///< the MLP is four times as wide as the model, whatever the config says
    bool fourTimesHidden = false;       ///< the MLP is four times as wide as the model, where the config does not say
    std::string_view attentionDropoutKey = "attention_dropout";
    std::optional<double> attentionDropout = {}; ///< where that key says nothing; unset: as the others
    std::string_view residualDropoutKey = {};    ///< empty: none
    std::string_view embeddingDropoutKey = {};
    double dropout = 0.0; ///< where those keys say nothing
    // routed experts
    std::int64_t experts = 0; ///< num_experts, num_local_experts; 0: the family has none
    std::int64_t expertsPerToken = 0;
    std::int64_t expertWidth = 0;       ///< moe_intermediate_size; 0: intermediate_size
    std::int64_t sharedExpertWidth = 0; ///< shared_expert_intermediate_size; 0: the family has none
    std::int64_t intermediateSize = 0;  ///< 0: must be given
    bool upcastsLogits = true;          ///< before transformers 4.49 the model itself cast its logits to fp32
    bool padsEmbeddings = true;         ///< embed_tokens has padding_idx: pad_token_id must be one of the vocabulary
    bool dividesHidden = false;         ///< the class demands that hidden_size is a multiple of num_attention_heads
    HeadDimRule headDimRule = HeadDimRule::Number;
    bool headBias = false;     ///< a bias on lm_head
    bool queryKeyNorm = false; ///< norms over query and key, by the names q_norm and k_norm
};

/// The model types that the engine executes, those that people train most first.
std::vector<std::string_view> executedModelTypes();

/// The family of that model_type; null where the engine does not execute it.
const ModelFamily *findModelFamily(std::string_view modelType);

} // namespace headroom
