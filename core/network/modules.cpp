// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/network/modules.h"

namespace headroom::network {

using namespace autograd;

Tensor Linear::forward(const Tensor &x) const
{
    if (halted(x))
        return {};
    Tape &tape = *x->tape;
    if (saved) {
        Tape::Scope scope(tape, names.self);
        return linear(x, saved, savedBias);
    }
    if (!lora) {
        Tape::Scope scope(tape, names.self);
        return linear(x, weight, bias);
    }

    // result = base_layer(x); x = x.to(lora_A.weight.dtype); result = result + lora_B(lora_A(dropout(x))) * scaling
    Tape::Scope scope(tape, names.self);
    Tensor result;
    {
        Tape::Scope base(tape, names.base);
        result = linear(x, weight, bias);
    }
    const DType resultDtype = result.dtype();
    const Tensor cast = to(x, lora->a.dtype());
    Tensor update;
    {
        Tensor dropped;
        {
            Tape::Scope inDropout(tape, names.dropout);
            dropped = dropout(cast, lora->dropout);
        }
        Tape::Scope inA(tape, names.a);
        update = linear(dropped, lora->a);
    }
    {
        Tape::Scope inB(tape, names.b);
        update = linear(update, lora->b);
    }
    update = mulNumber(update);
    result = add(result, update);
    update.reset();
    if (halted(result))
        return {};
    return to(result, resultDtype);
}

Tensor RmsNorm::forward(const Tensor &x) const
{
    if (halted(x))
        return {};
    Tape::Scope scope(*x->tape, name);
    const DType inputDtype = x.dtype();
    Tensor hidden = to(x, DType::Float32);
    Tensor squared = square(hidden);
    const Tensor variance = meanLast(squared);
    squared.reset();
    Tensor shifted = addNumber(variance);
    Tensor scale = rsqrt(shifted);
    shifted.reset();
    hidden = mul(hidden, scale);
    scale.reset();
    if (halted(hidden))
        return {};
    return mul(saved ? saved : weight, to(hidden, inputDtype));
}

Tensor Embedding::forward(const Tensor &indices) const
{
    Tape::Scope scope(*indices->tape, name);
    return embedding(saved ? saved : weight, indices);
}

} // namespace headroom::network
