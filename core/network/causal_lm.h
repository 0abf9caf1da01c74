// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/network/decoder_layer.h"
#include "core/plan/training_plan.h"
#include "core/units/result.h"

#include <string>
#include <vector>

namespace headroom::network {

/// How the model is built and wrapped.
struct NetworkOptions {
    DType weights = DType::BFloat16;
    AttentionKind attention = AttentionKind::Sdpa;
    Method method;
    Checkpointing checkpointing = Checkpointing::None;
    bool reentrant = false;
};

/// What model.forward() returns.
struct CausalLmOutput {
    Tensor loss, logits;
};

/// A parameter as model.parameters() yields it.
struct NamedTensor {
    Tensor *tensor = nullptr;   ///< in its module
    std::string name;           ///< "layers.0.self_attn.q_proj.weight"; made on demand only
};

/// LlamaForCausalLM and its likes, with PEFT's adapters where the method asks for them. Building it writes the load
/// phase: tensor by tensor in module order, adapters after the model.
class CausalLm
{
public:
    /// Throws SizeOverflow where a parameter does not fit 64 bits.
    CausalLm(Tape &tape, const ModelConfig &config, const NetworkOptions &options);

    /// Names in method.targets and method.modules_to_save that match no module, as PEFT would complain.
    static std::optional<Issue> check(const ModelConfig &config, const Method &method);

    CausalLmOutput forward(const Tensor &inputIds, const Tensor &labels);

    /// All parameters in the order of model.parameters(), a tied one once.
    const std::vector<Tensor> &parameters() const { return m_parameters; }
    /// Those that require a gradient.
    const std::vector<Tensor> &trainable() const { return m_trainable; }
    std::int64_t parameterCount() const { return m_parameterCount; }
    std::int64_t trainableCount() const { return m_trainableCount; }

private:
    void buildModel();
    void addAdapters();
    void collectParameters();
    Linear makeLinear(const LinearNames &names, std::int64_t in, std::int64_t out, bool bias);
    Tensor parameter(const Dims &sizes, const char *op);
    LayerContext prepare(const Tensor &embedded, Tensor &slidingMask);
    Tensor causalMask(std::int64_t batch, std::int64_t length, DType dtype, bool sliding);
    Tensor loss(const Tensor &logits, const Tensor &labels);

    template<typename Visitor>
    void visitModules(Visitor &&visitor);

    Tape &m_tape;
    ModelConfig m_config;
    NetworkOptions m_options;
    Embedding m_embedding;
    std::vector<DecoderLayer> m_layers;
    RmsNorm m_norm;
    Linear m_head;
    Tensor m_inverseFrequencies, m_originalInverseFrequencies;
    std::vector<Tensor> m_parameters, m_trainable;
    std::int64_t m_parameterCount = 0, m_trainableCount = 0;
};

} // namespace headroom::network
