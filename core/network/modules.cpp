// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/network/modules.h"

#include "core/autograd/module_hooks.h"
#include "core/autograd/operators_liger.h"
#include "core/network/dora.h"

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
            return callModule(tape, names.self, Whole, input, [this](const Tensor &x1) { return compute(x1, saved, savedBias); });
        if (lora)
            return adapted(input);
        return quantized ? quantizedLinear(input, quantized, bias) : compute(input, weight, bias);
    };
    return callModule(tape, names.self, saved || lora ? Outer : Whole, x, run); // ModulesToSaveWrapper, PEFT's Linear, nn.Linear
}

/// peft/tuners/lora/layer.py: Linear.forward; bnb.py: Linear4bit.forward, Linear8bitLt.forward; gptq.py: GPTQLoraLinear.forward.
/// result = base_layer(x); x = x.to(lora_A.weight.dtype); result = result + lora_B(lora_A(dropout(x))) * scaling
Tensor Linear::adapted(const Tensor &x) const
{
    Tape &tape = *x->tape;
    const bool bitsAndBytes = quantized && !quantized->gptq();
    Tensor result;
    {
        Tape::Scope base(tape, names.base);
        result = quantized ? quantizedLinear(x, quantized, bias)
                           : callModule(tape, names.self, Base, x, [this](const Tensor &input) { return compute(input, weight, bias); });
    }
    if (quantized && quantized->fourBit() && !halted(result))
        result = clone(result, preservedStrides(result)); // "we need to defensively clone here"
    const bool autocast = tape.autocast().has_value();
    const DType resultDtype = result.dtype();
    if (ModuleHooks *hooks = tape.moduleHooks())
        hooks->access(lora->a);
    const Tensor cast = bitsAndBytes && autocast ? x : to(x, lora->a.dtype());
    if (lora->magnitude) {
        { // variants.py: DoraLinearVariant.forward
            Tensor dropped = cast;
            if (lora->dropout > 0.0) {
                Tape::Scope inDropout(tape, names.dropout);
                dropped = dropout(cast, lora->dropout);
            }
            if (halted(dropped) || halted(result))
                return {};
            result = add(result, doraUpdate(*this, dropped, lora->dropout > 0.0 ? Tensor() : result));
        }
        return halted(result) || (bitsAndBytes && autocast) ? result : to(result, resultDtype);
    }
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
    if (bitsAndBytes && !autocast)
        update = to(update, resultDtype);
    result = add(result, update);
    update.reset();
    if (halted(result))
        return {};
    return bitsAndBytes ? result : to(result, resultDtype);
}

Tensor Linear::compute(const Tensor &x, const Tensor &usedWeight, const Tensor &usedBias) const
{
    if (writtenOut) {
        const Tensor product = matmul(x, transposed2d(usedWeight));
        return usedBias ? add(product, usedBias) : product;
    }
    if (!conv1d)
        return linear(x, usedWeight, usedBias);
    // torch.addmm(bias, x.view(-1, x.size(-1)), weight).view(size_out)
    Dims sizes = x.sizes();
    const Tensor out = addmm(usedBias, view(x, {sizes.leading().elements(), sizes.back()}), usedWeight);
    sizes[sizes.rank() - 1] = usedWeight.size(1);
    return halted(out) ? Tensor() : view(out, sizes);
}

Tensor LayerNorm::forward(const Tensor &x) const
{
    if (halted(x))
        return {};
    Tape &tape = *x->tape;
    Tape::Scope scope(tape, name);
    const auto run = [this](const Tensor &input) { return normalized(input); };
    if (saved)
        return callModule(tape, name, Outer, x, [&](const Tensor &outer) { return callModule(tape, name, Whole, outer, run); });
    return callModule(tape, name, Whole, x, run);
}

Tensor LayerNorm::normalized(const Tensor &x) const
{
    const Tensor &trained = saved ? saved : weight;
    switch (kind) {
    case LayerNormKind::Kernel:
    case LayerNormKind::NoBias: break;
    case LayerNormKind::Plain: { // F.layer_norm(hidden_states.to(torch.float32), ...).to(orig_dtype)
        const Tensor normed = layerNorm(to(x, DType::Float32), {}, {});
        return halted(normed) ? Tensor() : to(normed, x.dtype());
    }
    case LayerNormKind::WrittenOut: return writtenOut(x, trained);
    case LayerNormKind::OnePlus: return onePlus(x, trained, saved ? savedBias : bias);
    }
    return layerNorm(x, trained, saved ? savedBias : bias);
}

/// CohereLayerNorm.forward
Tensor LayerNorm::writtenOut(const Tensor &x, const Tensor &trained) const
{
    Tensor hidden = to(x, DType::Float32);
    const Tensor mean = meanLast(hidden);
    Tensor variance;
    {
        Tensor squared = square(sub(hidden, mean));
        variance = meanLast(squared);
    }
    {
        const Tensor centred = sub(hidden, mean);
        Tensor shifted = addNumber(variance);
        const Tensor scale = rsqrt(shifted);
        shifted.reset();
        hidden = mul(centred, scale);
    }
    if (halted(hidden))
        return {};
    hidden = mul(to(trained, DType::Float32), hidden);
    return halted(hidden) ? Tensor() : to(hidden, x.dtype());
}

/// NemotronLayerNorm1P.forward
Tensor LayerNorm::onePlus(const Tensor &x, const Tensor &trained, const Tensor &trainedBias) const
{
    const std::optional<DType> autocast = x->tape->autocast();
    if (!autocast)
        return layerNormAsIs(x, addNumber(trained), trainedBias);
    Tensor factor = addNumber(trained);
    if (halted(factor))
        return {};
    const Tensor castInput = to(x, *autocast), castWeight = to(factor, *autocast), castBias = to(trainedBias, *autocast);
    factor.reset();
    return layerNormAsIs(castInput, castWeight, castBias);
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
    const Tensor &trained = saved ? saved : weight;
    if (liger)
        return ligerRmsNorm(x, trained, liger->inPlace, liger->multiprocessors);
    const DType inputDtype = x.dtype();
    Tensor hidden = to(x, DType::Float32);
    Tensor squared = square(hidden);
    Tensor variance = meanLast(squared);
    squared.reset();
    Tensor shifted = addNumber(variance);
    if (kind == RmsNormKind::Gemma || kind == RmsNormKind::NoWeight)
        variance.reset(); // no variable there: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
    Tensor scale = rsqrt(shifted);
    shifted.reset();
    hidden = mul(hidden, scale);
    scale.reset();
    if (halted(hidden))
        return {};
    switch (kind) {
    case RmsNormKind::Llama: break;
    case RmsNormKind::NoWeight: return to(hidden, inputDtype);
    case RmsNormKind::Gemma: {
        Tensor scaled;
        {
            Tensor factor;
            {
                const Tensor upcast = to(trained, DType::Float32);
                factor = addNumber(upcast);
            }
            scaled = mul(hidden, factor);
        }
        hidden.reset();
        return to(scaled, inputDtype);
    }
    case RmsNormKind::InFp32: {
        const Tensor scaled = mul(to(trained, DType::Float32), hidden);
        return to(scaled, inputDtype);
    }
    case RmsNormKind::Olmo: {
        const Tensor scaled = mul(trained, hidden);
        return to(scaled, inputDtype);
    }
    }
    return mul(trained, to(hidden, inputDtype));
}

Tensor Embedding::found(const Tensor &indices) const
{
    const Tensor &trained = saved ? saved : weight;
    Tensor rows = embedding(trained, indices);
    return scale ? mul(rows, to(savedScale ? savedScale : scale, trained.dtype())) : rows;
}

/// peft/tuners/lora/layer.py: Embedding.forward. Neither the input nor A are cast; dropout is not applied.
Tensor Embedding::adapted(const Tensor &indices) const
{
    Tensor result = found(indices);
    if (wrappedRequiresGrad)
        result->requiresGrad = true;
    const DType resultDtype = result.dtype();
    if (lora->magnitude) {
        {
            DoraRows dora = doraRows(*this, indices);
            if (scale)
                dora.update = mul(dora.update, to(scale, dora.update.dtype()));
            const Tensor scaled = mul(dora.scale, result);
            result = add(scaled, dora.update);
        }
        return to(result, resultDtype);
    }
    const Tensor a = transposed2d(lora->a), b = transposed2d(lora->b);
    const Tensor rows = embedding(a, indices);
    Tensor update = matmul(rows, b);
    update = mulNumber(update);
    if (scale)
        update = mul(update, to(scale, update.dtype()));
    result = add(result, update);
    return to(result, resultDtype);
}

Tensor Embedding::forward(const Tensor &indices, bool requireGrad) const
{
    Tape &tape = *indices->tape;
    Tape::Scope scope(tape, name);
    const auto look = [&](const Tensor &input) {
        Tensor out = lora ? adapted(input) : found(input);
        if (requireGrad)
            out->requiresGrad = true;
        return out;
    };
    if (saved)
        return callModule(tape, name, Outer, indices, [&](const Tensor &outer) { return callModule(tape, name, Whole, outer, look); });
    return callModule(tape, name, Whole, indices, look);
}

std::optional<Activation> activationOf(std::string_view name)
{
    if (name == "silu" || name == "swish")
        return Activation::Silu;
    if (name == "gelu" || name == "gelu_pytorch_tanh")
        return Activation::Gelu;
    if (name == "gelu_new")
        return Activation::GeluPython;
    if (name == "gelu_fast")
        return Activation::GeluFast;
    if (name == "relu")
        return Activation::Relu;
    if (name == "relu2")
        return Activation::ReluSquared;
    return std::nullopt;
}

namespace {

/// 0.5 * x * (1.0 + tanh(sqrt(2 / pi) * (x + 0.044715 * pow(x, 3.0))))
Tensor geluPython(const Tensor &x)
{
    const Tensor half = mulNumber(x);
    Tensor inner;
    {
        Tensor cubed = cube(x);
        cubed = mulNumber(cubed);
        inner = add(x, cubed);
    }
    inner = mulNumber(inner);
    inner = tanh(inner);
    inner = addNumber(inner);
    return mul(half, inner);
}

Tensor reluSquared(const Tensor &x)
{
    const Tensor applied = relu(x);
    if (halted(applied))
        return {};
    return square(applied->tape->autocast() ? to(applied, DType::Float32) : applied); // pow is in fp32 under autocast
}

/// 0.5 * x * (1.0 + tanh(x * 0.7978845608 * (1.0 + 0.044715 * x * x)))
Tensor geluFast(const Tensor &x)
{
    const Tensor half = mulNumber(x);
    Tensor inner = mulNumber(x);
    {
        Tensor factor = mulNumber(x);
        factor = mul(factor, x);
        factor = addNumber(factor);
        inner = mul(inner, factor);
    }
    inner = tanh(inner);
    inner = addNumber(inner);
    return mul(half, inner);
}

} // namespace

Tensor activate(Activation activation, const Tensor &x)
{
    switch (activation) {
    case Activation::Silu: return silu(x);
    case Activation::Gelu: return gelu(x);
    case Activation::GeluPython: return geluPython(x);
    case Activation::GeluFast: return geluFast(x);
    case Activation::Relu: return relu(x);
    case Activation::ReluSquared: return reluSquared(x);
    }
    return {};
}

} // namespace headroom::network
