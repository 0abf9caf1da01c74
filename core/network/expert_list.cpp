// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// transformers 4.45 to 4.57: models/mixtral/modeling_mixtral.py, models/qwen2_moe/modeling_qwen2_moe.py,
// models/qwen3_moe/modeling_qwen3_moe.py, models/olmoe/modeling_olmoe.py.
#include "core/network/expert_list.h"

namespace headroom::network {

using namespace autograd;

namespace {

constexpr LinearNames mixtralGateNames = HEADROOM_LINEAR_NAMES("block_sparse_moe.gate"), gateNames = HEADROOM_LINEAR_NAMES("mlp.gate");
constexpr MlpNames mixtralNames{
    "block_sparse_moe.experts",
    "block_sparse_moe.experts.act_fn",
    HEADROOM_LINEAR_NAMES("block_sparse_moe.experts.w1"),
    HEADROOM_LINEAR_NAMES("block_sparse_moe.experts.w3"),
    HEADROOM_LINEAR_NAMES("block_sparse_moe.experts.w2"),
    true,
};
constexpr MlpNames expertNames{
    "mlp.experts",
    "mlp.experts.act_fn",
    HEADROOM_LINEAR_NAMES("mlp.experts.gate_proj"),
    HEADROOM_LINEAR_NAMES("mlp.experts.up_proj"),
    HEADROOM_LINEAR_NAMES("mlp.experts.down_proj"),
};

} // namespace

ExpertLoop expertLoop(const ModelConfig &config, Version transformers)
{
    if (config.modelType == "olmoe" || transformers < Version{4, 52})
        return ExpertLoop::Every;
    return transformers < Version{4, 53} ? ExpertLoop::ListOfHit : ExpertLoop::TensorOfHit;
}

ExpertList::ExpertList(const Builder &builder, const ModelConfig &c, ExpertLoop loop)
    : m_name(c.modelType == "mixtral" ? "block_sparse_moe" : "mlp")
    , m_loop(loop)
    , m_perToken(c.expertsPerToken)
    , m_normalises(c.normalisesExperts)
    , m_gate(builder.router(c.modelType == "mixtral" ? mixtralGateNames : gateNames, c.hiddenSize, c.experts))
{
    m_experts.reserve(static_cast<std::size_t>(c.experts));
    for (std::int64_t i = 0; i < c.experts; ++i)
        m_experts.emplace_back(builder, c, c.expertIntermediateSize, c.modelType == "mixtral" ? mixtralNames : expertNames);
    if (c.sharedExpertIntermediateSize == 0)
        return;
    m_shared.emplace(builder, c, c.sharedExpertIntermediateSize, sharedExpertNames);
    m_sharedGate = builder.router(sharedExpertGateNames, c.hiddenSize, 1);
}

Tensor ExpertList::forward(const Tensor &input, Tensor &routerLogits) const
{
    if (halted(input))
        return {};
    Tape::Scope scope(*input->tape, m_name);
    const Tensor hidden = view(input, {checkedMultiply(input.size(0), input.size(1)), input.size(2)});
    routerLogits = m_gate.forward(hidden);
    const Routing routing = chooseExperts(softmax(routerLogits, DType::Float32), m_perToken, m_normalises, hidden.dtype());
    const Tensor output = compute(hidden, routing);
    return halted(output) ? Tensor() : reshape(output, input.sizes());
}

Tensor ExpertList::compute(const Tensor &hidden, const Routing &routing) const
{
    if (halted(hidden) || !routing.weights || !routing.indices)
        return {};
    Tape &tape = *hidden->tape;
    const std::int64_t tokens = hidden.size(0), pairs = checkedMultiply(tokens, m_perToken), experts = std::ssize(m_experts);
    Tensor output = tape.empty(hidden.sizes(), hidden.dtype(), "aten.zeros.default");
    const Tensor mask = tape.empty({tokens, m_perToken, experts}, DType::Int64, "aten.zeros.default"); // one_hot
    Tensor hit;
    if (m_loop != ExpertLoop::Every) {
        Tensor sums = tape.empty({experts}, DType::Int64, "aten.sum.dim_IntList");
        const Tensor positive = tape.empty({experts}, DType::Bool, "aten.gt.Scalar");
        sums.reset();
        hit = tape.empty({experts, 1}, DType::Int64, "aten.nonzero.default");
    }
    if (m_loop == ExpertLoop::ListOfHit)
        hit.reset();

    // The loop's variables live on until they are bound anew.
    Tensor expertOf, tokenOf, state, weighted;
    for (std::int64_t i = 0; i < experts; ++i) {
        const std::int64_t rows = checkedMultiply(i + 1, pairs) / experts - checkedMultiply(i, pairs) / experts;
        if (rows == 0 && m_loop != ExpertLoop::Every)
            continue;
        { // idx, top_x = torch.where(expert_mask[expert_idx])
            Tensor own;
            if (m_loop == ExpertLoop::TensorOfHit)
                own = tape.empty({1, m_perToken, tokens}, DType::Int64, "aten.index.Tensor");
            const Tensor found = tape.make({rows, 2}, {1, rows}, DType::Int64, "aten.nonzero.default");
            expertOf = tape.view(found, {rows}, {1});
            tokenOf = tape.view(found, {rows}, {1});
        }
        state = reshape(indexRows(unsqueeze(hidden, 0), tokenOf, 1), {rows, hidden.size(1)});
        {
            const Tensor result = m_experts[static_cast<std::size_t>(i)].forward(state);
            weighted = mul(result, halted(result) ? Tensor() : indexPairs(unsqueeze(routing.weights, 2), tokenOf, expertOf));
        }
        if (halted(weighted))
            return {};
        addRows(output, tokenOf, to(weighted, hidden.dtype()));
        if (halted(output))
            return {};
    }
    return m_shared ? addShared(std::move(output), hidden) : output;
}

/// final_hidden_states + F.sigmoid(self.shared_expert_gate(hidden_states)) * shared_expert_output
Tensor ExpertList::addShared(Tensor output, const Tensor &hidden) const
{
    if (halted(output))
        return {};
    Tensor shared = m_shared->forward(hidden);
    {
        const Tensor opened = sigmoid(m_sharedGate.forward(hidden));
        shared = mul(opened, shared);
    }
    return add(output, shared);
}

void ExpertList::visit(ModuleVisitor &visitor)
{
    visitor.linear(m_gate);
    for (LlamaMlp &expert : m_experts)
        expert.visit(visitor);
    if (m_shared) {
        m_shared->visit(visitor);
        visitor.linear(m_sharedGate);
    }
}

} // namespace headroom::network
