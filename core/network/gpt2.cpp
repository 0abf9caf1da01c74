// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// GPT-2 and GPT-BigCode (transformers 5.24, models/gpt2/modeling_gpt2.py, models/gpt_bigcode/modeling_gpt_bigcode.py):
// learned positions, LayerNorms, dropout everywhere; GPT-2's projections are Conv1D, GPT-BigCode shares one key and value.
#include "core/network/families.h"
#include "core/network/two_linear_mlp.h"

namespace headroom::network {

using namespace autograd;

namespace {

constexpr LinearNames attentionIn = HEADROOM_LINEAR_NAMES("attn.c_attn");
constexpr LinearNames attentionOut = HEADROOM_LINEAR_NAMES("attn.c_proj");
constexpr LinearNames mlpIn = HEADROOM_LINEAR_NAMES("mlp.c_fc");
constexpr LinearNames mlpOut = HEADROOM_LINEAR_NAMES("mlp.c_proj");

Linear project(const Builder &builder, const ModelConfig &c, const LinearNames &names, std::int64_t in, std::int64_t out)
{
    return c.modelType == "gpt2" ? builder.conv1d(names, in, out) : builder.linear(names, in, out, true);
}

/// GPT2Attention, GPTBigCodeAttention.
struct Gpt2Attention : AttentionSettings {
    Linear in, out;
    double residualDropout;
    bool bigCode;
    bool splitsTwice;

    Gpt2Attention(const Builder &builder, const ModelConfig &c, AttentionKind attention, Version transformers)
        : AttentionSettings(c, attention)
        , in(project(builder, c, attentionIn, c.hiddenSize, checkedAdd(c.hiddenSize, checkedMultiply(2 * c.keyValueHeads, c.headDim))))
        , out(project(builder, c, attentionOut, c.hiddenSize, c.hiddenSize))
        , residualDropout(c.residualDropout)
        , bigCode(c.modelType == "gpt_bigcode")
        , splitsTwice(isOldGptBigCode(c, transformers))
    {}

    Tensor forward(const Tensor &hidden, const LayerContext &context, Tensor &weights) const
    {
        if (halted(hidden))
            return {};
        Tape::Scope scope(*hidden->tape, "attn");
        const std::int64_t b = hidden.size(0), s = hidden.size(1), width = heads * headDim;
        Tensor query, key, value;
        {
            Tensor joined = in.forward(hidden);
            if (halted(joined))
                return {};
            const auto take = [&](std::vector<Tensor> pieces) {
                query = std::move(pieces[0]);
                key = std::move(pieces[1]);
                value = std::move(pieces[2]);
            };
            if (!bigCode) {
                take(chunkLast(joined, 3));
            } else if (splitsTwice) {
                const bool shared = keyValueHeads == 1;
                const Tensor rows = shared ? joined : transpose(view(joined, {b, s, heads, 3 * headDim}), 1, 2);
                const std::vector<Tensor> outer = splitLast(rows, {shared ? width : headDim, 2 * headDim});
                if (context.besides) // present = key_value
                    *context.besides = outer[1];
                const std::vector<Tensor> inner = splitLast(outer[1], {headDim, headDim});
                take({outer[0], shared ? unsqueeze(inner[0], 1) : inner[0], shared ? unsqueeze(inner[1], 1) : inner[1]});
            } else if (keyValueHeads == 1) { // multi_query
                take(splitLast(unsqueeze(joined, 1), {width, headDim, headDim}));
            } else {
                take(splitLast(transpose(view(joined, {b, s, heads, 3 * headDim}), 1, 2), {headDim, headDim, headDim}));
            }
        }
        const auto toHeads = [&](Tensor &t) { t = transpose(view(t, {b, s, heads, headDim}), 1, 2); };
        if (!bigCode) {
            toHeads(key);
            toHeads(value);
        }
        if (!bigCode || keyValueHeads == 1)
            toHeads(query);
        const bool plain = !bigCode && kind == AttentionKind::Eager;
        const auto own = [this](const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &mask, Tensor &probabilities) {
            return eager(q, k, v, mask, probabilities);
        };
        Tensor output =
            plain ? callCore(own, query, key, value, context, weights) : attend(kind, query, key, value, context, dropout, weights);
        if (halted(output))
            return {};
        output = contiguous(reshape(output, {b, s, width}));
        // attn_weights_reshaped = attn_output.reshape(...) of GPTBigCodeFlashAttention2 lives as long as forward
        const Tensor kept = splitsTwice && kind == AttentionKind::FlashAttention2 ? output : Tensor();
        output = out.forward(output);
        return autograd::dropout(output, residualDropout);
    }

    /// GPT-2's own eager_attention_forward: the softmax in the scores' dtype, the output left transposed.
    Tensor eager(const Tensor &query, const Tensor &key, const Tensor &value, const Tensor &mask, Tensor &weights) const
    {
        weights = matmul(query, transpose(key, 2, 3));
        weights = mulNumber(weights);
        if (mask)
            weights = add(weights, mask);
        if (halted(weights))
            return {};
        // softmax is on autocast's list of operators in fp32
        weights = softmax(weights, weights->tape->autocast() ? DType::Float32 : weights.dtype());
        weights = to(weights, value.dtype());
        weights = autograd::dropout(weights, dropout);
        const Tensor output = matmul(weights, value);
        return halted(output) ? Tensor() : transpose(output, 1, 2);
    }

    void visit(ModuleVisitor &visitor)
    {
        visitor.linear(in);
        visitor.linear(out);
    }
};

struct Gpt2Mlp : TwoLinearMlp {
    Gpt2Mlp(const Builder &builder, const ModelConfig &c)
        : TwoLinearMlp{project(builder, c, mlpIn, c.hiddenSize, c.intermediateSize),
                       project(builder, c, mlpOut, c.intermediateSize, c.hiddenSize), "mlp.act",
                       activationOf(c.hiddenActivation).value_or(Activation::Gelu), c.residualDropout}
    {}
};

class Gpt2Block : public Block
{
public:
    Gpt2Block(const Builder &builder, const ModelConfig &c, AttentionKind attention, Version transformers)
        : m_norm1(builder.layerNorm("ln_1", c.hiddenSize))
        , m_attention(builder, c, attention, transformers)
        , m_norm2(builder.layerNorm("ln_2", c.hiddenSize))
        , m_mlp(builder, c)
    {}

    Tensor forward(const Tensor &input, const LayerContext &context) const override
    {
        Tensor residual = input;
        Tensor hidden = m_norm1.forward(input);
        Tensor weights;
        const Tensor attended = m_attention.forward(hidden, context, weights); // lives as long as this function
        hidden = add(attended, residual);

        residual = hidden;
        hidden = m_norm2.forward(hidden);
        const Tensor fed = m_mlp.forward(hidden);
        return add(residual, fed);
    }

    void visit(ModuleVisitor &visitor) override
    {
        visitor.layerNorm(m_norm1);
        m_attention.visit(visitor);
        visitor.layerNorm(m_norm2);
        m_mlp.visit(visitor);
    }

private:
    LayerNorm m_norm1;
    Gpt2Attention m_attention;
    LayerNorm m_norm2;
    Gpt2Mlp m_mlp;
};

class Gpt2Model : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

    void build(const Builder &builder) override
    {
        Tape &tape = builder.tape();
        const Dims square{m_config.maxPositions, m_config.maxPositions};
        if (isBigCode() && builder.fromHost())
            m_mask = builder.buffer(square, DType::Bool, "aten._to_copy.default");
        m_embedding = builder.embedding("transformer.wte", m_config.vocabSize, m_config.hiddenSize);
        m_positions = builder.embedding("transformer.wpe", m_config.maxPositions, m_config.hiddenSize);
        buildLayers(builder);
        m_finalNorm = builder.layerNorm("transformer.ln_f", m_config.hiddenSize);
        if (isBigCode() && !builder.fromHost()) { // the causal mask of its older versions, which nothing reads any more
            Tape::Scope scope(tape, "transformer");
            const Tensor ones = tape.empty(square, DType::Bool, "aten.ones.default");
            m_mask = builder.buffer(square, DType::Bool, "aten.tril.default");
        }
    }

    Tensor forward(const Tensor &inputIds, const LayerCall &call, bool inputsRequireGrad) override
    {
        Tape &tape = *inputIds->tape;
        Tape::Scope scope(tape, "transformer");
        const std::int64_t batch = inputIds.size(0), length = inputIds.size(1);
        const Tensor embedded = m_embedding.forward(inputIds, inputsRequireGrad);
        LayerContexts contexts;
        Tensor positionIds;
        {
            Tensor range = tape.empty({length}, DType::Int64, "aten.arange.default");
            positionIds = unsqueeze(tape.empty({length}, DType::Int64, "aten.add.Tensor"), 0);
        }
        if (!isBigCode()) // whose blocks are called without
            contexts.full.positionIds = positionIds;
        if (isBigCode())
            contexts.full.mask = causalMask(tape, batch, length, embedded.dtype(), false);
        const Tensor positions = m_positions.forward(positionIds);
        Tensor hidden = add(embedded, positions);
        if (!isBigCode())
            contexts.full.mask = causalMask(tape, batch, length, embedded.dtype(), false);
        hidden = dropout(hidden, m_config.embeddingDropout);
        hidden = runLayers(std::move(hidden), contexts, call);
        hidden = m_finalNorm.forward(hidden);
        return view(hidden, hidden.sizes());
    }

    void visit(ModuleVisitor &visitor) override
    {
        visitor.embedding(m_embedding);
        visitor.embedding(m_positions);
        visitLayers(visitor);
        visitor.layerNorm(m_finalNorm);
        if (m_mask)
            visitor.buffer(m_mask, "transformer");
    }

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<Gpt2Block>(builder, m_config, m_attention, m_transformers);
    }

private:
    bool isBigCode() const { return m_config.modelType == "gpt_bigcode"; }

    Embedding m_positions{"transformer.wpe", {}, {}, {}, {}};
    LayerNorm m_finalNorm{"transformer.ln_f", {}, {}, {}, {}};
    Tensor m_mask;
};

} // namespace

bool isOldGptBigCode(const ModelConfig &config, Version transformers)
{
    return config.modelType == "gpt_bigcode" && transformers < Version{4, 53};
}

std::unique_ptr<DecoderModel> makeGpt2(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<Gpt2Model>(config, attention, transformers);
}

std::unique_ptr<DecoderModel> makeGptBigCode(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<Gpt2Model>(config, attention, transformers);
}

} // namespace headroom::network
