// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Computing with quantised weights: bitsandbytes 0.50.2, nn/modules.py, autograd/_functions.py (MatMul4Bit, MatMul8bitLt),
// backends/cuda/ops.py and backends/default/ops.py.
#include "core/network/quantized_weight.h"

namespace headroom::network {

using namespace autograd;

namespace {

/// The name tells it from the fused kernel's result.
constexpr const char *dequantizedWeight = "bitsandbytes.gemm_4bit.default > bitsandbytes.dequantize_4bit > aten.empty.memory_format";

/// What a Python function keeps in its ctx. It is not a saved tensor: checkpointing does not see it, and it stays until the
/// graph dies.
struct Context {
    std::shared_ptr<const QuantizedWeight> weight;
    Tensor input; ///< LLM.int8() alone
    DType inputDtype = DType::Float32;
};

/// `bias.data = bias.data.to(dtype)`
void castBias(Tape &tape, const Tensor &bias, DType dtype)
{
    if (!bias || bias.dtype() == dtype)
        return;
    const Tensor cast = tape.empty(bias.sizes(), dtype, "aten._to_copy.default");
    tape.setRole(cast, Role::Parameter);
    tape.setData(bias, cast);
    bias->dtype = dtype;
}

// ---------------------------------------------------------------------------------------------------------------------
// 4 bits

Tensor computeGemm4bit(const Tensor &x, const QuantizedWeight &weight, const Tensor &bias)
{
    Tape &tape = *x->tape;
    const std::int64_t out = weight.sizes[0], in = weight.sizes[1], tokens = x.sizes().leading().elements();
    if (fusedGemm4bit(weight.gpu, x.dtype(), tokens, out, in)) {
        tape.countFlops(2.0 * static_cast<double>(tokens * in) * static_cast<double>(out));
        const Tensor rows = contiguous(x);
        Dims sizes = x.sizes();
        sizes[sizes.rank() - 1] = out;
        return tape.empty(sizes, x.dtype(), "bitsandbytes.gemm_4bit.default > aten.empty.memory_format");
    }
    Tensor scales, shifted;
    if (weight.nested()) {
        scales = tape.empty(weight.absmax.sizes(), DType::Float32, "bitsandbytes.gemm_4bit.default > aten.empty_like.default");
        shifted = unary(scales, "bitsandbytes.gemm_4bit.default > aten.add.Tensor");
    }
    const Tensor dequantized = tape.empty(weight.sizes, x.dtype(), dequantizedWeight);
    return linear(x, dequantized, bias);
}

/// torch.ops.bitsandbytes.gemm_4bit: one operator to what sees operators, whatever it is made of.
Tensor gemm4bit(const Tensor &x, const QuantizedWeight &weight, const Tensor &bias)
{
    constexpr const char *op = "bitsandbytes.gemm_4bit.default";
    Tape &tape = *x->tape;
    if (Tensor kept = tape.keptResult(op))
        return kept;
    Tensor out;
    {
        Tape::InsideOperator inside(tape);
        out = computeGemm4bit(x, weight, bias);
    }
    tape.offerResult(op, out);
    return out;
}

void matMul4BitBackward(BackwardCall &call)
{
    if (!call.needs(0))
        return;
    const auto &context = *static_cast<const Context *>(call.node.context.get());
    Tensor weight = dequantize4bit(call.tape, *context.weight);
    weight = to(weight, call.grad.dtype());
    call.give(0, matmul(call.grad, weight));
}
constexpr Operator matMul4Bit{"MatMul4BitBackward", matMul4BitBackward};

Tensor linear4bit(const Tensor &input, const std::shared_ptr<QuantizedWeight> &weight, const Tensor &bias)
{
    Tape &tape = *input->tape;
    const Tensor x = to(input, weight->compute);
    castBias(tape, bias, weight->compute);
    Node *node = tape.record(matMul4Bit, {&x});
    Tensor out;
    {
        Tape::NoGrad inFunction(tape);
        out = gemm4bit(x, *weight, bias);
    }
    if (node) {
        node->context = std::make_shared<Context>(Context{weight, {}, x.dtype()});
        tape.attach(node, out);
    }
    return to(out, input.dtype());
}

// ---------------------------------------------------------------------------------------------------------------------
// 8 bits

void matMul8bitLtBackward(BackwardCall &call)
{
    if (!call.needs(0))
        return;
    const auto &context = *static_cast<const Context *>(call.node.context.get());
    const QuantizedWeight &weight = *context.weight;
    const Dims sizes = call.grad.sizes();
    const std::int64_t rows = sizes.leading().elements();
    const Tensor gradient = contiguous(reshape(call.grad, {rows, sizes.back()}));
    const Tensor dequantized = call.tape.empty(weight.sizes, context.inputDtype, "aten._to_copy.default");
    {
        const Tensor scales = call.tape.empty({weight.sizes[0], 1}, DType::Float32, "aten.mul.Tensor");
    }
    const Tensor product = mm(to(gradient, context.inputDtype), dequantized);
    Dims inputSizes = sizes;
    inputSizes[inputSizes.rank() - 1] = weight.sizes[1];
    call.give(0, view(product, inputSizes));
}
constexpr Operator matMul8bitLt{"MatMul8bitLtBackward", matMul8bitLtBackward};

/// F.int8_vectorwise_quant with the outlier threshold 6.0 that transformers sets; no activation is taken to reach it.
void quantizeRows(const Tensor &x, Tensor &codes, Tensor &scales)
{
    Tape &tape = *x->tape;
    const Tensor half = to(x, DType::Float16);
    scales = tape.empty({x.size(0)}, DType::Float32, "bitsandbytes.int8_vectorwise_quant.default > aten.empty.memory_format");
    codes = tape.empty(x.sizes(), DType::Int8, "bitsandbytes.int8_vectorwise_quant.default > aten.empty.memory_format");
    Tensor outliers;
    {
        const Tensor magnitudes = unary(half, "bitsandbytes.int8_vectorwise_quant.default > aten.abs.default");
        outliers = tape.empty(x.sizes(), DType::Bool, "bitsandbytes.int8_vectorwise_quant.default > aten.ge.Scalar");
    }
    const Tensor any = tape.empty({}, DType::Bool, "bitsandbytes.int8_vectorwise_quant.default > aten.any.default");
}

/// int8_linear_matmul. cuBLASLt takes inputs that are multiples of 4 alone: others are multiplied in fp32.
Tensor multiplyCodes(Tape &tape, std::int64_t rows, const QuantizedWeight &weight)
{
    const std::int64_t out = weight.sizes[0], in = weight.sizes[1];
    tape.countFlops(2.0 * static_cast<double>(rows * in) * static_cast<double>(out));
    const Tensor sums = tape.empty({rows, out}, DType::Int32, "bitsandbytes.int8_linear_matmul.default > aten.empty.memory_format");
    if (in % 4 != 0) {
        Tensor product;
        {
            const Tensor codes = tape.empty({rows, in}, DType::Float32, "bitsandbytes.int8_linear_matmul.default > aten._to_copy.default");
            const Tensor rest = tape.empty(weight.sizes, DType::Float32, "bitsandbytes.int8_linear_matmul.default > aten._to_copy.default");
            product = tape.empty({rows, out}, DType::Float32, "bitsandbytes.int8_linear_matmul.default > aten.mm.default");
        }
        const Tensor result = tape.empty({rows, out}, DType::Int32, "bitsandbytes.int8_linear_matmul.default > aten._to_copy.default");
    }
    return sums;
}

Tensor linear8bit(const Tensor &input, const std::shared_ptr<QuantizedWeight> &weight, const Tensor &bias)
{
    Tape &tape = *input->tape;
    castBias(tape, bias, input.dtype());
    Node *node = tape.record(matMul8bitLt, {&input});
    const std::int64_t out = weight->sizes[0], rows = input.sizes().leading().elements();
    Tensor output, flat;
    {
        Tape::NoGrad inFunction(tape);
        flat = reshape(input, {rows, input.size(-1)});
        Tensor codes, scales;
        quantizeRows(flat, codes, scales);
        const Tensor sums = multiplyCodes(tape, rows, *weight);
        const Tensor half = tape.empty({rows, out}, DType::Float16, "bitsandbytes.int8_mm_dequant.default > aten.empty_like.default");
        output = to(half, input.dtype());
        Dims sizes = input.sizes();
        sizes[sizes.rank() - 1] = out;
        output = view(output, sizes);
    }
    if (node) {
        node->context = std::make_shared<Context>(Context{weight, flat, input.dtype()});
        tape.attach(node, output);
    }
    return output;
}

} // namespace

Tensor dequantize4bit(Tape &tape, const QuantizedWeight &weight)
{
    Tensor scales;
    if (weight.nested())
        scales = tape.empty(weight.absmax.sizes(), DType::Float32, "bitsandbytes.dequantize_blockwise.default > aten.empty_like.default");
    return tape.empty(weight.sizes, weight.dtype, "bitsandbytes.dequantize_4bit.default > aten.empty.memory_format");
}

Tensor quantizedLinear(const Tensor &x, const std::shared_ptr<QuantizedWeight> &weight, const Tensor &bias)
{
    if (halted(x))
        return {};
    if (weight->fourBit())
        return linear4bit(x, weight, bias);
    if (weight->gptq())
        return gptqLinear(x, weight, bias);
    return linear8bit(x, weight, bias);
}

} // namespace headroom::network
