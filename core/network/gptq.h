// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/tape.h"
#include "core/units/version.h"

#include <memory>

namespace headroom::network {

using autograd::Tape;
using autograd::Tensor;

struct QuantizedWeight;

/// Whose code multiplies with GPTQ weights.
enum class GptqLibrary : std::uint8_t {
    AutoGptq,  ///< AutoGPTQ 0.7, Triton v2 kernels: a Python function that makes the weight in forward and again in backward
    GptqModel, ///< GPTQModel 7.7 while training: torch.matmul with a weight made for it, which autograd keeps until backward
};

/// PEFT 0.21 and transformers 5 know GPTQModel alone; before, AutoGPTQ was the library, of whose kernels only Triton v2
/// makes the weight again in backward.
GptqLibrary gptqLibrary(Version transformers);

/// Puts the buffers of a weight of [out, in] on the device, in groups of 128 inputs: qweight, qzeros, scales, g_idx
/// (AutoGPTQ 0.7, nn_modules/qlinear/qlinear_tritonv2.py; GPTQModel 7.7, nn_modules/qlinear/__init__.py). The checkpoint
/// holds them quantised already: nothing else is made.
void loadGptqWeight(Tape &tape, QuantizedWeight &weight);

/// The dtype of a quantised Linear's bias.
DType gptqBiasDtype(const QuantizedWeight &weight);

/// QuantLinear.forward, TorchLinear.forward.
Tensor gptqLinear(const Tensor &x, const std::shared_ptr<QuantizedWeight> &weight, const Tensor &bias);

} // namespace headroom::network
