// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// transformers 5.24: models/glm4_moe/modeling_glm4_moe.py, models/deepseek_v3/modeling_deepseek_v3.py.
#include "core/network/scored_experts.h"

namespace headroom::network {

using namespace autograd;

namespace {

constexpr ParameterNames gateNames{"mlp.gate", "mlp.gate.weight", "mlp.gate.lora_A", "mlp.gate.lora_B"};
constexpr MlpNames sharedNames{
    "mlp.shared_experts",
    "mlp.shared_experts.act_fn",
    HEADROOM_LINEAR_NAMES("mlp.shared_experts.gate_proj"),
    HEADROOM_LINEAR_NAMES("mlp.shared_experts.up_proj"),
    HEADROOM_LINEAR_NAMES("mlp.shared_experts.down_proj"),
};

} // namespace

ScoringRouter::ScoringRouter(const Builder &builder, const ModelConfig &c)
    : m_experts(c.experts)
    , m_perToken(c.expertsPerToken)
    , m_groups(c.expertGroups)
    , m_bestGroups(c.bestExpertGroups)
    , m_normalises(c.normalisesExperts)
{
    Tape::Scope scope(builder.tape(), "mlp.gate");
    m_weight.names = gateNames;
    m_weight.weight =
        builder.buffer({c.experts, c.hiddenSize}, DType::Float32, builder.fromHost() ? "aten.empty.memory_format" : "aten.zeros.default");
    m_bias = builder.buffer({c.experts}, DType::Float32, builder.fromHost() ? "aten._to_copy.default" : "aten.zeros.default");
}

Tensor ScoringRouter::choose(const Tensor &scores, std::array<Tensor, 6> &kept) const
{
    const std::int64_t n = scores.size(0), inGroup = m_experts / m_groups;
    Tensor biased = add(scores, m_bias); // scores_for_choice
    Tensor groupScores;
    {
        const Tensor best = topK(view(biased, {n, m_groups, inGroup}), 2).values;
        groupScores = sumOver(best, 2, false);
    }
    if (halted(groupScores))
        return {};
    const Tensor bestGroups = topK(groupScores, m_bestGroups).indices;
    Tape &tape = *scores->tape;
    const Tensor groupMask = tape.empty({n, m_groups}, groupScores.dtype(), "aten.zeros_like.default");
    const Tensor scoreMask = reshape(expand(unsqueeze(groupMask, 2), {n, m_groups, inGroup}), {n, m_experts});
    Tensor hidden;
    {
        const Tensor shown = tape.empty({n, m_experts}, DType::Bool, "aten._to_copy.default");
        hidden = tape.empty({n, m_experts}, DType::Bool, "aten.bitwise_not.default");
    }
    biased = maskedFill(biased, hidden);
    hidden.reset();
    Tensor chosen = topK(biased, m_perToken).indices;
    kept = {biased, groupScores, bestGroups, groupMask, scoreMask, {}}; // Python's variables, which live as long as the router's function
    return chosen;
}

Routing ScoringRouter::forward(const Tensor &hidden) const
{
    if (halted(hidden))
        return {};
    ActiveParameter active(m_weight);
    Tape::Scope scope(*hidden->tape, "mlp.gate");
    const Tensor rows = view(hidden, {checkedMultiply(hidden.size(0), hidden.size(1)), hidden.size(2)});
    Routing routing;
    {
        const Tensor input = to(rows, DType::Float32), weight = to(active.weight(), DType::Float32);
        routing.logits = linear(input, weight);
    }
    const Tensor scores = sigmoid(routing.logits);
    if (halted(scores))
        return {};
    std::array<Tensor, 6> kept;
    routing.indices = choose(scores, kept);
    if (halted(routing.indices))
        return {};
    Tensor weights = gather(scores, routing.indices);
    Tensor denominator;
    if (m_normalises) {
        {
            const Tensor sum = sumOver(weights, 1, true);
            denominator = addNumber(sum);
        }
        divideInPlace(weights, denominator);
    }
    weights = mulNumber(weights); // * routed_scaling_factor
    routing.weights = weights;
    return routing;
}

void ScoringRouter::visit(ModuleVisitor &visitor)
{
    visitor.parameter(m_weight.weight, "mlp.gate");
    visitor.adaptable(m_weight);
    visitor.buffer(m_bias, "mlp.gate");
}

ScoredMoeBlock::ScoredMoeBlock(const Builder &builder, const ModelConfig &c)
    : m_experts(builder, c)
    , m_router(builder, c)
    , m_shared(builder, c, c.sharedExpertIntermediateSize, sharedNames)
{}

Tensor ScoredMoeBlock::forward(const Tensor &input) const
{
    if (halted(input))
        return {};
    Tape::Scope scope(*input->tape, "mlp");
    const Routing routing = m_router.forward(input); // the logits live as long as this function
    Tensor hidden = view(input, {checkedMultiply(input.size(0), input.size(1)), input.size(2)});
    hidden = m_experts.forward(hidden, routing);
    if (halted(hidden))
        return {};
    hidden = view(hidden, input.sizes());
    hidden = add(hidden, m_shared.forward(input));
    return hidden;
}

void ScoredMoeBlock::visit(ModuleVisitor &visitor)
{
    m_experts.visit(visitor);
    m_router.visit(visitor);
    m_shared.visit(visitor);
}

} // namespace headroom::network
