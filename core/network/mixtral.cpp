// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Mixtral, Qwen2-MoE, Qwen3-MoE and OLMoE (transformers 5.24, models/mixtral/modeling_mixtral.py, models/qwen2_moe/
// modeling_qwen2_moe.py, models/qwen3_moe/modeling_qwen3_moe.py, models/olmoe/modeling_olmoe.py).
#include "core/network/expert_list.h"
#include "core/network/experts.h"
#include "core/network/families.h"
#include "core/network/olmo2.h"

namespace headroom::network {

using namespace autograd;

namespace {

/// MixtralSparseMoeBlock, OlmoeSparseMoeBlock; Qwen3MoeSparseMoeBlock, whose experts come first.
class SparseMoeBlock
{
public:
    SparseMoeBlock(const Builder &builder, const ModelConfig &c)
        : m_expertsFirst(c.modelType == "qwen3_moe")
    {
        if (!m_expertsFirst)
            m_gate.emplace(builder, c);
        m_experts.emplace(builder, c);
        if (m_expertsFirst)
            m_gate.emplace(builder, c);
        if (c.sharedExpertIntermediateSize > 0) {
            m_shared.emplace(builder, c, c.sharedExpertIntermediateSize, sharedExpertNames);
            m_sharedGate = builder.linear(sharedExpertGateNames, c.hiddenSize, 1, false);
        }
    }

    Tensor forward(const Tensor &input) const
    {
        if (halted(input))
            return {};
        Tape::Scope scope(*input->tape, "mlp");
        const std::int64_t width = input.size(2);
        const Tensor hidden = view(input, {checkedMultiply(input.size(0), input.size(1)), width});
        Tensor shared = m_shared ? m_shared->forward(hidden) : Tensor();
        const Routing routing = m_gate->forward(hidden); // the logits live as long as this function
        Tensor output = m_experts->forward(hidden, routing);
        if (m_shared) { // Qwen2MoeSparseMoeBlock
            {
                const Tensor opened = sigmoid(m_sharedGate.forward(hidden));
                shared = mul(opened, shared);
            }
            output = add(output, shared);
        }
        return halted(output) ? Tensor() : reshape(output, input.sizes());
    }

    void visit(ModuleVisitor &visitor)
    {
        if (!m_expertsFirst)
            visitGate(visitor);
        m_experts->visit(visitor);
        if (m_expertsFirst)
            visitGate(visitor);
        if (m_shared) {
            m_shared->visit(visitor);
            visitor.linear(m_sharedGate);
        }
    }

private:
    void visitGate(ModuleVisitor &visitor)
    {
        visitor.parameter(m_gate->weight.weight, "mlp.gate");
        visitor.adaptable(m_gate->weight);
    }

    bool m_expertsFirst;
    std::optional<TopKRouter> m_gate;
    std::optional<Experts> m_experts;
    std::optional<LlamaMlp> m_shared;
    Linear m_sharedGate;
};

/// OlmoeAttention: OLMo 2's, its norms and its rotation written as Llama's.
struct OlmoeAttention : Olmo2Attention {
    OlmoeAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : Olmo2Attention(builder, c, attention, RmsNormKind::Llama, Rotation::Halves)
    {}
};

template<ExpertLoop loop>
struct ExpertListOf : ExpertList {
    ExpertListOf(const Builder &builder, const ModelConfig &c)
        : ExpertList(builder, c, loop)
    {}
};

/// The layer with the experts of that version of transformers.
template<typename Attention>
std::unique_ptr<Block> makeMoeLayer(const Builder &builder, const ModelConfig &c, AttentionKind attention, Version transformers)
{
    if (transformers >= Version{5, 0})
        return std::make_unique<PreNormLayer<Attention, SparseMoeBlock>>(builder, c, attention);
    switch (expertLoop(c, transformers)) {
    case ExpertLoop::Every: break;
    case ExpertLoop::ListOfHit:
        return std::make_unique<PreNormLayer<Attention, ExpertListOf<ExpertLoop::ListOfHit>>>(builder, c, attention);
    case ExpertLoop::TensorOfHit:
        return std::make_unique<PreNormLayer<Attention, ExpertListOf<ExpertLoop::TensorOfHit>>>(builder, c, attention);
    }
    return std::make_unique<PreNormLayer<Attention, ExpertListOf<ExpertLoop::Every>>>(builder, c, attention);
}

class MixtralModel : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t index) const override
    {
        if (m_config.isDense(index))
            return std::make_unique<LlamaDecoderLayer>(builder, m_config, m_attention);
        return makeMoeLayer<LlamaAttention>(builder, m_config, m_attention, m_transformers);
    }
    Masks masks() const override { return {!anySliding(), anySliding()}; }
};

/// Qwen2MoeModel: a mask for each kind of layer, whether there is one or not.
class Qwen2MoeModel : public MixtralModel
{
public:
    using MixtralModel::MixtralModel;

protected:
    Masks masks() const override { return {true, true}; }
};

class OlmoeModel : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return makeMoeLayer<OlmoeAttention>(builder, m_config, m_attention, m_transformers);
    }
};

} // namespace

std::unique_ptr<DecoderModel> makeMixtral(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<MixtralModel>(config, attention, transformers);
}

std::unique_ptr<DecoderModel> makeQwen2Moe(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<Qwen2MoeModel>(config, attention, transformers);
}

std::unique_ptr<DecoderModel> makeOlmoe(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<OlmoeModel>(config, attention, transformers);
}

} // namespace headroom::network
