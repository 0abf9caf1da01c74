// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/network/two_linear_mlp.h"

#include "core/network/llama.h"

namespace headroom::network {

using namespace autograd;

UpDownMlp::UpDownMlp(const Builder &builder, const ModelConfig &c)
    : TwoLinearMlp{builder.linear(names::up, c.hiddenSize, c.intermediateSize, c.mlpBias),
                   builder.linear(names::down, c.intermediateSize, c.hiddenSize, c.mlpBias), "mlp.act_fn",
                   activationOf(c.hiddenActivation).value_or(Activation::ReluSquared)}
{}

Tensor TwoLinearMlp::forward(const Tensor &x) const
{
    if (halted(x))
        return {};
    Tape &tape = *x->tape;
    Tape::Scope scope(tape, "mlp");
    Tensor hidden = in.forward(x);
    if (halted(hidden))
        return {};
    {
        Tape::Scope inActivation(tape, activationName);
        hidden = activate(activation, hidden);
    }
    hidden = out.forward(hidden);
    return autograd::dropout(hidden, dropout);
}

void TwoLinearMlp::visit(ModuleVisitor &visitor)
{
    visitor.linear(in);
    visitor.linear(out);
}

} // namespace headroom::network
