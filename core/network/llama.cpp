// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The decoder layer of llama, mistral, qwen2 and qwen3 (transformers 5.24, models/llama/modeling_llama.py ...).
#include "core/autograd/module_hooks.h"
#include "core/network/decoder_model.h"

namespace headroom::network {

using namespace autograd;

namespace {

constexpr LinearNames qNames = HEADROOM_LINEAR_NAMES("self_attn.q_proj");
constexpr LinearNames kNames = HEADROOM_LINEAR_NAMES("self_attn.k_proj");
constexpr LinearNames vNames = HEADROOM_LINEAR_NAMES("self_attn.v_proj");
constexpr LinearNames oNames = HEADROOM_LINEAR_NAMES("self_attn.o_proj");
constexpr LinearNames gateNames = HEADROOM_LINEAR_NAMES("mlp.gate_proj");
constexpr LinearNames upNames = HEADROOM_LINEAR_NAMES("mlp.up_proj");
constexpr LinearNames downNames = HEADROOM_LINEAR_NAMES("mlp.down_proj");

/// LlamaAttention: projections, optional norms over the heads (qwen3), rotary embedding, attention.
struct LlamaAttention {
    Linear q, k, v, o;
    std::optional<RmsNorm> qNorm, kNorm;
    std::int64_t heads, keyValueHeads, headDim;
    double dropout;
    AttentionKind kind;

    LlamaAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : heads(c.heads)
        , keyValueHeads(c.keyValueHeads)
        , headDim(c.headDim)
        , dropout(c.attentionDropout)
        , kind(attention)
    {
        const std::int64_t queries = checkedMultiply(c.heads, c.headDim), keys = checkedMultiply(c.keyValueHeads, c.headDim);
        q = builder.linear(qNames, c.hiddenSize, queries, c.queryKeyValueBias);
        k = builder.linear(kNames, c.hiddenSize, keys, c.queryKeyValueBias);
        v = builder.linear(vNames, c.hiddenSize, keys, c.queryKeyValueBias);
        o = builder.linear(oNames, queries, c.hiddenSize, c.outputBias);
        if (c.queryKeyNorm) {
            qNorm = builder.norm("self_attn.q_norm", c.headDim);
            kNorm = builder.norm("self_attn.k_norm", c.headDim);
        }
    }

    Tensor forward(Tensor hidden, const LayerContext &context, Tensor &weights) const
    {
        if (halted(hidden))
            return {};
        Tape &tape = *hidden->tape;
        Tape::Scope scope(tape, "self_attn");
        ModuleHooks *hooks = tape.moduleHooks();
        if (!hooks)
            return attention(std::move(hidden), context, weights);
        const ModuleKey key{"self_attn", tape.layer(), Whole};
        hooks->before(key, {});
        Tensor output = attention(std::move(hidden), context, weights);
        if (tape.stopped())
            return {};
        hooks->after(key);
        output = hooks->result(key, output);
        if (weights)
            weights = hooks->result(key, weights);
        return output;
    }

    Tensor attention(Tensor hidden, const LayerContext &context, Tensor &weights) const
    {
        const std::int64_t b = hidden.size(0), s = hidden.size(1);
        const auto project = [&](const Linear &projection, const std::optional<RmsNorm> &norm, std::int64_t count) -> Tensor {
            Tensor states = projection.forward(hidden);
            if (halted(states))
                return {};
            states = view(states, {b, s, count, headDim});
            if (norm)
                states = norm->forward(states);
            return halted(states) ? Tensor() : transpose(states, 1, 2);
        };
        Tensor query = project(q, qNorm, heads);
        Tensor key = project(k, kNorm, keyValueHeads);
        const Tensor value = project(v, std::nullopt, keyValueHeads);
        {
            const Tensor cos = unsqueeze(context.cos, 1), sin = unsqueeze(context.sin, 1);
            Tensor rotatedQuery = rotate(query, cos, sin);
            Tensor rotatedKey = rotate(key, cos, sin);
            query = std::move(rotatedQuery);
            key = std::move(rotatedKey);
        }
        Tensor output = attend(kind, query, key, value, context.mask, dropout, weights);
        if (halted(output))
            return {};
        output = contiguous(reshape(output, {b, s, heads * headDim}));
        return o.forward(output);
    }

    void visit(ModuleVisitor &visitor)
    {
        for (Linear *linear : {&q, &k, &v, &o})
            visitor.linear(*linear);
        if (qNorm) {
            visitor.norm(*qNorm);
            visitor.norm(*kNorm);
        }
    }
};

/// LlamaMLP: down_proj(act_fn(gate_proj(x)) * up_proj(x)).
struct LlamaMlp {
    Linear gate, up, down;

    LlamaMlp(const Builder &builder, const ModelConfig &c)
        : gate(builder.linear(gateNames, c.hiddenSize, c.intermediateSize, c.mlpBias))
        , up(builder.linear(upNames, c.hiddenSize, c.intermediateSize, c.mlpBias))
        , down(builder.linear(downNames, c.intermediateSize, c.hiddenSize, c.mlpBias))
    {}

    Tensor forward(const Tensor &x) const
    {
        if (halted(x))
            return {};
        Tape &tape = *x->tape;
        Tape::Scope scope(tape, "mlp");
        return callModule(tape, "mlp", Whole, x, [this](const Tensor &input) { return project(input); });
    }

    Tensor project(const Tensor &x) const
    {
        Tape &tape = *x->tape;
        Tensor activated;
        {
            const Tensor gated = gate.forward(x);
            Tape::Scope inActivation(tape, "mlp.act_fn");
            if (!halted(gated))
                activated = callModule(tape, "mlp.act_fn", Whole, gated, [](const Tensor &input) { return silu(input); });
        }
        Tensor product;
        {
            const Tensor raised = up.forward(x);
            product = mul(activated, raised);
            activated.reset();
        }
        return down.forward(product);
    }

    void visit(ModuleVisitor &visitor)
    {
        for (Linear *linear : {&gate, &up, &down})
            visitor.linear(*linear);
    }
};

class LlamaDecoderLayer : public Block
{
public:
    LlamaDecoderLayer(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : m_attention(builder, c, attention)
        , m_mlp(builder, c)
        , m_inputNorm(builder.norm("input_layernorm", c.hiddenSize))
        , m_postAttentionNorm(builder.norm("post_attention_layernorm", c.hiddenSize))
    {}

    Tensor forward(const Tensor &input, const LayerContext &context) const override
    {
        Tensor residual = input;
        Tensor hidden = m_inputNorm.forward(input);
        Tensor weights; // `hidden_states, _ = self.self_attn(...)`: the underscore keeps them to the layer's end
        hidden = m_attention.forward(std::move(hidden), context, weights);
        hidden = add(residual, hidden);

        residual = hidden;
        hidden = m_postAttentionNorm.forward(hidden);
        hidden = m_mlp.forward(hidden);
        return add(residual, hidden);
    }

    void visit(ModuleVisitor &visitor) override
    {
        m_attention.visit(visitor);
        m_mlp.visit(visitor);
        visitor.norm(m_inputNorm);
        visitor.norm(m_postAttentionNorm);
    }

private:
    LlamaAttention m_attention;
    LlamaMlp m_mlp;
    RmsNorm m_inputNorm, m_postAttentionNorm;
};

class LlamaModel : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<LlamaDecoderLayer>(builder, m_config, m_attention);
    }
};

} // namespace

std::unique_ptr<DecoderModel> makeDecoderModel(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<LlamaModel>(config, attention, transformers);
}

} // namespace headroom::network
