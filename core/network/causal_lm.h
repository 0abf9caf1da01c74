// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/network/decoder_model.h"
#include "core/plan/training_plan.h"

#include <vector>

namespace headroom::network {

/// How the model is built and wrapped.
struct NetworkOptions {
    DType weights = DType::BFloat16;
    AttentionKind attention = AttentionKind::Sdpa;
    Method method;
    Checkpointing checkpointing = Checkpointing::None;
    Selective selective; ///< with selective checkpointing
    bool reentrant = false;
    Version transformers{5, 24};
    LossKind loss = LossKind::Logits;
    Kernels kernels = Kernels::Eager;
    DType compute = DType::BFloat16; ///< of products: autocast's dtype, else the weights'
    GpuProperties gpu;               ///< which decides kernels
};

/// What model.forward() returns.
struct CausalLmOutput {
    Tensor loss, logits;
    std::vector<Tensor> cache; ///< past_key_values
};

/// LlamaForCausalLM and its likes: the decoder, the output head and the loss, with PEFT's adapters where the method asks
/// for them. Building it writes the load phase: tensor by tensor in module order, adapters after the model.
class CausalLm
{
public:
    /// Throws SizeOverflow where a parameter does not fit 64 bits.
    CausalLm(Tape &tape, const ModelConfig &config, const NetworkOptions &options);

    CausalLmOutput forward(const Tensor &inputIds, const Tensor &labels);

    /// Shows every module to the visitor in the order of named_modules().
    void visit(ModuleVisitor &visitor);

    /// All parameters in the order of model.parameters(), a tied one once.
    const std::vector<Tensor> &parameters() const { return m_parameters; }
    /// How many elements each counts for: a quantised weight what it had before.
    const std::vector<std::int64_t> &parameterElements() const { return m_parameterElements; }
    /// Those that require a gradient.
    const std::vector<Tensor> &trainable() const { return m_trainable; }
    std::int64_t parameterCount() const { return m_parameterCount; }
    std::int64_t trainableCount() const { return m_trainableCount; }

private:
    void take(const Tensor &parameter, bool trainable, std::int64_t elements);
    void take(const Tensor &parameter, bool trainable) { take(parameter, trainable, parameter.sizes().elements()); }
    Tensor callLayer(const LayerFunction &layer, const Tensor &input, Tensor &besides);
    Tensor loss(Tensor &logits, const Tensor &labels);
    Tensor lossOfShiftedLogits(Tensor &logits, const Tensor &labels);

    Tape &m_tape;
    NetworkOptions m_options;
    std::optional<Quantizer> m_quantizer;
    std::unique_ptr<DecoderModel> m_model;
    Linear m_head;
    std::vector<Tensor> m_parameters, m_trainable;
    std::vector<std::int64_t> m_parameterElements;
    std::int64_t m_parameterCount = 0, m_trainableCount = 0;

    friend class ParameterCollector;
};

} // namespace headroom::network
