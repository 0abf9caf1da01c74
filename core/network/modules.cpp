// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/network/modules.h"

#include "core/autograd/module_hooks.h"

namespace headroom::network {

using namespace autograd;

namespace {

/// A Linear as its own module.
Tensor callLinear(const char *name, std::uint8_t part, const Tensor &x, const Tensor &weight, const Tensor &bias = {})
{
    return halted(x) ? Tensor() : callModule(*x->tape, name, part, x, [&](const Tensor &input) { return linear(input, weight, bias); });
}

} // namespace

Tensor Linear::forward(const Tensor &x) const
{
    if (halted(x))
        return {};
    Tape &tape = *x->tape;
    Tape::Scope scope(tape, names.self);
    const auto run = [&](const Tensor &input) {
        if (isHead)
            tape.mark(autograd::TracePhase::Loss);
        if (saved)
            return callLinear(names.self, Whole, input, saved, savedBias);
        if (lora)
            return adapted(input);
        return quantized ? quantizedLinear(input, quantized, bias) : linear(input, weight, bias);
    };
    return callModule(tape, names.self, saved || lora ? Outer : Whole, x, run); // ModulesToSaveWrapper, PEFT's Linear, nn.Linear
}

/// peft/tuners/lora/layer.py: Linear.forward; bnb.py: Linear4bit.forward, Linear8bitLt.forward.
/// result = base_layer(x); x = x.to(lora_A.weight.dtype); result = result + lora_B(lora_A(dropout(x))) * scaling
Tensor Linear::adapted(const Tensor &x) const
{
    Tape &tape = *x->tape;
    Tensor result;
    {
        Tape::Scope base(tape, names.base);
        result = quantized ? quantizedLinear(x, quantized, bias) : callLinear(names.self, Base, x, weight, bias);
    }
    if (quantized && quantized->fourBit() && !halted(result))
        result = clone(result, preservedStrides(result)); // "we need to defensively clone here"
    const bool autocast = tape.autocast().has_value();
    const DType resultDtype = result.dtype();
    if (ModuleHooks *hooks = tape.moduleHooks())
        hooks->access(lora->a);
    const Tensor cast = quantized && autocast ? x : to(x, lora->a.dtype());
    Tensor update;
    {
        Tensor dropped;
        {
            Tape::Scope inDropout(tape, names.dropout);
            if (!halted(cast))
                dropped =
                    callModule(tape, names.self, Dropout, cast, [this](const Tensor &input) { return dropout(input, lora->dropout); });
        }
        Tape::Scope inA(tape, names.a);
        update = callLinear(names.self, AdapterA, dropped, lora->a);
    }
    {
        Tape::Scope inB(tape, names.b);
        update = callLinear(names.self, AdapterB, update, lora->b);
    }
    update = mulNumber(update);
    if (quantized && !autocast)
        update = to(update, resultDtype);
    result = add(result, update);
    update.reset();
    if (halted(result))
        return {};
    return quantized ? result : to(result, resultDtype);
}

Tensor RmsNorm::forward(const Tensor &x) const
{
    if (halted(x))
        return {};
    Tape &tape = *x->tape;
    Tape::Scope scope(tape, name);
    if (saved)
        return callModule(tape, name, Outer, x, [&](const Tensor &outer) {
            return callModule(tape, name, Whole, outer, [this](const Tensor &input) { return normalized(input); });
        });
    return callModule(tape, name, Whole, x, [this](const Tensor &input) { return normalized(input); });
}

Tensor RmsNorm::normalized(const Tensor &x) const
{
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

Tensor Embedding::forward(const Tensor &indices, bool requireGrad) const
{
    Tape &tape = *indices->tape;
    Tape::Scope scope(tape, name);
    const auto look = [&](const Tensor &input) {
        Tensor found = embedding(saved ? saved : weight, input);
        if (requireGrad)
            found->requiresGrad = true;
        return found;
    };
    if (saved)
        return callModule(tape, name, Outer, indices, [&](const Tensor &outer) { return callModule(tape, name, Whole, outer, look); });
    return callModule(tape, name, Whole, indices, look);
}

} // namespace headroom::network
