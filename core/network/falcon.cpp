// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Falcon (transformers 5.24, models/falcon/modeling_falcon.py): query, key and value from one projection, one key and value for all
// heads (7B) or for groups of them (40B and later, new_decoder_architecture), attention and MLP side by side or one after the other,
// a rotation or linear biases (Falcon-RW).
#include "core/network/alibi.h"
#include "core/network/families.h"
#include "core/network/llama.h"
#include "core/network/two_linear_mlp.h"

namespace headroom::network {

using namespace autograd;

namespace {

constexpr LinearNames queryKeyValue = HEADROOM_LINEAR_NAMES("self_attention.query_key_value");
constexpr LinearNames dense = HEADROOM_LINEAR_NAMES("self_attention.dense");
constexpr LinearNames mlpIn = HEADROOM_LINEAR_NAMES("mlp.dense_h_to_4h");
constexpr LinearNames mlpOut = HEADROOM_LINEAR_NAMES("mlp.dense_4h_to_h");

/// FalconLinear
Linear falconLinear(const Builder &builder, const ModelConfig &c, const LinearNames &names, std::int64_t in, std::int64_t out,
                    Version transformers)
{
    Linear linear = builder.ownLinear(names, in, out, c.queryKeyValueBias, transformers);
    linear.writtenOut = true;
    return linear;
}

struct FalconAttention : AttentionSettings {
    Linear in, out;
    bool grouped, multiQuery, alibi;

    FalconAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention, Version transformers)
        : AttentionSettings(c, attention)
        , in(falconLinear(builder, c, queryKeyValue, c.hiddenSize,
                          checkedMultiply(checkedAdd(c.heads, checkedMultiply(2, c.keyValueHeads)), c.headDim), transformers))
        , out(falconLinear(builder, c, dense, c.hiddenSize, c.hiddenSize, transformers))
        , grouped(c.groupedProjection)
        , multiQuery(c.multiQuery)
        , alibi(c.alibi)
    {}

    Tensor forward(const Tensor &hidden, const LayerContext &context, Tensor &weights) const
    {
        if (halted(hidden))
            return {};
        Tape::Scope scope(*hidden->tape, "self_attention");
        const Tensor joined = in.forward(hidden);
        Tensor query, key, value;
        splitHeads(joined, query, key, value);
        query = transpose4d(query);
        key = transpose4d(key);
        value = transpose4d(value);
        if (!alibi)
            applyRotary(Rotation::Halves, query, key, context.cos, context.sin);
        if (halted(query) || !key || !value)
            return {};
        Scores scores;
        Tensor output;
        if (kind == AttentionKind::FlashAttention2) {
            output = flashInHalf(query, key, value, context, dropout);
        } else if (context.core == CoreCheckpoint::None) {
            output = core(query, key, value, context.mask, context.bias, hidden.dtype(), weights, scores);
        } else {
            const auto function = [this, dtype = hidden.dtype(), bias = context.bias](const Tensor &q, const Tensor &k, const Tensor &v,
                                                                                      const Tensor &mask, Tensor &probabilities) {
                Scores own;
                return core(q, k, v, mask, bias, dtype, probabilities, own);
            };
            output = callCore(function, query, key, value, context, weights);
        }
        if (halted(output))
            return {};
        if (kind != AttentionKind::FlashAttention2)
            output = transpose(output, 1, 2);
        output = reshape(output, {output.size(0), output.size(1), heads * headDim});
        return out.forward(output);
    }

    void visit(ModuleVisitor &visitor)
    {
        visitor.linear(in);
        visitor.linear(out);
    }

private:
    /// Variables of eager attention with linear biases that live as long as forward.
    struct Scores {
        Tensor product, raised, logits;
    };

    Tensor core(const Tensor &query, const Tensor &key, const Tensor &value, const Tensor &mask, const Tensor &bias, DType dtype,
                Tensor &weights, Scores &scores) const
    {
        if (kind != AttentionKind::Eager)
            return scaledDotProductAttention(query, key, value, mask, alibi ? dropout : 0.0, !mask && query.size(2) > 1, false);
        return alibi ? eagerAlibi(query, key, value, mask, bias, dtype, weights, scores) : eager(query, key, value, mask, dtype, weights);
    }

    static Tensor transpose4d(const Tensor &t) { return halted(t) ? Tensor() : transpose(t, 1, 2); }

    /// t[..., [i], :]: the list of one index becomes a tensor on the device
    static Tensor indexed(const Tensor &t, int dim)
    {
        return halted(t) ? Tensor() : indexRows(t, t->tape->empty({1}, DType::Int64, "aten._to_copy.default"), dim);
    }

    /// _split_heads: three of [B, S, H, D], or with one head for key and value
    void splitHeads(const Tensor &joined, Tensor &query, Tensor &key, Tensor &value) const
    {
        if (halted(joined))
            return;
        const std::int64_t b = joined.size(0), s = joined.size(1);
        if (grouped) {
            const std::int64_t group = heads / keyValueHeads;
            const Tensor rows = view(joined, {b, s, keyValueHeads, group + 2, headDim});
            query = sliceRows(rows, group);
            key = indexed(rows, 3);
            value = indexed(rows, 3);
            const auto flat = [&](const Tensor &t) {
                return halted(t) ? Tensor() : reshape(expand(t, {b, s, keyValueHeads, group, headDim}), {b, s, heads, headDim});
            };
            Tensor flatQuery = flat(query), flatKey = flat(key), flatValue = flat(value);
            query = std::move(flatQuery);
            key = std::move(flatKey);
            value = std::move(flatValue);
        } else if (!multiQuery) {
            const Tensor rows = view(joined, {b, s, heads, 3, headDim});
            query = selectRow(rows);
            key = selectRow(rows);
            value = selectRow(rows);
        } else {
            const Tensor rows = view(joined, {b, s, heads + 2, headDim});
            query = sliceRows(rows, heads);
            key = indexed(rows, 2);
            value = indexed(rows, 2);
        }
    }

    Tensor eager(const Tensor &query, const Tensor &key, const Tensor &value, const Tensor &mask, DType dtype, Tensor &weights) const
    {
        weights = matmul(query, transpose(key, 2, 3));
        divNumberInPlace(weights);
        weights = softmax(add(weights, mask), dtype);
        return matmul(weights, value); // without dropout, unlike attention with linear biases
    }

    Tensor eagerAlibi(const Tensor &query, const Tensor &key, const Tensor &value, const Tensor &mask, const Tensor &bias, DType dtype,
                      Tensor &weights, Scores &scores) const
    {
        scores.product = matmul(query, transpose(key, 2, 3));
        if (halted(scores.product))
            return {};
        scores.raised = to(scores.product, DType::Float32);
        scores.logits = add(scores.raised, bias);
        mulNumberInPlace(scores.logits);
        weights = softmax(add(scores.logits, mask), dtype);
        {
            Tape::Scope inDropout(*query->tape, "self_attention.attention_dropout");
            weights = autograd::dropout(weights, dropout);
        }
        return matmul(weights, value);
    }
};

struct FalconMlp : TwoLinearMlp {
    FalconMlp(const Builder &builder, const ModelConfig &c, Version transformers)
        : TwoLinearMlp{falconLinear(builder, c, mlpIn, c.hiddenSize, c.intermediateSize, transformers),
                       falconLinear(builder, c, mlpOut, c.intermediateSize, c.hiddenSize, transformers), "mlp.act",
                       activationOf(c.hiddenActivation).value_or(Activation::Gelu)}
    {}
};

class FalconDecoderLayer : public Block
{
public:
    FalconDecoderLayer(const Builder &builder, const ModelConfig &c, AttentionKind attention, Version transformers)
        : m_attention(builder, c, attention, transformers)
        , m_mlp(builder, c, transformers)
        , m_attentionDropout(c.attentionDropout)
        , m_dropout(c.residualDropout)
        , m_parallel(c.parallelResidual)
    {
        if (!m_parallel)
            m_mlpNorm = builder.layerNorm("post_attention_layernorm", c.hiddenSize);
        m_inputNorm = builder.layerNorm(c.normsApart ? "ln_attn" : "input_layernorm", c.hiddenSize);
        if (c.normsApart)
            m_mlpNorm = builder.layerNorm("ln_mlp", c.hiddenSize);
    }

    Tensor forward(const Tensor &input, const LayerContext &context) const override
    {
        Tensor residual = input;
        const Tensor normed = m_inputNorm.forward(input);
        Tensor mlpInput = m_parallel && m_mlpNorm ? m_mlpNorm->forward(input) : normed;
        Tensor weights;
        const Tensor attended = m_attention.forward(normed, context, weights);
        if (!m_parallel) {
            {
                const Tensor dropped = dropout(attended, m_attentionDropout);
                residual = add(residual, dropped);
            }
            mlpInput = m_mlpNorm->forward(residual);
        }
        Tensor fed = m_mlp.forward(mlpInput);
        if (m_parallel)
            addInPlace(fed, attended);
        const Tensor dropped = dropout(fed, m_dropout);
        Tensor output = add(residual, dropped);
        if (context.besides)
            *context.besides = std::move(weights);
        return output;
    }

    void visit(ModuleVisitor &visitor) override
    {
        m_attention.visit(visitor);
        m_mlp.visit(visitor);
        if (!m_parallel)
            visitor.layerNorm(*m_mlpNorm);
        visitor.layerNorm(m_inputNorm);
        if (m_parallel && m_mlpNorm)
            visitor.layerNorm(*m_mlpNorm);
    }

private:
    FalconAttention m_attention;
    FalconMlp m_mlp;
    LayerNorm m_inputNorm{};
    std::optional<LayerNorm> m_mlpNorm;
    double m_attentionDropout, m_dropout;
    bool m_parallel;
};

class FalconModel : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

    void build(const Builder &builder) override
    {
        m_embedding = builder.embedding("transformer.word_embeddings", m_config.vocabSize, m_config.hiddenSize);
        buildLayers(builder);
        m_finalNorm = builder.layerNorm("transformer.ln_f", m_config.hiddenSize);
        buildRotary(builder);
    }

    Tensor forward(const Tensor &inputIds, const LayerCall &call, bool inputsRequireGrad) override
    {
        Tape::Scope scope(*inputIds->tape, "transformer");
        const Tensor embedded = m_embedding.forward(inputIds, inputsRequireGrad);
        Tensor mask; // torch.ones(...), which lives as long as forward
        Tensor alibi = m_config.alibi ? biases(embedded, mask) : Tensor();
        LayerContexts contexts = positionsAndMasks(embedded);
        if (alibi && contexts.full.mask)
            joinWithMask(contexts.full.mask, alibi);
        contexts.full.bias = std::move(alibi);
        rotaryEmbedding(contexts.full, embedded);
        Tensor outputs;
        return m_finalNorm.forward(runLayers(embedded, contexts, call, &outputs));
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
        return std::make_unique<FalconDecoderLayer>(builder, m_config, m_attention, m_transformers);
    }
    bool alwaysMasks() const override { return true; }

private:
    /// build_alibi_tensor: [B, H, 1, S]
    Tensor biases(const Tensor &embedded, Tensor &mask) const
    {
        Tape &tape = *embedded->tape;
        const std::int64_t batch = embedded.size(0), length = embedded.size(1);
        mask = tape.empty({batch, length}, DType::Int64, "aten.ones.default");
        const AlibiSlopes slopes = alibiSlopes(tape, m_config.heads);
        Tensor positions = tape.empty({batch, length}, DType::Int64, "aten.cumsum.default");
        positions = tape.empty({batch, length}, DType::Int64, "aten.sub.Tensor");
        positions = tape.empty({batch, length}, DType::Int64, "aten.mul.Tensor");
        Tensor alibi;
        {
            const Tensor half = tape.empty({m_config.heads, 1}, DType::BFloat16, "aten._to_copy.default");
            alibi = tape.empty({batch, m_config.heads, length}, DType::BFloat16, "aten.mul.Tensor");
        }
        alibi = to(view(alibi, {checkedMultiply(batch, m_config.heads), 1, length}), embedded.dtype());
        return view(alibi, {batch, m_config.heads, 1, length});
    }

    /// The biases divided by a number, and the lowest number where a token may not look.
    static void joinWithMask(Tensor &mask, const Tensor &alibi)
    {
        Tape &tape = *mask->tape;
        const DType dtype = alibi.dtype();
        if (mask.dtype() == DType::Bool) {
            const Tensor zero = tape.empty({}, dtype, "aten.full.default"), lowest = tape.empty({}, dtype, "aten.scalar_tensor.default");
            mask = tape.empty(mask.sizes(), dtype, "aten.where.self");
        }
        const Tensor scaled = tape.empty(alibi.sizes(), dtype, "aten.div.Tensor");
        const Tensor hidden = tape.empty(mask.sizes(), DType::Bool, "aten.lt.Scalar");
        mask = tape.empty({mask.size(0), alibi.size(1), mask.size(2), mask.size(3)}, dtype, "aten.masked_fill.Scalar");
    }

    LayerNorm m_finalNorm{};
};

} // namespace

std::unique_ptr<DecoderModel> makeFalcon(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<FalconModel>(config, attention, transformers);
}

} // namespace headroom::network
