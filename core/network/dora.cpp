// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/network/dora.h"

namespace headroom::network {

using namespace autograd;

namespace {

constexpr const char *doraEmbedding = "lora_magnitude_vector";

/// dequantize_module_weight: the weight itself, or what its codes stand for.
Tensor dequantizedWeight(Tape &tape, const Linear &module)
{
    if (!module.quantized)
        return module.weight;
    const QuantizedWeight &weight = *module.quantized;
    if (weight.fourBit())
        return dequantize4bit(tape, weight);
    const Tensor product = tape.empty(weight.sizes, DType::Float32, "aten.mul.Tensor"); // codes * scales * (1 / 127)
    return unary(product, "aten.mul.Tensor");
}

/// get_weight_norm: ||weight + scaling * lora_weight|| over the rows, [out].
Tensor weightNorm(Tape &tape, const Tensor &weight, const Tensor &loraWeight)
{
    Tensor sum;
    {
        const Tensor scaled = mulNumber(loraWeight);
        sum = add(weight, scaled);
    }
    const DType normDtype = tape.autocast() ? DType::Float32 : sum.dtype(); // on autocast's list of fp32 operators
    const Tensor norm = tape.empty({sum.size(0)}, normDtype, "aten.linalg_vector_norm.default");
    return to(norm, sum.dtype());
}

/// deepcopy(base_layer) of a Linear4bit: codes, bias and both references to the quantisation state.
std::vector<Tensor> deepCopy(const Linear &module)
{
    std::vector<Tensor> copies;
    const auto copy = [&](const Tensor &t) {
        if (t)
            copies.push_back(clone(t, contiguousStrides(t.sizes())));
    };
    const QuantizedWeight &weight = *module.quantized;
    const auto copyState = [&] {
        for (const Tensor *t : {&weight.absmax, &weight.table, &weight.offset, &weight.nestedAbsmax, &weight.nestedTable})
            copy(*t);
    };
    copy(weight.codes);
    copyState();
    copy(module.bias);
    copyState();
    return copies;
}

} // namespace

Tensor initialMagnitude(Tape &tape, const Linear &module)
{
    Tape::NoGrad noGrad(tape);
    const bool half = module.lora->a.dtype() == DType::Float16; // computed in fp32
    const Tensor a = half ? toCopy(module.lora->a, DType::Float32) : module.lora->a;
    const Tensor b = half ? toCopy(module.lora->b, DType::Float32) : module.lora->b;
    std::vector<Tensor> copies;
    if (module.quantized && module.quantized->fourBit())
        copies = deepCopy(module);
    const Tensor weight = dequantizedWeight(tape, module);
    Tensor loraWeight = mm(b, a);
    if (half)
        loraWeight = toCopy(loraWeight, DType::Float16);
    return weightNorm(tape, weight, loraWeight);
}

Tensor initialMagnitude(Tape &tape, const Embedding &module)
{
    Tape::NoGrad noGrad(tape);
    const bool half = module.lora->a.dtype() == DType::Float16; // computed in fp32
    const Tensor a = half ? toCopy(module.lora->a, DType::Float32) : module.lora->a;
    const Tensor b = half ? toCopy(module.lora->b, DType::Float32) : module.lora->b;
    Tensor loraWeight = mm(b, a);
    if (half)
        loraWeight = toCopy(loraWeight, DType::Float16);
    return weightNorm(tape, transposed2d(module.weight), loraWeight);
}

DoraRows doraRows(const Embedding &module, const Tensor &indices)
{
    Tape &tape = *indices->tape;
    const Tensor a = transposed2d(module.lora->a), b = transposed2d(module.lora->b);
    Tape::Scope scope(tape, doraEmbedding);
    const Tensor product = matmul(a, b);
    if (halted(product))
        return {};
    const Tensor loraWeight = transposed2d(product);
    const Tensor norm = weightNorm(tape, transposed2d(module.weight), tape.detach(loraWeight));
    const Tensor scale = div(module.lora->magnitude, norm);
    Tensor update;
    {
        Tensor scaled;
        {
            Tensor through;
            {
                const Tensor rows = embedding(a, indices);
                through = matmul(rows, b);
            }
            scaled = mul(scale, through);
        }
        update = mulNumber(scaled);
    }
    return {scale, update};
}

Tensor doraUpdate(const Linear &module, const Tensor &x, const Tensor &baseResult)
{
    Tape &tape = *x->tape;
    const LoraAdapter &lora = *module.lora;
    const auto throughAdapter = [&](const Tensor &input) {
        Tensor low;
        {
            Tape::Scope inA(tape, module.names.a);
            low = linear(input, lora.a);
        }
        Tape::Scope inB(tape, module.names.b);
        return linear(low, lora.b);
    };

    Tape::Scope scope(tape, module.names.magnitude);
    Tensor loraWeight;
    {
        const std::int64_t in = module.inFeatures();
        const Tensor identity = tape.empty({in, in}, lora.a.dtype(), "aten.eye.default");
        const Tensor columns = throughAdapter(identity);
        if (halted(columns))
            return {};
        loraWeight = transposed2d(columns);
    }
    loraWeight = to(loraWeight, x.dtype());
    Tensor weight = dequantizedWeight(tape, module);
    weight = to(weight, x.dtype());
    const Tensor norm = weightNorm(tape, weight, tape.detach(loraWeight));
    Tensor scale = div(lora.magnitude, norm);
    if (halted(scale))
        return {};
    scale = view(scale, {1, scale.size(0)});
    const Tensor loraResult = throughAdapter(x);

    Tensor base = baseResult;
    if (!base)
        base = linear(x, weight);
    else if (module.bias)
        base = sub(base, module.bias);
    Tensor first;
    {
        const Tensor lessOne = subNumber(scale);
        first = mul(lessOne, base);
    }
    Tensor second;
    {
        const Tensor scaled = mul(scale, loraResult);
        second = mulNumber(scaled);
    }
    return add(first, second);
}

} // namespace headroom::network
