// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/operators.h"
#include "core/model/model_config.h"
#include "core/plan/training_plan.h"

#include <functional>

namespace headroom::network {

using autograd::Tensor;

/// Whether the core of attention, what lies between the rotation and the output projection, runs under a checkpoint of its own.
enum class CoreCheckpoint : std::uint8_t { None, NonReentrant, Reentrant };

/// What every layer is called with besides its hidden states.
struct LayerContext {
    Tensor mask;        ///< [B, 1, S, S] of this layer's kind: additive (eager) or boolean (sdpa); undefined: is_causal
    Tensor bias;        ///< attention with linear biases: what is added to the scores; undefined: nothing
    Tensor cos, sin;    ///< [1, S, D]
    Tensor positionIds; ///< [1, S]
    CoreCheckpoint core = CoreCheckpoint::None;
    Tensor *besides = nullptr; ///< where the layer puts what it returns besides its hidden states; null: it returns nothing more
};

/// What every attention module keeps of the config.
struct AttentionSettings {
    std::int64_t heads, keyValueHeads, headDim;
    double dropout;
    AttentionKind kind;

    AttentionSettings(const ModelConfig &config, AttentionKind attention);
};

/// How a family writes apply_rotary_pos_emb.
enum class Rotation : std::uint8_t {
    None,
    Halves,          ///< x * cos + rotate_half(x) * sin (Llama)
    HalvesBackwards, ///< the same, turned the other way (nanochat)
    HalvesInFp32,    ///< the same with cosines and sines in fp32, cast back at the end (OLMo)
    FirstDimHalves,  ///< the head's first dimensions alone, joined with the rest (Phi-3)
    FirstDimPairs,   ///< the same, turning even with odd dimensions (GLM)
    FirstDimLate,    ///< as FirstDimHalves, but query and key are both rotated before either is joined (GPT-NeoX)
    FirstDimLast,    ///< as FirstDimLate, but what was rotated lives until both are joined (Nemotron)
    PairsInFp32,     ///< even with odd dimensions, query and key in fp32 (Cohere)
    HalfPairsInFp32, ///< the same, with each of the first half of the cosines and sines for a pair (ERNIE)
    HalfPairs,       ///< even with odd dimensions, each of the first half of the cosines and sines for a pair (Helium)
    SplitHalves,     ///< both halves of the head one after the other, with cosines and sines of half its width (gpt-oss)
    Liger,           ///< Liger's kernel in place of any of these
};

/// x * cos + rotate_half(x) * sin, with cosines and sines of [1, 1, S, D].
Tensor rotateHalves(const Tensor &x, const Tensor &cos, const Tensor &sin);
/// apply_rotary_pos_emb on query and key of [B, H, S, D], with cosines and sines of [1, S, rotary dimensions].
void applyRotary(Rotation rotation, Tensor &query, Tensor &key, const Tensor &cos, const Tensor &sin);

/// The parts of query and key of classes that cut them by hand (Phi, StableLM, Persimmon): variables of the attention's forward, which
/// live as long as it runs.
struct HeadParts {
    Tensor queryTurned, queryKept, keyTurned, keyKept;
};
/// Turns the first `rotated` dimensions of each head and joins them with the rest.
[[nodiscard]] HeadParts rotateFirstPart(Tensor &query, Tensor &key, std::int64_t rotated, const LayerContext &context);

/// [B, Hk, S, D] -> [B, Hk * n, S, D] (repeat_kv): a copy, but where the strides happen to allow a view.
Tensor repeatKeyValue(const Tensor &t, std::int64_t n);

/// transformers' attention interfaces on query [B, H, S, D], key and value [B, Hk, S, D] -> [B, S, H, D], with the context's
/// mask and under its checkpoint. `softcapped`: eager attention bounds the scores by a tanh (Gemma 2). `weights`: the
/// probabilities that eager attention returns beside its output; a checkpointed one returns its output alone.
Tensor attend(AttentionKind kind, const Tensor &query, const Tensor &key, const Tensor &value, const LayerContext &context, double dropout,
              Tensor &weights, bool softcapped = false);

/// The same for classes that cast what is in fp32 before the flash-attn package's kernel, seen as [B, S, H, D]
/// (FalconFlashAttention2, GPTNeoFlashAttention2).
Tensor flashInHalf(Tensor &query, Tensor &key, Tensor &value, const LayerContext &context, double dropout);

/// An attention function of query, key, value and mask.
using AttentionFunction =
    std::function<Tensor(const Tensor &query, const Tensor &key, const Tensor &value, const Tensor &mask, Tensor &weights)>;
/// Calls it under the context's checkpoint, as Megatron-LM does under --recompute-granularity selective
/// (megatron/core/transformer/attention.py: _checkpointed_attention_forward).
Tensor callCore(const AttentionFunction &function, const Tensor &query, const Tensor &key, const Tensor &value, const LayerContext &context,
                Tensor &weights);

} // namespace headroom::network
