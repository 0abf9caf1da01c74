// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Apertus (transformers 5.24, models/apertus/modeling_apertus.py): norms over the heads, and an MLP of two Linears around xIELU,
// an activation with two trained numbers (activations.py: XIELUActivation, without the package of its CUDA kernel).
#include "core/network/families.h"
#include "core/network/head_norm_attention.h"

namespace headroom::network {

using namespace autograd;

namespace {

constexpr const char *activationName = "mlp.act_fn";

struct ApertusAttention : HeadNormAttention {
    ApertusAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention)
        : HeadNormAttention(builder, c, attention, RmsNormKind::Llama)
    {}
};

/// XIELUActivation: its parameters [1], and two numbers that are buffers.
struct Xielu {
    Tensor alphaP, alphaN, beta, eps;

    static Xielu build(const Builder &builder)
    {
        Tape::Scope scope(builder.tape(), activationName);
        if (builder.fromHost()) {
            Xielu loaded{builder.parameter({1}), builder.parameter({1}), {}, {}};
            loaded.beta = builder.buffer({}, builder.weights(), "aten._to_copy.default");
            loaded.eps = builder.buffer({}, builder.weights(), "aten._to_copy.default");
            return loaded;
        }
        // ACT2FN makes one of the default dtype before the MLP makes its own.
        const Xielu first = computed(builder, DType::BFloat16);
        return computed(builder, builder.weights());
    }

    /// _xielu_python: torch.where(x > 0, alpha_p * x * x + beta * x, (expm1(min(x, eps)) - x) * alpha_n + beta * x)
    Tensor forward(const Tensor &x) const
    {
        if (halted(x))
            return {};
        Tape::Scope scope(*x->tape, activationName);
        const Tensor p = softplus(alphaP);
        const Tensor n = addNumber(softplus(alphaN)); // beta + ...
        if (halted(n))
            return {};
        const Tensor positive = unary(x, "aten.gt.Scalar", DType::Bool);
        Tensor above, below; // beta and eps are no numbers, but compute as such
        {
            const Tensor squared = mul(mul(p, x), x);
            const Tensor linear = mulNumber(x);
            above = add(squared, linear);
        }
        {
            Tensor shifted;
            {
                Tensor grown;
                {
                    const Tensor bounded = minimum(x, eps);
                    grown = expm1(bounded);
                }
                shifted = sub(grown, x);
            }
            const Tensor scaled = mul(shifted, n);
            shifted.reset();
            const Tensor linear = mulNumber(x);
            below = add(scaled, linear);
        }
        return where(positive, above, below);
    }

private:
    static Xielu computed(const Builder &builder, DType dtype)
    {
        Xielu made{raised(builder, dtype), raised(builder, dtype), {}, {}};
        made.beta = builder.buffer({}, dtype, "aten._to_copy.default");
        made.eps = builder.buffer({}, dtype, "aten._to_copy.default");
        return made;
    }

    /// torch.log(torch.expm1(number)).unsqueeze(0)
    static Tensor raised(const Builder &builder, DType dtype)
    {
        Tape &tape = builder.tape();
        Tensor number = tape.empty({}, dtype, "aten._to_copy.default");
        const Tensor grown = tape.empty({}, dtype, "aten.expm1.default");
        number.reset();
        const Tensor log = builder.buffer({}, dtype, "aten.log.default");
        Tensor parameter = tape.detach(log);
        parameter->sizes = {1};
        parameter->strides = {1};
        return parameter;
    }
};

struct ApertusMlp {
    Linear up, down;
    std::optional<Xielu> xielu;
    Activation activation;

    ApertusMlp(const Builder &builder, const ModelConfig &c)
        : up(builder.linear(names::up, c.hiddenSize, c.intermediateSize, false))
        , down(builder.linear(names::down, c.intermediateSize, c.hiddenSize, false))
        , activation(activationOf(c.hiddenActivation).value_or(Activation::Silu))
    {
        if (c.hiddenActivation == "xielu")
            xielu = Xielu::build(builder);
    }

    Tensor forward(const Tensor &x) const
    {
        if (halted(x))
            return {};
        Tape::Scope scope(*x->tape, "mlp");
        Tensor hidden = up.forward(x);
        if (xielu) {
            hidden = xielu->forward(hidden);
        } else if (!halted(hidden)) {
            Tape::Scope inActivation(*x->tape, activationName);
            hidden = activate(activation, hidden);
        }
        return down.forward(hidden);
    }

    void visit(ModuleVisitor &visitor)
    {
        visitor.linear(up);
        visitor.linear(down);
        if (!xielu)
            return;
        visitor.parameter(xielu->alphaP, activationName);
        visitor.parameter(xielu->alphaN, activationName);
        visitor.buffer(xielu->beta, activationName);
        visitor.buffer(xielu->eps, activationName);
    }
};

class ApertusModel : public DecoderModel
{
public:
    using DecoderModel::DecoderModel;

protected:
    std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t) const override
    {
        return std::make_unique<PreNormLayer<ApertusAttention, ApertusMlp>>(builder, m_config, m_attention, RmsNormKind::Llama,
                                                                            PreNormNames{"attention_layernorm", "feedforward_layernorm"});
    }
};

} // namespace

std::unique_ptr<DecoderModel> makeApertus(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    return std::make_unique<ApertusModel>(config, attention, transformers);
}

} // namespace headroom::network
