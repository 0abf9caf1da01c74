// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// gpt-oss (transformers 5.24, models/gpt_oss/modeling_gpt_oss.py): attention with a sink for each head, every second layer
// within a window, and experts with biases whose SwiGLU is clamped. There is no sdpa attention for it.
#include "core/network/experts.h"
#include "core/network/families.h"
#include "core/network/llama.h"

namespace headroom::network {

using namespace autograd;

namespace {

/// GptOssAttention: Llama's with biases, and a logit for each head that takes part in the softmax and is dropped after it.
struct GptOssAttention : AttentionSettings {
    Tensor sinks; ///< [heads]
    Linear q, k, v, o;
    Rotation rotation = Rotation::SplitHalves;

    GptOssAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : AttentionSettings(c, attention)
        , sinks(builder.fromHost() ? makeSinks(builder) : Tensor()) // loaded in the order of parameters, a module's own first
        , q(builder.linear(names::q, c.hiddenSize, checkedMultiply(c.heads, c.headDim), c.queryKeyValueBias))
        , k(builder.linear(names::k, c.hiddenSize, checkedMultiply(c.keyValueHeads, c.headDim), c.queryKeyValueBias))
        , v(builder.linear(names::v, c.hiddenSize, checkedMultiply(c.keyValueHeads, c.headDim), c.queryKeyValueBias))
        , o(builder.linear(names::o, checkedMultiply(c.heads, c.headDim), c.hiddenSize, c.outputBias))
    {
        if (!sinks)
            sinks = makeSinks(builder);
    }

    Tensor forward(const Tensor &hidden, const LayerContext &context, Tensor &weights) const
    {
        if (halted(hidden))
            return {};
        Tape::Scope scope(*hidden->tape, "self_attn");
        Tensor query = projectHeads(q, hidden, heads, headDim);
        Tensor key = projectHeads(k, hidden, keyValueHeads, headDim);
        const Tensor value = projectHeads(v, hidden, keyValueHeads, headDim);
        applyRotary(rotation, query, key, context.cos, context.sin);
        const auto function = [this](const Tensor &queries, const Tensor &keys, const Tensor &values, const Tensor &mask,
                                     Tensor &probabilities) { return attendWithSinks(queries, keys, values, mask, probabilities); };
        return joinHeads(o, callCore(function, query, key, value, context, weights), heads * headDim);
    }

    void visit(ModuleVisitor &visitor)
    {
        visitor.parameter(sinks, "self_attn");
        for (Linear *linear : {&q, &k, &v, &o})
            visitor.linear(*linear);
        visitor.rotation(rotation);
    }

private:
    Tensor makeSinks(const Builder &builder) const
    {
        Tape::Scope scope(builder.tape(), "self_attn");
        return builder.parameter({heads});
    }

    /// eager_attention_forward
    Tensor attendWithSinks(const Tensor &query, const Tensor &key, const Tensor &value, const Tensor &mask, Tensor &weights) const
    {
        const Tensor keys = repeatKeyValue(key, heads / keyValueHeads);
        const Tensor values = repeatKeyValue(value, heads / keyValueHeads);
        if (halted(keys) || !values)
            return {};
        weights = matmul(query, transpose(keys, 2, 3));
        weights = mulNumber(weights);
        if (mask)
            weights = add(weights, mask);
        if (halted(weights))
            return {};
        const std::int64_t length = weights.size(3);
        const Tensor spread = expand(reshape(sinks, {1, heads, 1, 1}), {weights.size(0), heads, weights.size(2), 1});
        Tensor combined = catLast(weights, spread);
        combined = sub(combined, maxLast(combined));
        if (halted(combined))
            return {};
        const Tensor probabilities = softmax(combined, combined.dtype());
        if (halted(probabilities))
            return {};
        const Tensor scores = sliceLast(probabilities, 0, length);
        weights = to(autograd::dropout(scores, dropout), values.dtype());
        const Tensor output = matmul(weights, values);
        return halted(output) ? Tensor() : contiguous(transpose(output, 1, 2));
    }
};

/// GptOssTopKRouter: the largest logits are kept, and the softmax is over them alone.
struct GptOssRouter {
    Tensor weight, bias; ///< [experts, hidden], [experts]
    std::int64_t perToken;

    GptOssRouter(const Builder &builder, const ModelConfig &c)
        : perToken(c.expertsPerToken)
    {
        Tape::Scope scope(builder.tape(), "mlp.router");
        weight = builder.parameter({c.experts, c.hiddenSize}, "aten.zeros.default");
        bias = builder.parameter({c.experts}, "aten.zeros.default");
    }

    Routing forward(const Tensor &hidden) const
    {
        if (halted(hidden))
            return {};
        Tape::Scope scope(*hidden->tape, "mlp.router");
        const Tensor logits = linear(hidden, weight, bias);
        const TopK largest = topK(logits, perToken);
        return {softmax(largest.values, largest.values.dtype()), largest.indices, logits};
    }
};

/// GptOssMLP
class GptOssMlp
{
public:
    GptOssMlp(const Builder &builder, const ModelConfig &c)
        : m_router(builder, c)
        , m_experts(builder, c)
    {}

    /// `scores`: the second of what the block returns.
    Tensor forward(const Tensor &input, Tensor &scores) const
    {
        if (halted(input))
            return {};
        Tape::Scope scope(*input->tape, "mlp");
        Tensor hidden = reshape(input, {checkedMultiply(input.size(0), input.size(1)), input.size(2)});
        const Routing routing = m_router.forward(hidden);
        hidden = m_experts.forward(hidden, routing);
        if (halted(hidden))
            return {};
        hidden = reshape(hidden, input.sizes());
        scores = routing.weights;
        return hidden;
    }

    void visit(ModuleVisitor &visitor)
    {
        visitor.parameter(m_router.weight, "mlp.router");
        visitor.parameter(m_router.bias, "mlp.router");
        m_experts.visit(visitor);
    }

private:
    GptOssRouter m_router;
    Experts m_experts;
};

class GptOssDecoderLayer : public PreNormLayer<GptOssAttention, GptOssMlp>
{
public:
    GptOssDecoderLayer(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : PreNormLayer(builder, c, attention, RmsNormKind::Olmo)
    {}

    Tensor forward(const Tensor &input, const LayerContext &context) const override
    {
        Tensor residual = input;
        Tensor hidden = m_inputNorm.forward(input);
        Tensor rest; // `hidden_states, _ =`: both attention's weights and then the router's scores
        hidden = m_attention.forward(hidden, context, rest);
        hidden = add(residual, hidden);

        residual = hidden;
        hidden = m_postAttentionNorm.forward(hidden);
        hidden = m_mlp.forward(hidden, rest);
        return add(residual, hidden);
    }
};

class GptOssModel : public DecoderModel
{
public:
    GptOssModel(const ModelConfig &config, AttentionKind attention, Version transformers)
        : DecoderModel(config, attention, transformers)
    {
        m_normKind = RmsNormKind::Olmo;
    }

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<GptOssDecoderLayer>(builder, m_config, m_attention);
    }
    Masks masks() const override { return {true, true}; }
    bool masksSeePositions() const override { return false; }
    RotaryAngles rotaryAngles() const override { return RotaryAngles::Single; }
};

} // namespace

std::unique_ptr<DecoderModel> makeGptOss(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<GptOssModel>(config, attention, transformers);
}

} // namespace headroom::network
