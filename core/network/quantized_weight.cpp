// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Storage of quantised weights: bitsandbytes 0.50.2, functional.py (quantize_4bit, quantize_blockwise, get_4bit_type) and
// backends/cuda/ops.py.
#include "core/network/quantized_weight.h"

namespace headroom::network {

using namespace autograd;

namespace {

constexpr std::int64_t blockSize = 64, nestedBlockSize = 256;

} // namespace

Tensor Quantizer::keep(const Dims &sizes, DType dtype, const char *op)
{
    Tensor t = m_tape.empty(sizes, dtype, op);
    m_tape.setRole(t, Role::Parameter);
    return t;
}

void Quantizer::to4bit(QuantizedWeight &weight)
{
    Tensor original = m_tape.empty(weight.sizes, m_weights);
    const std::int64_t n = weight.sizes.elements(), blocks = divideUp(n, blockSize);
    Tensor scales = m_tape.empty({blocks}, DType::Float32, "bitsandbytes.quantize_4bit.default > aten.empty.memory_format");
    weight.codes = keep({divideUp(n, 2), 1}, DType::UInt8, "bitsandbytes.quantize_4bit.default > aten.empty.memory_format");
    weight.table = keep({16}, DType::Float32, "aten._to_copy.default");
    {
        const Tensor magnitudes = unary(weight.table, "aten.abs.default"); // the table is divided by its largest value
        const Tensor largest = m_tape.empty({}, DType::Float32, "aten.max.default");
    }
    if (!weight.nested()) {
        m_tape.setRole(scales, Role::Parameter);
        weight.absmax = std::move(scales);
        return;
    }
    weight.offset = keep({}, DType::Float32, "aten.mean.default");
    const Tensor centred = unary(scales, "aten.sub.Tensor");
    if (!m_blockwiseTable)
        m_blockwiseTable = keep({256}, DType::Float32, "aten._to_copy.default");
    weight.nestedAbsmax =
        keep({divideUp(blocks, nestedBlockSize)}, DType::Float32, "bitsandbytes.quantize_blockwise.default > aten.empty.memory_format");
    weight.absmax = keep({blocks}, DType::UInt8, "bitsandbytes.quantize_blockwise.default > aten.empty_like.default");
    weight.nestedTable = keep({256}, DType::Float32, "aten._to_copy.default");
}

void Quantizer::to8bit(QuantizedWeight &weight)
{
    const Tensor original = m_tape.empty(weight.sizes, m_weights);
    const Tensor half = to(original, DType::Float16);
    weight.absmax = keep({weight.sizes[0]}, DType::Float32, "bitsandbytes.int8_vectorwise_quant.default > aten.empty.memory_format");
    weight.codes = keep(weight.sizes, DType::Int8, "bitsandbytes.int8_vectorwise_quant.default > aten.empty.memory_format");
}

std::shared_ptr<QuantizedWeight> Quantizer::quantize(const Dims &sizes)
{
    auto weight = std::make_shared<QuantizedWeight>();
    weight->kind = m_kind;
    weight->sizes = sizes;
    weight->dtype = m_weights;
    weight->compute = m_compute;
    weight->gpu = m_gpu;
    weight->library = m_library;
    if (weight->fourBit())
        to4bit(*weight);
    else if (weight->gptq())
        loadGptqWeight(m_tape, *weight);
    else
        to8bit(*weight);
    return weight;
}

} // namespace headroom::network
