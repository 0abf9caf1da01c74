// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// GPT-J and CodeGen (transformers 5.24, models/gptj/modeling_gptj.py, models/codegen/modeling_codegen.py): attention and MLP
// side by side after one LayerNorm, a part of each head rotated in pairs by a table of sines and cosines.
#include "core/network/families.h"
#include "core/network/llama.h"
#include "core/network/two_linear_mlp.h"

namespace headroom::network {

using namespace autograd;

namespace {

constexpr LinearNames qNames = HEADROOM_LINEAR_NAMES("attn.q_proj");
constexpr LinearNames kNames = HEADROOM_LINEAR_NAMES("attn.k_proj");
constexpr LinearNames vNames = HEADROOM_LINEAR_NAMES("attn.v_proj");
constexpr LinearNames qkvNames = HEADROOM_LINEAR_NAMES("attn.qkv_proj");
constexpr LinearNames outNames = HEADROOM_LINEAR_NAMES("attn.out_proj");
constexpr LinearNames mlpIn = HEADROOM_LINEAR_NAMES("mlp.fc_in");
constexpr LinearNames mlpOut = HEADROOM_LINEAR_NAMES("mlp.fc_out");
constexpr std::int64_t codegenParts = 4; ///< mp_num

/// apply_rotary_pos_emb on [B, S, H, rotary dimensions]
Tensor rotated(const Tensor &x, const Tensor &sine, const Tensor &cosine)
{
    if (halted(x))
        return {};
    const Tensor sin = repeatInterleaveLast(unsqueeze(sine, 2), 2), cos = repeatInterleaveLast(unsqueeze(cosine, 2), 2);
    const Tensor direct = mul(x, cos);
    Tensor turned;
    { // rotate_every_two
        const Tensor even = everySecond(x), odd = everySecond(x);
        const Tensor negated = neg(odd);
        turned = stackLast(negated, even);
        turned = halted(turned) ? Tensor() : view(turned, x.sizes());
    }
    turned = mul(turned, sin);
    return add(direct, turned);
}

struct GptJAttention : AttentionSettings {
    Linear k, v, q, out, qkv;
    bool codegen;
    std::int64_t rotaryDim;
    double residualDropout;

    GptJAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : AttentionSettings(c, attention)
        , codegen(c.modelType == "codegen")
        , rotaryDim(c.rotaryDim)
        , residualDropout(c.residualDropout)
    {
        const std::int64_t width = c.hiddenSize;
        if (!codegen) {
            k = builder.linear(kNames, width, width, false);
            v = builder.linear(vNames, width, width, false);
            q = builder.linear(qNames, width, width, false);
        }
        out = builder.linear(outNames, width, width, false);
        if (codegen)
            qkv = builder.linear(qkvNames, width, checkedMultiply(3, width), false);
    }

    Tensor forward(const Tensor &hidden, const LayerContext &context, Tensor &weights) const
    {
        if (halted(hidden))
            return {};
        Tape::Scope scope(*hidden->tape, "attn");
        const Dims seen{hidden.size(0), hidden.size(1), heads, headDim};
        Tensor query, key, value, joined;
        if (codegen) {
            joined = qkv.forward(hidden);
            if (halted(joined))
                return {};
            const std::int64_t local = heads * headDim / codegenParts;
            joined = view(joined, {seen[0], seen[1], codegenParts, 3 * local});
            const std::vector<Tensor> pieces = splitLast(joined, {local, local, local});
            query = reshape(pieces[0], seen);
            key = reshape(pieces[2], seen);
            value = transpose(reshape(pieces[1], seen), 1, 2);
        } else {
            query = q.forward(hidden);
            key = k.forward(hidden);
            value = v.forward(hidden);
            if (halted(value) || !query || !key)
                return {};
            query = view(query, seen);
            key = view(key, seen);
            value = transpose(view(value, seen), 1, 2);
        }
        const std::int64_t kept = headDim - rotaryDim;
        Tensor keyTurned = sliceLast(key, 0, rotaryDim);
        const Tensor keyKept = sliceLast(key, rotaryDim, kept);
        Tensor queryTurned = sliceLast(query, 0, rotaryDim);
        const Tensor queryKept = sliceLast(query, rotaryDim, kept);
        keyTurned = rotated(keyTurned, context.sin, context.cos);
        queryTurned = rotated(queryTurned, context.sin, context.cos);
        key = catLast(keyTurned, keyKept);
        query = catLast(queryTurned, queryKept);
        if (halted(query) || !key)
            return {};
        query = transpose(query, 1, 2);
        if (codegen)
            query = to(query, value.dtype());
        key = transpose(key, 1, 2);
        if (codegen)
            key = to(key, value.dtype());
        const auto function = [this](const Tensor &queries, const Tensor &keys, const Tensor &values, const Tensor &mask,
                                     Tensor &probabilities) { return eager(queries, keys, values, mask, probabilities); };
        Tensor output = kind == AttentionKind::Eager ? callCore(function, query, key, value, context, weights)
                                                     : attend(kind, query, key, value, context, dropout, weights);
        output = joinHeads(out, std::move(output), heads * headDim);
        return autograd::dropout(output, residualDropout);
    }

    /// eager_attention_forward: the scores in fp32
    Tensor eager(const Tensor &query, const Tensor &key, const Tensor &value, const Tensor &mask, Tensor &weights) const
    {
        {
            const Tensor queries = to(query, DType::Float32), keys = to(key, DType::Float32);
            weights = halted(keys) ? Tensor() : matmul(queries, transpose(keys, 2, 3));
        }
        weights = mulNumber(weights);
        if (mask)
            weights = add(weights, mask);
        if (halted(weights))
            return {};
        // softmax is on autocast's list of operators in fp32
        {
            const Tensor probabilities = softmax(weights, weights->tape->autocast() ? DType::Float32 : weights.dtype());
            weights = to(probabilities, value.dtype());
        }
        weights = autograd::dropout(weights, dropout);
        const Tensor output = matmul(weights, value);
        return halted(output) ? Tensor() : contiguous(transpose(output, 1, 2));
    }

    void visit(ModuleVisitor &visitor)
    {
        if (codegen) {
            visitor.linear(out);
            return visitor.linear(qkv);
        }
        for (Linear *linear : {&k, &v, &q, &out})
            visitor.linear(*linear);
    }
};

struct GptJMlp : TwoLinearMlp {
    GptJMlp(const Builder &builder, const ModelConfig &c)
        : TwoLinearMlp{builder.linear(mlpIn, c.hiddenSize, c.intermediateSize, true),
                       builder.linear(mlpOut, c.intermediateSize, c.hiddenSize, true), "mlp.act",
                       activationOf(c.hiddenActivation).value_or(Activation::GeluPython), c.residualDropout}
    {}
};

class GptJBlock : public Block
{
public:
    GptJBlock(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : m_norm(builder.layerNorm("ln_1", c.hiddenSize))
        , m_attention(builder, c, attention)
        , m_mlp(builder, c)
    {}

    Tensor forward(const Tensor &input, const LayerContext &context) const override
    {
        const Tensor hidden = m_norm.forward(input);
        Tensor weights;
        const Tensor attended = m_attention.forward(hidden, context, weights);
        const Tensor fed = m_mlp.forward(hidden);
        return add(add(attended, fed), input);
    }

    void visit(ModuleVisitor &visitor) override
    {
        visitor.layerNorm(m_norm);
        m_attention.visit(visitor);
        m_mlp.visit(visitor);
    }

private:
    LayerNorm m_norm;
    GptJAttention m_attention;
    GptJMlp m_mlp;
};

class GptJModel : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

    void build(const Builder &builder) override
    {
        m_embedding = builder.embedding("transformer.wte", m_config.vocabSize, m_config.hiddenSize);
        buildLayers(builder);
        m_finalNorm = builder.layerNorm("transformer.ln_f", m_config.hiddenSize);
        makeTable(builder);
    }

    Tensor forward(const Tensor &inputIds, const LayerCall &call, bool inputsRequireGrad) override
    {
        Tape &tape = *inputIds->tape;
        Tape::Scope scope(tape, "transformer");
        const Tensor embedded = m_embedding.forward(inputIds, inputsRequireGrad);
        LayerContexts contexts = positionsAndMasks(embedded);
        Tensor hidden = dropout(embedded, m_config.embeddingDropout);
        {
            Tape::Scope inRotary(tape, "transformer.rotary_emb");
            const Tensor found = tape.empty({1, inputIds.size(1), m_config.rotaryDim}, DType::Float32, "aten.index.Tensor");
            const std::vector<Tensor> halves = chunkLast(m_config.modelType == "gptj" ? to(found, hidden.dtype()) : found, 2);
            contexts.full.sin = halves[0];
            contexts.full.cos = halves[1];
        }
        return m_finalNorm.forward(runLayers(std::move(hidden), contexts, call));
    }

    void visit(ModuleVisitor &visitor) override
    {
        visitor.embedding(m_embedding);
        visitLayers(visitor);
        visitor.layerNorm(m_finalNorm);
        visitor.buffer(m_table, "transformer.rotary_emb");
    }

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<GptJBlock>(builder, m_config, m_attention);
    }

private:
    /// create_sinusoidal_positions
    void makeTable(const Builder &builder)
    {
        Tape &tape = builder.tape();
        Tape::Scope scope(tape, "transformer.rotary_emb");
        const std::int64_t positions = m_config.maxPositions, half = m_config.rotaryDim / 2;
        if (builder.fromHost()) {
            m_table = builder.buffer({positions, m_config.rotaryDim}, DType::Float32, "aten._to_copy.default");
            return;
        }
        const auto chain = [&](const Dims &sizes, std::initializer_list<std::pair<const char *, DType>> steps) {
            Tensor last;
            for (const auto &[op, dtype] : steps)
                last = tape.empty(sizes, dtype, op);
            return last;
        };
        Tensor frequencies; // in the default dtype, which is that of the weights while a model is built
        {
            const DType dtype = builder.weights();
            const Tensor power =
                chain({half}, {{"aten.arange.start_step", DType::Int64}, {"aten.div.Tensor", dtype}, {"aten.pow.Scalar", dtype}});
            frequencies = chain({half}, {{"aten.reciprocal.default", dtype}, {"aten.mul.Tensor", dtype}});
        }
        Tensor angles;
        {
            const Tensor all = chain({positions}, {{"aten.arange.default", DType::Int64}, {"aten._to_copy.default", DType::Float32}});
            angles = tape.empty({positions, half}, DType::Float32, "aten.mul.Tensor");
        }
        const Tensor sines = tape.empty({positions, half}, DType::Float32, "aten.sin.default");
        const Tensor cosines = tape.empty({positions, half}, DType::Float32, "aten.cos.default");
        m_table = builder.buffer({positions, m_config.rotaryDim}, DType::Float32, "aten.cat.default");
    }

    LayerNorm m_finalNorm{"transformer.ln_f", {}, {}, {}, {}};
    Tensor m_table; ///< embed_positions
};

} // namespace

std::unique_ptr<DecoderModel> makeGptJ(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<GptJModel>(config, attention, transformers);
}

} // namespace headroom::network
