// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/network/head_norm_attention.h"

namespace headroom::network {

using namespace autograd;

HeadNormAttention::HeadNormAttention(const Builder &builder, const ModelConfig &c, AttentionKind attention, RmsNormKind norms)
    : AttentionSettings(c, attention)
    , q(builder.linear(names::q, c.hiddenSize, checkedMultiply(c.heads, c.headDim), c.queryKeyValueBias))
    , k(builder.linear(names::k, c.hiddenSize, checkedMultiply(c.keyValueHeads, c.headDim), c.queryKeyValueBias))
    , v(builder.linear(names::v, c.hiddenSize, checkedMultiply(c.keyValueHeads, c.headDim), c.queryKeyValueBias))
    , o(builder.linear(names::o, checkedMultiply(c.heads, c.headDim), c.hiddenSize, c.outputBias))
    , qNorm(builder.norm("self_attn.q_norm", c.headDim, norms))
    , kNorm(builder.norm("self_attn.k_norm", c.headDim, norms))
{}

Tensor HeadNormAttention::forward(const Tensor &hidden, const LayerContext &context, Tensor &weights) const
{
    if (halted(hidden))
        return {};
    Tape::Scope scope(*hidden->tape, "self_attn");
    Tensor query = projectHeads(q, hidden, heads, headDim);
    Tensor key = projectHeads(k, hidden, keyValueHeads, headDim);
    const Tensor value = projectHeads(v, hidden, keyValueHeads, headDim);
    query = qNorm.forward(query);
    key = kNorm.forward(key);
    applyRotary(rotation, query, key, context.cos, context.sin);
    return joinHeads(o, attend(kind, query, key, value, context, dropout, weights), heads * headDim);
}

void HeadNormAttention::visit(ModuleVisitor &visitor)
{
    for (Linear *linear : {&q, &k, &v, &o})
        visitor.linear(*linear);
    visitor.norm(qNorm);
    visitor.norm(kNorm);
    visitor.rotation(rotation);
}

} // namespace headroom::network
