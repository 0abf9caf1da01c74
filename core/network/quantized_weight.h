// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/operators.h"
#include "core/network/gemm_4bit.h"
#include "core/network/gptq.h"
#include "core/plan/training_plan.h"

#include <array>
#include <memory>

namespace headroom::network {

using autograd::Dims;
using autograd::Tape;
using autograd::Tensor;

/// A frozen weight in 4 or 8 bits, with all that is needed to compute with it.
///
/// bitsandbytes 0.50 keeps a 4-bit weight as `codes` of half a byte each and one scale, `absmax`, for every 64 weights;
/// with double quantisation the scales are 8-bit codes themselves, with an fp32 scale for every 256 of them and one offset
/// (functional.py: quantize_4bit, QuantState). LLM.int8() has one scale for each output (nn/modules.py: Int8Params). GPTQ has
/// a scale and a zero point for every 128 inputs of an output (gptq.h).
struct QuantizedWeight {
    Quantization kind = Quantization::Nf4Double;
    Dims sizes;                      ///< [out, in] as it was before
    DType dtype = DType::BFloat16;   ///< of the weight before, and of what backward makes of it again
    DType compute = DType::BFloat16; ///< bnb_4bit_compute_dtype: inputs are cast to it
    GpuProperties gpu;
    GptqLibrary library = GptqLibrary::GptqModel;
    Tensor codes;        ///< 4 bits: [out * in / 2, 1] uint8; 8 bits: [out, in] int8; GPTQ: qweight, [in / 8, out] int32
    Tensor absmax;       ///< 4 bits: [blocks] fp32, uint8 under double quantisation; 8 bits: [out] fp32
    Tensor table;        ///< 4 bits: the 16 values
    Tensor offset;       ///< double quantisation: mean of the scales
    Tensor nestedAbsmax; ///< [blocks / 256] fp32
    Tensor nestedTable;  ///< the 256 values of the 8-bit scales
    Tensor zeros;        ///< GPTQ: qzeros, [in / 128, out / 8] int32
    Tensor scales;       ///< GPTQ: [in / 128, out] in 16 bits
    Tensor groups;       ///< GPTQ: g_idx, the group of each input, [in] int32
    std::array<Tensor, 2> shifts; ///< GPTQModel: what unpacks eight codes from a word, int32

    bool fourBit() const { return kind == Quantization::Nf4 || kind == Quantization::Nf4Double || kind == Quantization::Fp4; }
    bool gptq() const { return kind == Quantization::GptqInt4; }
    bool nested() const { return kind == Quantization::Nf4Double; }
};

/// Quantises weights on the device one after the other, as loading with a BitsAndBytesConfig does
/// (transformers/integrations/bitsandbytes.py); weights of GPTQ come quantised from the checkpoint.
class Quantizer
{
public:
    Quantizer(Tape &tape, Quantization kind, DType weights, DType compute, const GpuProperties &gpu,
              GptqLibrary library = GptqLibrary::GptqModel)
        : m_tape(tape)
        , m_kind(kind)
        , m_weights(weights)
        , m_compute(compute)
        , m_gpu(gpu)
        , m_library(library)
    {}

    std::shared_ptr<QuantizedWeight> quantize(const Dims &sizes);
    Quantization kind() const { return m_kind; }

private:
    void to4bit(QuantizedWeight &weight);
    void to8bit(QuantizedWeight &weight);
    Tensor keep(const Dims &sizes, DType dtype, const char *op);

    Tape &m_tape;
    Quantization m_kind;
    DType m_weights, m_compute;
    GpuProperties m_gpu;
    GptqLibrary m_library;
    Tensor m_blockwiseTable; ///< functional.py: name2qmap["dynamic"], made at the first use and kept
};

/// What a quantised Linear computes: Linear4bit.forward, Linear8bitLt.forward, gptqLinear(). `bias` changes
/// its dtype for good where bitsandbytes casts it in place.
Tensor quantizedLinear(const Tensor &x, const std::shared_ptr<QuantizedWeight> &weight, const Tensor &bias);

/// functional.py: dequantize_4bit; the weight in the dtype it had.
Tensor dequantize4bit(Tape &tape, const QuantizedWeight &weight);

} // namespace headroom::network
