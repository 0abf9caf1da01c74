// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// GPT-Neo (transformers 5.24, models/gpt_neo/modeling_gpt_neo.py): learned positions, every other layer attends within a window, by
// a mask of all positions that each layer holds.
#include "core/network/families.h"
#include "core/network/llama.h"
#include "core/network/two_linear_mlp.h"

namespace headroom::network {

using namespace autograd;

namespace {

constexpr LinearNames qNames = HEADROOM_LINEAR_NAMES("attn.attention.q_proj");
constexpr LinearNames kNames = HEADROOM_LINEAR_NAMES("attn.attention.k_proj");
constexpr LinearNames vNames = HEADROOM_LINEAR_NAMES("attn.attention.v_proj");
constexpr LinearNames outNames = HEADROOM_LINEAR_NAMES("attn.attention.out_proj");
constexpr LinearNames mlpIn = HEADROOM_LINEAR_NAMES("mlp.c_fc");
constexpr LinearNames mlpOut = HEADROOM_LINEAR_NAMES("mlp.c_proj");
constexpr const char *module = "attn.attention";

struct GptNeoAttention : AttentionSettings {
    Tensor bias; ///< [1, 1, positions, positions]: what a token may look at
    Linear k, v, q, out;
    double residualDropout;

    GptNeoAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention, bool local)
        : AttentionSettings(c, attention)
        , bias(visible(builder, c.maxPositions, local))
        , k(builder.linear(kNames, c.hiddenSize, c.hiddenSize, false))
        , v(builder.linear(vNames, c.hiddenSize, c.hiddenSize, false))
        , q(builder.linear(qNames, c.hiddenSize, c.hiddenSize, false))
        , out(builder.linear(outNames, c.hiddenSize, c.hiddenSize, true))
        , residualDropout(c.residualDropout)
    {}

    Tensor forward(const Tensor &hidden, const LayerContext &context, Tensor &weights) const
    {
        if (halted(hidden))
            return {};
        Tape::Scope scope(*hidden->tape, module);
        Tensor query = q.forward(hidden), key = k.forward(hidden), value = v.forward(hidden);
        const auto toHeads = [this](const Tensor &t) {
            return halted(t) ? Tensor() : transpose(view(t, {t.size(0), t.size(1), heads, headDim}), 1, 2);
        };
        query = toHeads(query);
        key = toHeads(key);
        value = toHeads(value);
        if (halted(query) || !key || !value)
            return {};
        Tensor output;
        if (kind == AttentionKind::FlashAttention2) {
            output = flashInHalf(query, key, value, context, dropout);
        } else {
            const auto function = [this](const Tensor &queries, const Tensor &keys, const Tensor &values, const Tensor &mask,
                                         Tensor &probabilities) { return attention(queries, keys, values, mask, probabilities); };
            output = callCore(function, query, key, value, context, weights);
            if (!halted(output))
                output = contiguous(transpose(output, 1, 2));
        }
        if (halted(output))
            return {};
        output = view(output, {output.size(0), output.size(1), heads * headDim});
        if (kind == AttentionKind::FlashAttention2)
            weights = output; // the rows are what that class returns besides
        output = out.forward(output);
        return autograd::dropout(output, residualDropout);
    }

    void visit(ModuleVisitor &visitor)
    {
        visitor.buffer(bias, module);
        for (Linear *linear : {&k, &v, &q, &out})
            visitor.linear(*linear);
    }

private:
    static Tensor visible(const Builder &builder, std::int64_t positions, bool local)
    {
        Tape &tape = builder.tape();
        Tape::Scope scope(tape, module);
        const Dims all{1, 1, positions, positions};
        if (builder.fromHost())
            return builder.buffer(all, DType::Bool, "aten._to_copy.default");
        Tensor lower;
        {
            const Tensor ones = tape.empty({positions, positions}, DType::Bool, "aten.ones.default");
            lower = local ? tape.empty({positions, positions}, DType::Bool, "aten.tril.default")
                          : builder.buffer({positions, positions}, DType::Bool, "aten.tril.default");
        }
        if (!local)
            return view(lower, all);
        const Tensor far = tape.empty(all, DType::Bool, "aten.tril.default");
        return builder.buffer(all, DType::Bool, "aten.bitwise_xor.Tensor");
    }

    /// _attn: the scores in fp32
    Tensor attention(const Tensor &query, const Tensor &key, const Tensor &value, const Tensor &mask, Tensor &weights) const
    {
        const Tensor queries = to(query, DType::Float32), keys = to(key, DType::Float32);
        weights = halted(keys) ? Tensor() : matmul(queries, transpose(keys, 2, 3));
        if (halted(weights))
            return {};
        Tape &tape = *weights->tape;
        const Tensor lowest = tape.empty({}, weights.dtype(), "aten._to_copy.default"); // a number, brought to the device
        weights = keepWhere(bias, weights);
        if (mask)
            weights = add(weights, mask);
        if (halted(weights))
            return {};
        // softmax is on autocast's list of operators in fp32
        weights = softmax(weights, tape.autocast() ? DType::Float32 : weights.dtype());
        weights = halted(weights) ? Tensor() : to(weights, value.dtype());
        {
            Tape::Scope inDropout(tape, "attn.attention.attn_dropout");
            weights = autograd::dropout(weights, dropout);
        }
        return matmul(weights, value);
    }
};

struct GptNeoMlp : TwoLinearMlp {
    GptNeoMlp(const Builder &builder, const ModelConfig &c)
        : TwoLinearMlp{builder.linear(mlpIn, c.hiddenSize, c.intermediateSize, true),
                       builder.linear(mlpOut, c.intermediateSize, c.hiddenSize, true), "mlp.act",
                       activationOf(c.hiddenActivation).value_or(Activation::GeluPython), c.residualDropout}
    {}
};

class GptNeoBlock : public Block
{
public:
    GptNeoBlock(const Builder &builder, const ModelConfig &c, AttentionKind attention, bool local)
        : m_attentionNorm(builder.layerNorm("ln_1", c.hiddenSize))
        , m_attention(builder, c, attention, local)
        , m_mlpNorm(builder.layerNorm("ln_2", c.hiddenSize))
        , m_mlp(builder, c)
    {}

    Tensor forward(const Tensor &input, const LayerContext &context) const override
    {
        Tensor hidden = m_attentionNorm.forward(input), weights;
        const Tensor attended = m_attention.forward(hidden, context, weights);
        hidden = add(attended, input);
        const Tensor residual = hidden;
        hidden = m_mlpNorm.forward(hidden);
        const Tensor fed = m_mlp.forward(hidden);
        Tensor output = add(residual, fed);
        if (context.besides)
            *context.besides = std::move(weights);
        return output;
    }

    void visit(ModuleVisitor &visitor) override
    {
        visitor.layerNorm(m_attentionNorm);
        m_attention.visit(visitor);
        visitor.layerNorm(m_mlpNorm);
        m_mlp.visit(visitor);
    }

private:
    LayerNorm m_attentionNorm;
    GptNeoAttention m_attention;
    LayerNorm m_mlpNorm;
    GptNeoMlp m_mlp;
};

class GptNeoModel : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

    void build(const Builder &builder) override
    {
        m_embedding = builder.embedding("transformer.wte", m_config.vocabSize, m_config.hiddenSize);
        m_positions = builder.embedding("transformer.wpe", m_config.maxPositions, m_config.hiddenSize);
        buildLayers(builder);
        m_finalNorm = builder.layerNorm("transformer.ln_f", m_config.hiddenSize);
    }

    Tensor forward(const Tensor &inputIds, const LayerCall &call, bool inputsRequireGrad) override
    {
        Tape::Scope scope(*inputIds->tape, "transformer");
        const Tensor embedded = m_embedding.forward(inputIds, inputsRequireGrad);
        LayerContexts contexts = positionsAndMasks(embedded);
        const Tensor positionIds = std::move(contexts.full.positionIds); // blocks are called without
        contexts.sliding = {};
        const Tensor positions = m_positions.forward(positionIds);
        Tensor hidden = add(embedded, positions);
        hidden = dropout(hidden, m_config.embeddingDropout);
        Tensor outputs;
        hidden = m_finalNorm.forward(runLayers(std::move(hidden), contexts, call, &outputs));
        return view(hidden, hidden.sizes());
    }

    void visit(ModuleVisitor &visitor) override
    {
        visitor.embedding(m_embedding);
        visitor.embedding(m_positions);
        visitLayers(visitor);
        visitor.layerNorm(m_finalNorm);
    }

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t index) const override
    {
        const auto layer = static_cast<std::size_t>(index);
        return std::make_unique<GptNeoBlock>(builder, m_config, m_attention, !m_config.localLayers.empty() && m_config.localLayers[layer]);
    }

private:
    Embedding m_positions{"transformer.wpe", {}, {}, {}, {}};
    LayerNorm m_finalNorm{};
};

} // namespace

std::unique_ptr<DecoderModel> makeGptNeo(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<GptNeoModel>(config, attention, transformers);
}

} // namespace headroom::network
