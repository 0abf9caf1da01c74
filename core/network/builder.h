// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/network/modules.h"
#include "core/units/version.h"

#include <string_view>

namespace headroom::network {

/// Makes modules with their parameters on the device, one tensor after the other as from_config() does.
class Builder
{
public:
    /// `quantizer`: every Linear is quantised as soon as it is loaded; null: none is. It must outlive the builder.
    Builder(Tape &tape, DType weights, Quantizer *quantizer = nullptr)
        : m_tape(tape)
        , m_weights(weights)
        , m_quantizer(quantizer)
    {}

    Tape &tape() const { return m_tape; }
    DType weights() const { return m_weights; }
    /// Quantised models come from the host tensor by tensor: what is computed while a model is built stays there.
    bool fromHost() const { return m_quantizer != nullptr; }

    /// The same, which leaves the Linear of that name as it is where bitsandbytes quantises the others.
    Builder leaving(const char *linear) const;

    Tensor parameter(const Dims &sizes, const char *op = "aten.empty.memory_format") const;
    /// A buffer: counted with the weights, never trained.
    Tensor buffer(const Dims &sizes, DType dtype, const char *op) const;
    Linear linear(const LinearNames &names, std::int64_t in, std::int64_t out, bool bias) const;
    /// A Linear of a class of its own (FalconLinear): from transformers 5 on bitsandbytes leaves it as it is, before it did not
    /// (integrations/bitsandbytes.py: `type(module) is nn.Linear`, 4.36: `isinstance(module, nn.Linear)`).
    static bool leavesOwnLinears(Quantization kind, Version transformers)
    {
        return kind != Quantization::GptqInt4 && transformers >= Version{5, 0};
    }
    Linear ownLinear(const LinearNames &names, std::int64_t in, std::int64_t out, bool bias, Version transformers) const;
    /// A Linear that scores experts: GPTQ's libraries leave it as it is (GPTQModel 7.7, models/definitions/mixtral.py and its
    /// likes; AutoGPTQ 0.7, modeling/mixtral.py), bitsandbytes quantises it.
    Linear router(const LinearNames &names, std::int64_t in, std::int64_t out) const;
    RmsNorm norm(const char *name, std::int64_t width, RmsNormKind kind = RmsNormKind::Llama) const;
    /// GPT-2's Conv1D: weight [in, out] and a bias of zeros.
    Linear conv1d(const LinearNames &names, std::int64_t in, std::int64_t out) const;
    LayerNorm layerNorm(const char *name, std::int64_t width) const { return norm(name, width, LayerNormKind::Kernel); }
    LayerNorm norm(const char *name, std::int64_t width, LayerNormKind kind) const;
    Embedding embedding(const char *name, std::int64_t count, std::int64_t width) const;

private:
    Tape &m_tape;
    DType m_weights;
    Quantizer *m_quantizer;
    std::string_view m_left; ///< a Linear that is not quantised
};

} // namespace headroom::network
