// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/operators.h"
#include "core/network/quantized_weight.h"

#include <optional>
#include <string>
#include <string_view>

/// The building blocks of a decoder, as transformers 5.24 and PEFT 0.21 write them. forward() reads like the Python it
/// mirrors: where a Python variable dies or is bound anew, so does the handle here.
namespace headroom::network {

using autograd::Dims;
using autograd::Tape;
using autograd::Tensor;

/// A LoRA adapter around a Linear (peft/tuners/lora/layer.py: Linear).
struct LoraAdapter {
    Tensor a;         ///< [rank, in]
    Tensor b;         ///< [out, rank]
    Tensor magnitude; ///< DoRA: [out]; undefined: plain LoRA
    double dropout = 0.0;
};

/// Names under which a module's allocations are filed: string literals, so that records need no owner.
struct LinearNames {
    const char *self;      ///< "self_attn.q_proj"
    const char *base;      ///< "self_attn.q_proj.base_layer"
    const char *dropout;   ///< "self_attn.q_proj.lora_dropout"
    const char *a;         ///< "self_attn.q_proj.lora_A"
    const char *b;         ///< "self_attn.q_proj.lora_B"
    const char *magnitude; ///< "self_attn.q_proj.lora_magnitude_vector"
};
#define HEADROOM_LINEAR_NAMES(name)                                                                                                        \
    {                                                                                                                                      \
        name, name ".base_layer", name ".lora_dropout", name ".lora_A", name ".lora_B", name ".lora_magnitude_vector"                      \
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
    bool conv1d = false;                        ///< GPT-2's Conv1D: the weight is [in, out]
    bool writtenOut = false;                    ///< FalconLinear: input @ weight.T, then + bias
    std::shared_ptr<QuantizedWeight> quantized; ///< then weight is undefined

    Tensor forward(const Tensor &x) const;
    std::int64_t inFeatures() const { return quantized ? quantized->sizes[1] : weight.size(conv1d ? 0 : 1); }
    std::int64_t outFeatures() const { return quantized ? quantized->sizes[0] : weight.size(conv1d ? 1 : 0); }

private:
    Tensor adapted(const Tensor &x) const;
    Tensor compute(const Tensor &x, const Tensor &usedWeight, const Tensor &usedBias) const;
};

/// How a family writes its RMSNorm's last line; x is in fp32 there.
enum class RmsNormKind : std::uint8_t {
    Llama,    ///< weight * x.to(input_dtype)
    Gemma,    ///< (x * (1.0 + weight.float())).type_as(input)
    Olmo,     ///< (weight * x).to(input_dtype)
    NoWeight, ///< x.type_as(input): no parameter (nanochat)
    InFp32,   ///< (weight.to(torch.float32) * x).to(input_dtype) (Helium)
};

/// How Liger's kernel computes a norm in its place.
struct LigerNorm {
    bool inPlace;        ///< the gradient is written over the one that comes in
    int multiprocessors; ///< of the GPU
};

/// LlamaRMSNorm, GemmaRMSNorm ...: computed in fp32, returned in the input's dtype.
struct RmsNorm {
    const char *name;
    Tensor weight; ///< [width]
    Tensor saved;  ///< PEFT's trainable copy
    RmsNormKind kind = RmsNormKind::Llama;
    std::optional<LigerNorm> liger = {}; ///< Liger's kernel computes instead

    Tensor forward(const Tensor &x) const;

private:
    Tensor normalized(const Tensor &x) const;
};

/// How a family computes its LayerNorm.
enum class LayerNormKind : std::uint8_t {
    Kernel,     ///< nn.LayerNorm: one kernel
    Plain,      ///< the same without parameters, on an fp32 copy (OLMo)
    WrittenOut, ///< in fp32, operator by operator, with a weight and no bias (Cohere)
    NoBias,     ///< the kernel; the bias that nn.LayerNorm made is dropped (MPT)
    OnePlus,    ///< the kernel with one added to the weight, under autocast in its dtype (Nemotron)
};

/// nn.LayerNorm and its likes.
struct LayerNorm {
    const char *name;
    Tensor weight, bias;     ///< [width]
    Tensor saved, savedBias; ///< PEFT's trainable copy
    LayerNormKind kind = LayerNormKind::Kernel;

    Tensor forward(const Tensor &x) const;

private:
    Tensor normalized(const Tensor &x) const;
    Tensor writtenOut(const Tensor &x, const Tensor &trained) const;
    Tensor onePlus(const Tensor &x, const Tensor &trained, const Tensor &trainedBias) const;
};

/// nn.Embedding.
struct Embedding {
    const char *name;                     ///< "model.embed_tokens"
    Tensor weight;                        ///< [vocabulary, hidden]
    Tensor saved;                         ///< PEFT's trainable copy
    Tensor scale;                         ///< a buffer of one number that the result is multiplied by (Gemma); undefined: none
    Tensor savedScale;                    ///< its copy in PEFT's trainable copy
    std::optional<LoraAdapter> lora = {}; ///< [rank, vocabulary] and [hidden, rank]
    /// The hook of enable_input_require_grads() was set before PEFT wrapped the module: what it adds to is a leaf too.
    bool wrappedRequiresGrad = false;

    /// `requireGrad`: the hook of enable_input_require_grads() makes the result a leaf that requires a gradient.
    Tensor forward(const Tensor &indices, bool requireGrad = false) const;

private:
    Tensor found(const Tensor &indices) const;
    Tensor adapted(const Tensor &indices) const;
};

/// The activation functions of transformers' ACT2FN that are executed.
enum class Activation : std::uint8_t {
    Silu,
    Gelu,       ///< one kernel, exact or with the tanh approximation ("gelu", "gelu_pytorch_tanh")
    GeluPython, ///< NewGELUActivation, written out in operators ("gelu_new")
    GeluFast,   ///< FastGELUActivation, written out in operators ("gelu_fast")
    Relu,
    ReluSquared, ///< ReLUSquaredActivation ("relu2")
};
/// The function of that name, or nothing where it is not executed.
std::optional<Activation> activationOf(std::string_view name);
Tensor activate(Activation activation, const Tensor &x);

/// The activation of a gated MLP, whose result is multiplied with the other half.
struct GatedActivation {
    Activation function;
    bool liger = false; ///< activation and product are one kernel of Liger's
};

} // namespace headroom::network
