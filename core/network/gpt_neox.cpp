// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// GPT-NeoX, Pythia (transformers 5.24, models/gpt_neox/modeling_gpt_neox.py): query, key and value from one projection,
// attention and MLP side by side.
#include "core/network/families.h"
#include "core/network/llama.h"
#include "core/network/two_linear_mlp.h"

namespace headroom::network {

using namespace autograd;

namespace {

constexpr LinearNames queryKeyValue = HEADROOM_LINEAR_NAMES("attention.query_key_value");
constexpr LinearNames dense = HEADROOM_LINEAR_NAMES("attention.dense");
constexpr LinearNames mlpIn = HEADROOM_LINEAR_NAMES("mlp.dense_h_to_4h");
constexpr LinearNames mlpOut = HEADROOM_LINEAR_NAMES("mlp.dense_4h_to_h");

struct GptNeoXAttention : AttentionSettings {
    Linear in, out;

    GptNeoXAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : AttentionSettings(c, attention)
        , in(builder.linear(queryKeyValue, c.hiddenSize, checkedMultiply(3, c.hiddenSize), c.queryKeyValueBias))
        , out(builder.linear(dense, c.hiddenSize, c.hiddenSize, c.outputBias))
    {}

    Tensor forward(const Tensor &hidden, const LayerContext &context, Tensor &weights) const
    {
        if (halted(hidden))
            return {};
        Tape::Scope scope(*hidden->tape, "attention");
        const Tensor joined = projectHeads(in, hidden, heads, 3 * headDim);
        std::vector<Tensor> pieces = chunkLast(joined, 3);
        applyRotary(Rotation::FirstDimLate, pieces[0], pieces[1], context.cos, context.sin);
        return joinHeads(out, attend(kind, pieces[0], pieces[1], pieces[2], context, dropout, weights), heads * headDim);
    }

    void visit(ModuleVisitor &visitor)
    {
        visitor.linear(in);
        visitor.linear(out);
    }
};

struct GptNeoXMlp : TwoLinearMlp {
    GptNeoXMlp(const Builder &builder, const ModelConfig &c)
        : TwoLinearMlp{builder.linear(mlpIn, c.hiddenSize, c.intermediateSize, true),
                       builder.linear(mlpOut, c.intermediateSize, c.hiddenSize, true), "mlp.act",
                       activationOf(c.hiddenActivation).value_or(Activation::Gelu)}
    {}
};

class GptNeoXLayer : public Block
{
public:
    GptNeoXLayer(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : m_inputNorm(builder.layerNorm("input_layernorm", c.hiddenSize))
        , m_postAttentionNorm(builder.layerNorm("post_attention_layernorm", c.hiddenSize))
        , m_attention(builder, c, attention)
        , m_mlp(builder, c)
        , m_dropout(c.residualDropout)
        , m_parallel(c.parallelResidual)
    {}

    Tensor forward(const Tensor &input, const LayerContext &context) const override
    {
        Tensor weights;
        Tensor attended;
        {
            const Tensor normed = m_inputNorm.forward(input);
            attended = m_attention.forward(normed, context, weights);
        }
        attended = dropout(attended, m_dropout);
        if (!m_parallel)
            attended = add(attended, input);
        Tensor fed;
        {
            const Tensor normed = m_postAttentionNorm.forward(m_parallel ? input : attended);
            fed = m_mlp.forward(normed);
        }
        fed = dropout(fed, m_dropout);
        const Tensor sum = add(fed, attended);
        return m_parallel ? add(sum, input) : sum;
    }

    void visit(ModuleVisitor &visitor) override
    {
        visitor.layerNorm(m_inputNorm);
        visitor.layerNorm(m_postAttentionNorm);
        m_attention.visit(visitor);
        m_mlp.visit(visitor);
    }

private:
    LayerNorm m_inputNorm, m_postAttentionNorm;
    GptNeoXAttention m_attention;
    GptNeoXMlp m_mlp;
    double m_dropout;
    bool m_parallel;
};

class GptNeoXModel : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

    void build(const Builder &builder) override
    {
        m_embedding = builder.embedding("gpt_neox.embed_in", m_config.vocabSize, m_config.hiddenSize);
        buildLayers(builder);
        m_finalNorm = builder.layerNorm("gpt_neox.final_layer_norm", m_config.hiddenSize);
        buildRotary(builder);
    }

    Tensor forward(const Tensor &inputIds, const LayerCall &call, bool inputsRequireGrad) override
    {
        Tape::Scope scope(*inputIds->tape, "gpt_neox");
        const Tensor embedded = m_embedding.forward(inputIds, inputsRequireGrad);
        LayerContexts contexts = positionsAndMasks(embedded);
        Tensor hidden = dropout(embedded, m_config.embeddingDropout);
        rotaryEmbedding(contexts.full, hidden);
        return m_finalNorm.forward(runLayers(std::move(hidden), contexts, call));
    }

    void visit(ModuleVisitor &visitor) override
    {
        visitor.embedding(m_embedding);
        visitLayers(visitor);
        visitor.layerNorm(m_finalNorm);
        visitRotary(visitor);
    }

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<GptNeoXLayer>(builder, m_config, m_attention);
    }

private:
    LayerNorm m_finalNorm{"gpt_neox.final_layer_norm", {}, {}, {}, {}};
};

} // namespace

std::unique_ptr<DecoderModel> makeGptNeoX(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<GptNeoXModel>(config, attention, transformers);
}

} // namespace headroom::network
