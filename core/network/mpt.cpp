// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// MPT (transformers 5.24, models/mpt/modeling_mpt.py): linear biases, no biases in Linears and norms, its own attention.
#include "core/network/families.h"
#include "core/network/llama.h"

#include <bit>

namespace headroom::network {

using namespace autograd;

namespace {

constexpr LinearNames queryKeyValue = HEADROOM_LINEAR_NAMES("attn.Wqkv");
constexpr LinearNames outNames = HEADROOM_LINEAR_NAMES("attn.out_proj");
constexpr LinearNames upNames = HEADROOM_LINEAR_NAMES("ffn.up_proj");
constexpr LinearNames downNames = HEADROOM_LINEAR_NAMES("ffn.down_proj");

struct MptAttention : AttentionSettings {
    Linear in, out;
    bool clips;

    MptAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : AttentionSettings(c, attention)
        , in(builder.linear(queryKeyValue, c.hiddenSize, checkedMultiply(3, c.hiddenSize), false))
        , out(builder.linear(outNames, c.hiddenSize, c.hiddenSize, false))
        , clips(c.clipsProjections)
    {}

    Tensor forward(const Tensor &hidden, const LayerContext &context, Tensor &weights) const
    {
        if (halted(hidden))
            return {};
        Tape::Scope scope(*hidden->tape, "attn");
        const Dims seen{hidden.size(0), hidden.size(1), heads, headDim};
        Tensor joined = in.forward(hidden);
        if (clips)
            joined = clamp(joined, true);
        std::vector<Tensor> pieces = chunkLast(joined, 3);
        for (Tensor &piece : pieces)
            piece = halted(piece) ? Tensor() : transpose(reshape(piece, seen), 1, 2);
        if (halted(pieces[0]) || !pieces[1] || !pieces[2])
            return {};
        Tensor scores, output;
        if (context.core == CoreCheckpoint::None) {
            output = core(pieces[0], pieces[1], pieces[2], context.mask, context.bias, weights, scores);
        } else {
            const auto function = [this, bias = context.bias](const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &mask,
                                                              Tensor &probabilities) {
                Tensor own;
                return core(q, k, v, mask, bias, probabilities, own);
            };
            output = callCore(function, pieces[0], pieces[1], pieces[2], context, weights);
        }
        if (halted(output))
            return {};
        output = view(contiguous(transpose(output, 1, 2)), {seen[0], seen[1], heads * headDim});
        return out.forward(output);
    }

    void visit(ModuleVisitor &visitor)
    {
        visitor.linear(in);
        visitor.linear(out);
    }

private:
    /// `scores`: a variable that lives as long as forward.
    Tensor core(const Tensor &query, const Tensor &key, const Tensor &value, const Tensor &mask, const Tensor &bias, Tensor &weights,
                Tensor &scores) const
    {
        {
            const Tensor product = matmul(query, transpose(key, 2, 3));
            scores = mulNumber(product);
        }
        scores = add(scores, bias);
        scores = maskedFill(scores, mask);
        if (halted(scores))
            return {};
        {
            const Tensor probabilities = softmax(to(scores, DType::Float32));
            weights = halted(probabilities) ? Tensor() : to(probabilities, value.dtype());
        }
        return matmul(weights, value);
    }
};

class MptBlock : public Block
{
public:
    MptBlock(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : m_attentionNorm(builder.norm("norm_1", c.hiddenSize, LayerNormKind::NoBias))
        , m_attention(builder, c, attention)
        , m_mlpNorm(builder.norm("norm_2", c.hiddenSize, LayerNormKind::NoBias))
        , m_up(builder.linear(upNames, c.hiddenSize, c.intermediateSize, false))
        , m_down(builder.linear(downNames, c.intermediateSize, c.hiddenSize, false))
    {}

    Tensor forward(const Tensor &input, const LayerContext &context) const override
    {
        Tensor normed = m_attentionNorm.forward(input), weights;
        const Tensor attended = m_attention.forward(normed, context, weights);
        const Tensor hidden = add(attended, input);
        normed = m_mlpNorm.forward(hidden);
        Tensor output = mlp(normed, hidden);
        if (context.besides)
            *context.besides = std::move(weights);
        return output;
    }

    void visit(ModuleVisitor &visitor) override
    {
        visitor.layerNorm(m_attentionNorm);
        m_attention.visit(visitor);
        visitor.layerNorm(m_mlpNorm);
        visitor.linear(m_up);
        visitor.linear(m_down);
    }

private:
    Tensor mlp(const Tensor &normed, const Tensor &residual) const
    {
        if (halted(normed))
            return {};
        Tape::Scope scope(*normed->tape, "ffn");
        Tensor hidden = m_up.forward(normed);
        {
            Tape::Scope inActivation(*normed->tape, "ffn.act");
            hidden = gelu(hidden);
        }
        const Tensor output = m_down.forward(hidden);
        return add(output, residual);
    }

    LayerNorm m_attentionNorm;
    MptAttention m_attention;
    LayerNorm m_mlpNorm;
    Linear m_up, m_down;
};

class MptModel : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

    void build(const Builder &builder) override
    {
        m_embedding = builder.embedding("transformer.wte", m_config.vocabSize, m_config.hiddenSize);
        buildLayers(builder);
        m_finalNorm = builder.norm("transformer.norm_f", m_config.hiddenSize, LayerNormKind::NoBias);
    }

    Tensor forward(const Tensor &inputIds, const LayerCall &call, bool inputsRequireGrad) override
    {
        Tape &tape = *inputIds->tape;
        Tape::Scope scope(tape, "transformer");
        const Tensor embedded = m_embedding.forward(inputIds, inputsRequireGrad);
        const std::int64_t batch = inputIds.size(0), length = inputIds.size(1);
        const Tensor alibi = biases(tape);
        LayerContexts contexts;
        // position_bias[:, :, -length:], of all positions that the model knows
        contexts.full.bias = tape.view(alibi, {m_config.heads, 1, length}, alibi.strides());
        {
            const Tensor additive = causalMask(tape, batch, length, embedded.dtype(), false);
            contexts.full.mask = to(additive, DType::Bool);
        }
        Tensor outputs;
        return m_finalNorm.forward(runLayers(embedded, contexts, call, &outputs));
    }

    void visit(ModuleVisitor &visitor) override
    {
        visitor.embedding(m_embedding);
        visitLayers(visitor);
        visitor.layerNorm(m_finalNorm);
    }

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<MptBlock>(builder, m_config, m_attention);
    }
    bool masksSeePositions() const override { return false; }

private:
    /// build_mpt_alibi_tensor: [H, 1, max_seq_len] in fp32
    Tensor biases(Tape &tape) const
    {
        const std::int64_t positions = m_config.maxPositions;
        const auto heads = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(m_config.heads)));
        const Tensor range = tape.empty({positions}, DType::Int32, "aten.arange.start");
        Tensor base, slopes;
        {
            Tensor numbers = tape.empty({heads}, DType::Int64, "aten.arange.start");
            base = tape.empty({heads}, DType::Float32, "aten._to_copy.default");
            numbers.reset();
            base = tape.empty({heads}, DType::Float32, "aten.mul.Tensor");
        }
        {
            const Tensor power = tape.empty({heads}, DType::Float32, "aten.pow.Scalar");
            const Tensor reciprocal = tape.empty({heads}, DType::Float32, "aten.reciprocal.default");
            slopes = tape.empty({heads}, DType::Float32, "aten.mul.Tensor");
        }
        if (heads != m_config.heads)
            slopes = tape.empty({1, heads, 1, 1}, DType::Float32, "aten.cat.default");
        const Tensor alibi = tape.empty({1, m_config.heads, 1, positions}, DType::Float32, "aten.mul.Tensor");
        return view(alibi, {m_config.heads, 1, positions});
    }

    LayerNorm m_finalNorm{};
};

} // namespace

std::unique_ptr<DecoderModel> makeMpt(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<MptModel>(config, attention, transformers);
}

} // namespace headroom::network
