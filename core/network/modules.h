// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/operators.h"
#include "core/network/quantized_weight.h"

#include <optional>
#include <string>

/// The building blocks of a decoder, as transformers 5.24 and PEFT 0.21 write them. forward() reads like the Python it
/// mirrors: where a Python variable dies or is bound anew, so does the handle here.
namespace headroom::network {

using autograd::Dims;
using autograd::Tape;
using autograd::Tensor;

/// A LoRA adapter around a Linear (peft/tuners/lora/layer.py: Linear).
struct LoraAdapter {
    Tensor a; ///< [rank, in]
    Tensor b; ///< [out, rank]
    double dropout = 0.0;
};

/// Names under which a module's allocations are filed: string literals, so that records need no owner.
struct LinearNames {
    const char *self;    ///< "self_attn.q_proj"
    const char *base;    ///< "self_attn.q_proj.base_layer"
    const char *dropout; ///< "self_attn.q_proj.lora_dropout"
    const char *a;       ///< "self_attn.q_proj.lora_A"
    const char *b;       ///< "self_attn.q_proj.lora_B"
};
#define HEADROOM_LINEAR_NAMES(name)                                                                                                        \
    {                                                                                                                                      \
        name, name ".base_layer", name ".lora_dropout", name ".lora_A", name ".lora_B"                                                     \
    }

/// nn.Linear, with or without an adapter.
struct Linear {
    LinearNames names;
    Tensor weight; ///< [out, in]
    Tensor bias;   ///< [out]; undefined: none
    std::optional<LoraAdapter> lora;
    Tensor saved; ///< PEFT's trainable copy (modules_to_save), which then computes instead of weight
    Tensor savedBias;
    bool isHead = false;                        ///< the output head: the loss phase begins where it is called
    std::shared_ptr<QuantizedWeight> quantized; ///< then weight is undefined

    std::int64_t inFeatures() const { return quantized ? quantized->sizes[1] : weight.size(1); }
    std::int64_t outFeatures() const { return quantized ? quantized->sizes[0] : weight.size(0); }

    Tensor forward(const Tensor &x) const;

private:
    Tensor adapted(const Tensor &x) const;
};

/// LlamaRMSNorm, Qwen2RMSNorm ...: computed in fp32, returned in the input's dtype.
struct RmsNorm {
    const char *name;
    Tensor weight; ///< [width]
    Tensor saved;  ///< PEFT's trainable copy

    Tensor forward(const Tensor &x) const;

private:
    Tensor normalized(const Tensor &x) const;
};

/// nn.Embedding.
struct Embedding {
    const char *name; ///< "model.embed_tokens"
    Tensor weight;    ///< [vocabulary, hidden]
    Tensor saved;     ///< PEFT's trainable copy

    /// `requireGrad`: the hook of enable_input_require_grads() makes the result a leaf that requires a gradient.
    Tensor forward(const Tensor &indices, bool requireGrad = false) const;
};

} // namespace headroom::network
