// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// BLOOM (transformers 5.24, models/bloom/modeling_bloom.py): linear biases instead of positions, a norm on the embeddings, query, key
// and value from one projection, GELU as an autograd function of its own.
#include "core/network/alibi.h"
#include "core/network/families.h"
#include "core/network/llama.h"

namespace headroom::network {

using namespace autograd;

namespace {

constexpr LinearNames queryKeyValue = HEADROOM_LINEAR_NAMES("self_attention.query_key_value");
constexpr LinearNames dense = HEADROOM_LINEAR_NAMES("self_attention.dense");
constexpr LinearNames mlpIn = HEADROOM_LINEAR_NAMES("mlp.dense_h_to_4h");
constexpr LinearNames mlpOut = HEADROOM_LINEAR_NAMES("mlp.dense_4h_to_h");

/// dropout_add
Tensor dropoutAdd(const Tensor &x, const Tensor &residual, double p)
{
    const Tensor dropped = dropout(x, p);
    return add(residual, dropped);
}

struct BloomAttention : AttentionSettings {
    Linear in, out;
    double residualDropout;

    BloomAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : AttentionSettings(c, attention)
        , in(builder.linear(queryKeyValue, c.hiddenSize, checkedMultiply(3, c.hiddenSize), true))
        , out(builder.linear(dense, c.hiddenSize, c.hiddenSize, true))
        , residualDropout(c.residualDropout)
    {}

    Tensor forward(const Tensor &hidden, const Tensor &residual, const LayerContext &context, Tensor &weights) const
    {
        if (halted(hidden))
            return {};
        Tape::Scope scope(*hidden->tape, "self_attention");
        const std::int64_t b = hidden.size(0), s = hidden.size(1);
        const Tensor joined = in.forward(hidden);
        if (halted(joined))
            return {};
        Tensor query, key, value;
        {
            const Tensor rows = view(joined, {b, s, heads, 3, headDim});
            query = transpose(selectRow(rows), 1, 2);
            key = transpose(selectRow(rows), 1, 2);
            value = transpose(selectRow(rows), 1, 2);
        }
        const auto folded = [&](const Tensor &t) { return reshape(t, {checkedMultiply(b, heads), s, headDim}); };
        query = folded(query);
        key = folded(key);
        key = halted(key) ? Tensor() : transpose(key, 1, 2);
        value = folded(value);
        if (halted(query) || !key || !value)
            return {};
        Scores scores;
        Tensor output;
        if (context.core == CoreCheckpoint::None) {
            output = core(query, key, value, context.mask, context.bias, weights, scores);
        } else {
            const auto function = [this, bias = context.bias](const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &mask,
                                                              Tensor &probabilities) {
                Scores own;
                return core(q, k, v, mask, bias, probabilities, own);
            };
            output = callCore(function, query, key, value, context, weights);
        }
        if (halted(output))
            return {};
        output = reshape(transpose(view(output, {b, heads, s, headDim}), 1, 2), {b, s, heads * headDim}); // _merge_heads
        const Tensor projected = out.forward(output);
        return dropoutAdd(projected, residual, residualDropout);
    }

    void visit(ModuleVisitor &visitor)
    {
        visitor.linear(in);
        visitor.linear(out);
    }

private:
    /// Variables that live as long as forward.
    struct Scores {
        Tensor biased, masked;
    };

    /// On query [B * H, S, D], key [B * H, D, S] and value [B * H, S, D].
    Tensor core(const Tensor &query, const Tensor &key, const Tensor &value, const Tensor &mask, const Tensor &bias, Tensor &weights,
                Scores &scores) const
    {
        {
            Tape &tape = *query->tape;
            const Tensor castKey = tape.autocastCast(key), castQuery = tape.autocastCast(query);
            scores.biased = baddbmm(tape.autocastCast(bias), castQuery, castKey);
        }
        if (halted(scores.biased))
            return {};
        const std::int64_t s = query.size(1);
        scores.masked = add(view(scores.biased, {query.size(0) / heads, heads, s, s}), mask);
        {
            const Tensor probabilities = softmax(scores.masked, DType::Float32);
            weights = halted(probabilities) ? Tensor() : to(probabilities, query.dtype());
        }
        {
            Tape::Scope inDropout(*query->tape, "self_attention.attention_dropout");
            weights = autograd::dropout(weights, dropout);
        }
        if (halted(weights))
            return {};
        const Tensor castValue = query->tape->autocastCast(value);
        return bmm(query->tape->autocastCast(view(weights, {query.size(0), s, s})), castValue);
    }
};

class BloomBlock : public Block
{
public:
    BloomBlock(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : m_inputNorm(builder.layerNorm("input_layernorm", c.hiddenSize))
        , m_attention(builder, c, attention)
        , m_postAttentionNorm(builder.layerNorm("post_attention_layernorm", c.hiddenSize))
        , m_in(builder.linear(mlpIn, c.hiddenSize, c.intermediateSize, true))
        , m_out(builder.linear(mlpOut, c.intermediateSize, c.hiddenSize, true))
        , m_dropout(c.residualDropout)
        , m_normedResidual(c.normedResidual)
    {}

    Tensor forward(const Tensor &input, const LayerContext &context) const override
    {
        Tensor normed = m_inputNorm.forward(input), weights;
        Tensor residual = m_normedResidual ? normed : input;
        const Tensor attended = m_attention.forward(normed, residual, context, weights);
        normed = m_postAttentionNorm.forward(attended);
        residual = m_normedResidual ? normed : attended;
        Tensor output = mlp(normed, residual);
        if (context.besides)
            *context.besides = std::move(weights);
        return output;
    }

    void visit(ModuleVisitor &visitor) override
    {
        visitor.layerNorm(m_inputNorm);
        m_attention.visit(visitor);
        visitor.layerNorm(m_postAttentionNorm);
        visitor.linear(m_in);
        visitor.linear(m_out);
    }

private:
    Tensor mlp(const Tensor &normed, const Tensor &residual) const
    {
        if (halted(normed))
            return {};
        Tape::Scope scope(*normed->tape, "mlp");
        Tensor hidden = m_in.forward(normed);
        {
            Tape::Scope inActivation(*normed->tape, "mlp.gelu_impl");
            hidden = bloomGelu(hidden);
        }
        const Tensor output = m_out.forward(hidden);
        return dropoutAdd(output, residual, m_dropout);
    }

    LayerNorm m_inputNorm;
    BloomAttention m_attention;
    LayerNorm m_postAttentionNorm;
    Linear m_in, m_out;
    double m_dropout;
    bool m_normedResidual;
};

class BloomModel : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

    void build(const Builder &builder) override
    {
        m_embedding = builder.embedding("transformer.word_embeddings", m_config.vocabSize, m_config.hiddenSize);
        m_embeddingNorm = builder.layerNorm("transformer.word_embeddings_layernorm", m_config.hiddenSize);
        buildLayers(builder);
        m_finalNorm = builder.layerNorm("transformer.ln_f", m_config.hiddenSize);
    }

    Tensor forward(const Tensor &inputIds, const LayerCall &call, bool inputsRequireGrad) override
    {
        Tape &tape = *inputIds->tape;
        Tape::Scope scope(tape, "transformer");
        const Tensor embedded = m_embedding.forward(inputIds, inputsRequireGrad);
        Tensor hidden = m_embeddingNorm.forward(embedded);
        const std::int64_t batch = inputIds.size(0), length = inputIds.size(1);
        LayerContexts contexts;
        const Tensor slopes = alibiSlopes(tape, m_config.heads).slopes;
        {
            Tensor range = tape.empty({length}, DType::Int64, "aten.arange.default");
            Tensor alibi = tape.empty({m_config.heads, 1, length}, DType::Float32, "aten.mul.Tensor");
            range.reset();
            const Tensor repeated = tape.empty({checkedMultiply(batch, m_config.heads), 1, length}, DType::Float32, "aten.repeat.default");
            contexts.full.bias = to(repeated, hidden.dtype());
        }
        contexts.full.mask = causalMask(tape, batch, length, embedded.dtype(), false);
        Tensor outputs;
        return m_finalNorm.forward(runLayers(std::move(hidden), contexts, call, &outputs));
    }

    void visit(ModuleVisitor &visitor) override
    {
        visitor.embedding(m_embedding);
        visitor.layerNorm(m_embeddingNorm);
        visitLayers(visitor);
        visitor.layerNorm(m_finalNorm);
    }

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<BloomBlock>(builder, m_config, m_attention);
    }
    bool masksSeePositions() const override { return false; }

private:
    LayerNorm m_embeddingNorm{}, m_finalNorm{};
};

} // namespace

std::unique_ptr<DecoderModel> makeBloom(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<BloomModel>(config, attention, transformers);
}

} // namespace headroom::network
