// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// OPT (transformers 5.24, models/opt/modeling_opt.py): learned positions, LayerNorms, an MLP of two Linears; of OPT-350M the
// norms stand after attention and MLP, and embeddings are narrower than the model.
#include "core/network/families.h"
#include "core/network/llama.h"

namespace headroom::network {

using namespace autograd;

namespace {

constexpr LinearNames outNames = HEADROOM_LINEAR_NAMES("self_attn.out_proj");
constexpr LinearNames mlpIn = HEADROOM_LINEAR_NAMES("fc1");
constexpr LinearNames mlpOut = HEADROOM_LINEAR_NAMES("fc2");
constexpr LinearNames projectInNames = HEADROOM_LINEAR_NAMES("model.decoder.project_in");
constexpr LinearNames projectOutNames = HEADROOM_LINEAR_NAMES("model.decoder.project_out");

struct OptAttention : AttentionSettings {
    Linear k, v, q, out;

    OptAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : AttentionSettings(c, attention)
        , k(builder.linear(names::k, c.hiddenSize, c.hiddenSize, c.queryKeyValueBias))
        , v(builder.linear(names::v, c.hiddenSize, c.hiddenSize, c.queryKeyValueBias))
        , q(builder.linear(names::q, c.hiddenSize, c.hiddenSize, c.queryKeyValueBias))
        , out(builder.linear(outNames, c.hiddenSize, c.hiddenSize, c.outputBias))
    {}

    Tensor forward(const Tensor &hidden, const LayerContext &context, Tensor &weights) const
    {
        if (halted(hidden))
            return {};
        Tape::Scope scope(*hidden->tape, "self_attn");
        const auto toHeads = [this](const Tensor &t) {
            return halted(t) ? Tensor() : transpose(view(t, {t.size(0), t.size(1), heads, headDim}), 1, 2);
        };
        Tensor query = mulNumber(q.forward(hidden)); // * scaling
        query = toHeads(query);
        Tensor key = k.forward(hidden), value = v.forward(hidden);
        key = toHeads(key);
        value = toHeads(value);
        return joinHeads(out, attend(kind, query, key, value, context, dropout, weights), heads * headDim);
    }

    void visit(ModuleVisitor &visitor)
    {
        for (Linear *linear : {&k, &v, &q, &out})
            visitor.linear(*linear);
    }
};

class OptDecoderLayer : public Block
{
public:
    OptDecoderLayer(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : m_attention(builder, c, attention)
        , m_attentionNorm(builder.layerNorm("self_attn_layer_norm", c.hiddenSize))
        , m_in(builder.linear(mlpIn, c.hiddenSize, c.intermediateSize, c.mlpBias))
        , m_out(builder.linear(mlpOut, c.intermediateSize, c.hiddenSize, c.mlpBias))
        , m_finalNorm(builder.layerNorm("final_layer_norm", c.hiddenSize))
        , m_activation(activationOf(c.hiddenActivation).value_or(Activation::Relu))
        , m_dropout(c.residualDropout)
        , m_normsFirst(c.normsFirst)
    {}

    Tensor forward(const Tensor &input, const LayerContext &context) const override
    {
        Tensor residual = input, hidden = input, weights;
        if (m_normsFirst)
            hidden = m_attentionNorm.forward(hidden);
        hidden = m_attention.forward(hidden, context, weights);
        hidden = dropout(hidden, m_dropout);
        hidden = add(residual, hidden);
        if (!m_normsFirst)
            hidden = m_attentionNorm.forward(hidden);
        if (halted(hidden))
            return {};

        const Dims sizes = hidden.sizes();
        hidden = reshape(hidden, {sizes.leading().elements(), sizes.back()});
        residual = hidden;
        if (m_normsFirst)
            hidden = m_finalNorm.forward(hidden);
        hidden = m_in.forward(hidden);
        {
            Tape::Scope inActivation(*input->tape, "activation_fn");
            if (!halted(hidden))
                hidden = activate(m_activation, hidden);
        }
        hidden = m_out.forward(hidden);
        hidden = dropout(hidden, m_dropout);
        hidden = add(residual, hidden);
        hidden = halted(hidden) ? Tensor() : view(hidden, sizes);
        return m_normsFirst ? hidden : m_finalNorm.forward(hidden);
    }

    void visit(ModuleVisitor &visitor) override
    {
        m_attention.visit(visitor);
        visitor.layerNorm(m_attentionNorm);
        visitor.linear(m_in);
        visitor.linear(m_out);
        visitor.layerNorm(m_finalNorm);
    }

private:
    OptAttention m_attention;
    LayerNorm m_attentionNorm;
    Linear m_in, m_out;
    LayerNorm m_finalNorm;
    Activation m_activation;
    double m_dropout;
    bool m_normsFirst;
};

class OptModel : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

    void build(const Builder &builder) override
    {
        const std::int64_t width = m_config.embeddingWidth, hidden = m_config.hiddenSize;
        m_embedding = builder.embedding("model.decoder.embed_tokens", m_config.vocabSize, width);
        m_positions = builder.embedding("model.decoder.embed_positions", checkedAdd(m_config.maxPositions, 2), hidden);
        if (width != hidden) {
            m_projectOut = builder.linear(projectOutNames, hidden, width, false);
            m_projectIn = builder.linear(projectInNames, width, hidden, false);
        }
        if (m_config.finalNorm)
            m_finalNorm = builder.layerNorm("model.decoder.final_layer_norm", hidden);
        buildLayers(builder);
    }

    Tensor forward(const Tensor &inputIds, const LayerCall &call, bool inputsRequireGrad) override
    {
        Tape &tape = *inputIds->tape;
        Tape::Scope scope(tape, "model.decoder");
        const Dims rows{inputIds.size(0), inputIds.size(1)};
        Tensor embedded = m_embedding.forward(inputIds, inputsRequireGrad);
        const Tensor ones = tape.empty(rows, DType::Float32, "aten.ones.default"); // position_attention_mask
        Tensor positionIds = tape.empty(rows, DType::Float32, "aten.cumsum.default");
        {
            Tensor masked = tape.empty(rows, DType::Float32, "aten.mul.Tensor");
            const Tensor shifted = tape.empty(rows, DType::Float32, "aten.sub.Tensor");
            masked.reset();
            positionIds = tape.empty(rows, DType::Int64, "aten._to_copy.default");
        }
        LayerContexts contexts;
        contexts.full.positionIds = positionIds;
        contexts.full.mask = causalMask(tape, rows[0], rows[1], embedded.dtype(), false);
        Tensor positions;
        {
            Tape::Scope inPositions(tape, m_positions.name);
            positions = m_positions.forward(tape.empty(rows, DType::Int64, "aten.add.Tensor"));
        }
        if (m_projectIn)
            embedded = m_projectIn->forward(embedded);
        Tensor hidden = add(embedded, positions);
        hidden = runLayers(std::move(hidden), contexts, call);
        if (m_finalNorm)
            hidden = m_finalNorm->forward(hidden);
        return m_projectOut ? m_projectOut->forward(hidden) : hidden;
    }

    void visit(ModuleVisitor &visitor) override
    {
        visitor.embedding(m_embedding);
        visitor.embedding(m_positions);
        if (m_projectOut) {
            visitor.linear(*m_projectOut);
            visitor.linear(*m_projectIn);
        }
        if (m_finalNorm)
            visitor.layerNorm(*m_finalNorm);
        visitLayers(visitor);
    }

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<OptDecoderLayer>(builder, m_config, m_attention);
    }
    bool masksSeePositions() const override { return false; }

private:
    Embedding m_positions{"model.decoder.embed_positions", {}, {}, {}, {}};
    std::optional<Linear> m_projectOut, m_projectIn;
    std::optional<LayerNorm> m_finalNorm;
};

} // namespace

std::unique_ptr<DecoderModel> makeOpt(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<OptModel>(config, attention, transformers);
}

} // namespace headroom::network
