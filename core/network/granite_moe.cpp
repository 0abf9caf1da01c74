// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Granite's models with experts (transformers 5.24, models/granitemoe/modeling_granitemoe.py, models/granitemoeshared/
// modeling_granitemoeshared.py), and of models/granitemoehybrid/modeling_granitemoehybrid.py what has attention alone.
#include "core/network/experts.h"
#include "core/network/families.h"
#include "core/network/llama.h"

namespace headroom::network {

using namespace autograd;

namespace {

constexpr LinearNames sharedInNames = HEADROOM_LINEAR_NAMES("shared_mlp.input_linear");
constexpr LinearNames sharedOutNames = HEADROOM_LINEAR_NAMES("shared_mlp.output_linear");

/// GraniteMoeMoE: the largest logits are kept, and the softmax is over them alone.
class GraniteMoeBlock
{
public:
    GraniteMoeBlock(const Builder &builder, const ModelConfig &c)
        : m_router(makeRouter(builder, c))
        , m_experts(builder, c)
        , m_perToken(c.expertsPerToken)
    {}

    Tensor forward(const Tensor &input) const
    {
        if (halted(input))
            return {};
        Tape::Scope scope(*input->tape, "block_sparse_moe");
        const Tensor hidden = reshape(input, {checkedMultiply(input.size(0), input.size(1)), input.size(2)});
        const Routing routing = route(hidden); // the logits live as long as this function
        const Tensor output = m_experts.forward(hidden, routing);
        return halted(output) ? Tensor() : view(output, input.sizes());
    }

    void visit(ModuleVisitor &visitor)
    {
        visitor.parameter(m_router, "block_sparse_moe.router");
        m_experts.visit(visitor);
    }

private:
    static Tensor makeRouter(const Builder &builder, const ModelConfig &c)
    {
        Tape::Scope scope(builder.tape(), "block_sparse_moe.router");
        return builder.parameter({c.experts, c.hiddenSize});
    }

    /// GraniteMoeTopKRouter
    Routing route(const Tensor &hidden) const
    {
        Tape::Scope scope(*hidden->tape, "block_sparse_moe.router");
        Routing routing;
        routing.logits = to(linear(hidden, m_router), DType::Float32);
        if (halted(routing.logits))
            return {};
        const TopK largest = topK(routing.logits, m_perToken);
        const Tensor weights = softmax(largest.values);
        routing.weights = halted(weights) ? Tensor() : to(weights, hidden.dtype());
        routing.indices = largest.indices;
        return routing;
    }

    Tensor m_router; ///< [experts, hidden]
    Experts m_experts;
    std::int64_t m_perToken;
};

/// GraniteMoeSharedMLP, GraniteMoeHybridMLP
struct SharedMlp {
    Linear in, out;
    Activation activation;

    SharedMlp(const Builder &builder, const ModelConfig &c)
        : in(builder.linear(sharedInNames, c.hiddenSize, checkedMultiply(2, c.sharedExpertIntermediateSize), false))
        , out(builder.linear(sharedOutNames, c.sharedExpertIntermediateSize, c.hiddenSize, false))
        , activation(activationOf(c.hiddenActivation).value_or(Activation::Silu))
    {}

    Tensor forward(const Tensor &x) const
    {
        if (halted(x))
            return {};
        Tape &tape = *x->tape;
        Tape::Scope scope(tape, "shared_mlp");
        Tensor hidden = in.forward(x);
        if (halted(hidden))
            return {};
        const std::vector<Tensor> halves = chunkLast(hidden, 2);
        {
            Tensor activated;
            {
                Tape::Scope inActivation(tape, "shared_mlp.activation");
                activated = activate(activation, halves[0]);
            }
            hidden = mul(activated, halves[1]);
        }
        hidden = out.forward(hidden);
        return hidden;
    }

    void visit(ModuleVisitor &visitor)
    {
        visitor.linear(in);
        visitor.linear(out);
    }
};

class GraniteMoeDecoderLayer : public Block
{
public:
    GraniteMoeDecoderLayer(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : m_hybrid(c.modelType == "granitemoehybrid")
    {
        if (!m_hybrid)
            m_attention.emplace(builder, c, attention);
        m_inputNorm = builder.norm("input_layernorm", c.hiddenSize);
        m_postAttentionNorm = builder.norm("post_attention_layernorm", c.hiddenSize);
        if (c.experts > 0)
            m_moe.emplace(builder, c);
        if (m_hybrid || c.sharedExpertIntermediateSize > 0) // the hybrid's may be without width
            m_shared.emplace(builder, c);
        if (m_hybrid)
            m_attention.emplace(builder, c, attention);
        if (!c.rotates)
            m_attention->rotation = Rotation::None;
    }

    Tensor forward(const Tensor &input, const LayerContext &context) const override
    {
        Tensor residual = input;
        Tensor hidden = m_inputNorm.forward(input);
        Tensor weights;
        hidden = m_attention->forward(std::move(hidden), context, weights);
        hidden = add(residual, mulNumber(hidden)); // * residual_multiplier

        residual = hidden;
        hidden = m_postAttentionNorm.forward(hidden);
        Tensor mixed; // moe_hidden_states, which has a name where there is a shared MLP beside the experts
        if (m_moe && m_shared) {
            mixed = m_moe->forward(hidden);
            hidden = add(mixed, m_shared->forward(hidden));
        } else {
            hidden = m_moe ? m_moe->forward(hidden) : m_shared->forward(hidden);
        }
        return add(residual, mulNumber(hidden));
    }

    void visit(ModuleVisitor &visitor) override
    {
        if (!m_hybrid)
            m_attention->visit(visitor);
        visitor.norm(m_inputNorm);
        visitor.norm(m_postAttentionNorm);
        if (m_moe)
            m_moe->visit(visitor);
        if (m_shared)
            m_shared->visit(visitor);
        if (m_hybrid)
            m_attention->visit(visitor);
    }

private:
    bool m_hybrid; ///< its attention is the last of its modules
    std::optional<LlamaAttention> m_attention;
    RmsNorm m_inputNorm{}, m_postAttentionNorm{};
    std::optional<GraniteMoeBlock> m_moe;
    std::optional<SharedMlp> m_shared;
};

class GraniteMoeModel : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

    void build(const Builder &builder) override
    {
        m_embedding = makeEmbedding(builder);
        buildLayers(builder);
        buildNorm(builder);
        if (m_config.rotates)
            buildRotary(builder);
    }

    Tensor forward(const Tensor &inputIds, const LayerCall &call, bool inputsRequireGrad) override
    {
        Tape::Scope scope(*inputIds->tape, "model");
        Tensor embedded = m_embedding.forward(inputIds, inputsRequireGrad);
        if (isHybrid())
            embedded = mulNumber(embedded); // * embedding_multiplier
        LayerContexts contexts = positionsAndMasks(embedded);
        if (!isHybrid())
            embedded = mulNumber(embedded);
        if (m_config.rotates)
            rotaryEmbedding(contexts.full, embedded);
        const Tensor positionIds = contexts.full.positionIds; // the hybrid's layers are called without
        if (isHybrid())
            contexts.full.positionIds.reset();
        return normalize(runLayers(embedded, contexts, call)); // inputs_embeds lives to the end
    }

    Tensor finishLogits(Tensor logits) const override { return divNumber(logits); } // / logits_scaling

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<GraniteMoeDecoderLayer>(builder, m_config, m_attention);
    }
    bool masksSeePositions() const override { return !isHybrid(); }

private:
    bool isHybrid() const { return m_config.modelType == "granitemoehybrid"; }
};

} // namespace

std::unique_ptr<DecoderModel> makeGraniteMoe(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<GraniteMoeModel>(config, attention, transformers);
}

} // namespace headroom::network
