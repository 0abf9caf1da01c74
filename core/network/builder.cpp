// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/network/builder.h"

namespace headroom::network {

using autograd::Role;

Builder Builder::leaving(const char *linear) const
{
    Builder other = *this;
    if (m_quantizer && m_quantizer->kind() != Quantization::GptqInt4)
        other.m_left = linear;
    return other;
}

Tensor Builder::parameter(const Dims &sizes, const char *op) const
{
    Tensor t = m_tape.empty(sizes, m_weights, fromHost() ? "aten.empty.memory_format" : op);
    m_tape.setRole(t, Role::Parameter);
    return t;
}

Tensor Builder::buffer(const Dims &sizes, DType dtype, const char *op) const
{
    Tensor t = m_tape.empty(sizes, dtype, op);
    m_tape.setRole(t, Role::Parameter);
    return t;
}

Linear Builder::linear(const LinearNames &names, std::int64_t in, std::int64_t out, bool bias) const
{
    Tape::Scope scope(m_tape, names.self);
    Linear linear{};
    linear.names = names;
    if (m_quantizer && m_left != names.self)
        linear.quantized = m_quantizer->quantize({out, in});
    else
        linear.weight = parameter({out, in});
    if (bias && linear.quantized && linear.quantized->gptq())
        linear.bias = buffer({out}, gptqBiasDtype(*linear.quantized), "gptq.bias > aten._to_copy.default");
    else if (bias)
        linear.bias = parameter({out});
    return linear;
}

Linear Builder::ownLinear(const LinearNames &names, std::int64_t in, std::int64_t out, bool bias, Version transformers) const
{
    if (!m_quantizer || !leavesOwnLinears(m_quantizer->kind(), transformers))
        return linear(names, in, out, bias);
    return Builder(m_tape, m_weights).linear(names, in, out, bias);
}

Linear Builder::router(const LinearNames &names, std::int64_t in, std::int64_t out) const
{
    const bool left = m_quantizer && m_quantizer->kind() == Quantization::GptqInt4;
    return left ? Builder(m_tape, m_weights).linear(names, in, out, false) : linear(names, in, out, false);
}

RmsNorm Builder::norm(const char *name, std::int64_t width, RmsNormKind kind) const
{
    Tape::Scope scope(m_tape, name);
    if (kind == RmsNormKind::NoWeight)
        return RmsNorm{name, {}, {}, kind};
    return RmsNorm{name, parameter({width}, kind == RmsNormKind::Gemma ? "aten.zeros.default" : "aten.ones.default"), {}, kind};
}

Linear Builder::conv1d(const LinearNames &names, std::int64_t in, std::int64_t out) const
{
    if (m_quantizer) // bitsandbytes puts its Linear there (transformers, integrations/bitsandbytes.py: replace_with_bnb_linear)
        return linear(names, in, out, true);
    Tape::Scope scope(m_tape, names.self);
    Linear linear;
    linear.names = names;
    linear.conv1d = true;
    linear.weight = parameter({in, out});
    linear.bias = parameter({out}, "aten.zeros.default");
    return linear;
}

LayerNorm Builder::norm(const char *name, std::int64_t width, LayerNormKind kind) const
{
    Tape::Scope scope(m_tape, name);
    LayerNorm norm{name, {}, {}, {}, {}};
    norm.kind = kind;
    if (kind == LayerNormKind::WrittenOut)
        norm.weight = parameter({width}, "aten.ones.default");
    if (kind == LayerNormKind::Kernel || kind == LayerNormKind::OnePlus || kind == LayerNormKind::NoBias) {
        norm.weight = parameter({width});
        if (kind != LayerNormKind::NoBias)
            norm.bias = parameter({width});
        else if (!fromHost())
            m_tape.empty({width}, m_weights); // which is gone at once
    }
    return norm;
}

Embedding Builder::embedding(const char *name, std::int64_t count, std::int64_t width) const
{
    Tape::Scope scope(m_tape, name);
    return Embedding{name, parameter({count, width}), {}, {}, {}};
}

} // namespace headroom::network
