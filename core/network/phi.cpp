// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Phi-1 and Phi-2 (transformers 5.24, models/phi/modeling_phi.py): one LayerNorm for attention and MLP side by side.
#include "core/network/phi.h"

#include "core/network/families.h"
#include "core/network/two_linear_mlp.h"

namespace headroom::network {

using namespace autograd;

PhiAttention::PhiAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention, const LinearNames &outputNames,
                           bool outputBias)
    : AttentionSettings(c, attention)
    , q(builder.linear(names::q, c.hiddenSize, checkedMultiply(c.heads, c.headDim), c.queryKeyValueBias))
    , k(builder.linear(names::k, c.hiddenSize, checkedMultiply(c.keyValueHeads, c.headDim), c.queryKeyValueBias))
    , v(builder.linear(names::v, c.hiddenSize, checkedMultiply(c.keyValueHeads, c.headDim), c.queryKeyValueBias))
    , output(builder.linear(outputNames, checkedMultiply(c.heads, c.headDim), c.hiddenSize, outputBias))
    , rotaryDim(c.rotaryDim)
{}

Tensor PhiAttention::forward(const Tensor &hidden, const LayerContext &context, Tensor &weights) const
{
    if (halted(hidden))
        return {};
    Tape::Scope scope(*hidden->tape, "self_attn");
    const auto toHeads = [&](const Tensor &states, std::int64_t count) {
        return halted(states) ? Tensor() : transpose(view(states, {states.size(0), states.size(1), count, headDim}), 1, 2);
    };
    Tensor query = q.forward(hidden), key, value;
    if (!projectsFirst)
        query = toHeads(query, heads);
    key = k.forward(hidden);
    if (!projectsFirst)
        key = toHeads(key, keyValueHeads);
    value = v.forward(hidden);
    if (projectsFirst) {
        query = toHeads(query, heads);
        key = toHeads(key, keyValueHeads);
    }
    value = toHeads(value, keyValueHeads);
    const HeadParts parts = rotateFirstPart(query, key, rotaryDim, context);
    return joinHeads(output, attend(kind, query, key, value, context, dropout, weights), heads * headDim);
}

void PhiAttention::visit(ModuleVisitor &visitor)
{
    for (Linear *linear : {&q, &k, &v, &output})
        visitor.linear(*linear);
}

namespace {

constexpr LinearNames denseNames = HEADROOM_LINEAR_NAMES("self_attn.dense");
constexpr LinearNames mlpIn = HEADROOM_LINEAR_NAMES("mlp.fc1");
constexpr LinearNames mlpOut = HEADROOM_LINEAR_NAMES("mlp.fc2");

struct PhiMlp : TwoLinearMlp {
    PhiMlp(const Builder &builder, const ModelConfig &c)
        : TwoLinearMlp{builder.linear(mlpIn, c.hiddenSize, c.intermediateSize, true),
                       builder.linear(mlpOut, c.intermediateSize, c.hiddenSize, true), "mlp.activation_fn",
                       activationOf(c.hiddenActivation).value_or(Activation::GeluPython)}
    {}
};

class PhiDecoderLayer : public Block
{
public:
    PhiDecoderLayer(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : m_attention(builder, c, attention, denseNames, true)
        , m_mlp(builder, c)
        , m_inputNorm(builder.layerNorm("input_layernorm", c.hiddenSize))
        , m_dropout(c.residualDropout)
    {}

    Tensor forward(const Tensor &input, const LayerContext &context) const override
    {
        const Tensor hidden = m_inputNorm.forward(input);
        Tensor weights;
        Tensor attended = m_attention.forward(hidden, context, weights);
        attended = dropout(attended, m_dropout);
        const Tensor fed = dropout(m_mlp.forward(hidden), m_dropout);
        const Tensor sum = add(attended, fed);
        return add(sum, input);
    }

    void visit(ModuleVisitor &visitor) override
    {
        m_attention.visit(visitor);
        m_mlp.visit(visitor);
        visitor.layerNorm(m_inputNorm);
    }

private:
    PhiAttention m_attention;
    PhiMlp m_mlp;
    LayerNorm m_inputNorm;
    double m_dropout;
};

class PhiModel : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

    void build(const Builder &builder) override
    {
        m_embedding = makeEmbedding(builder);
        buildLayers(builder);
        buildRotary(builder);
        m_finalNorm = builder.layerNorm("model.final_layernorm", m_config.hiddenSize);
    }

    Tensor forward(const Tensor &inputIds, const LayerCall &call, bool inputsRequireGrad) override
    {
        Tape::Scope scope(*inputIds->tape, "model");
        Tensor embedded = m_embedding.forward(inputIds, inputsRequireGrad);
        LayerContexts contexts = positionsAndMasks(embedded);
        embedded = dropout(embedded, m_config.embeddingDropout);
        rotaryEmbedding(contexts.full, embedded);
        return m_finalNorm.forward(runLayers(embedded, contexts, call)); // inputs_embeds lives to the end
    }

    void visit(ModuleVisitor &visitor) override
    {
        visitor.embedding(m_embedding);
        visitLayers(visitor);
        visitRotary(visitor);
        visitor.layerNorm(m_finalNorm);
    }

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<PhiDecoderLayer>(builder, m_config, m_attention);
    }

private:
    LayerNorm m_finalNorm{"model.final_layernorm", {}, {}, {}, {}};
};

} // namespace

std::unique_ptr<DecoderModel> makePhi(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<PhiModel>(config, attention, transformers);
}

} // namespace headroom::network
