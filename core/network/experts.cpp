// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// transformers 5.24: integrations/moe.py, models/mixtral/modeling_mixtral.py, models/qwen3_moe/modeling_qwen3_moe.py ...
#include "core/network/experts.h"

#include "core/autograd/operators_liger.h"

namespace headroom::network {

using namespace autograd;

const MlpNames sharedExpertNames{
    "mlp.shared_expert",
    "mlp.shared_expert.act_fn",
    HEADROOM_LINEAR_NAMES("mlp.shared_expert.gate_proj"),
    HEADROOM_LINEAR_NAMES("mlp.shared_expert.up_proj"),
    HEADROOM_LINEAR_NAMES("mlp.shared_expert.down_proj"),
};
namespace {

constexpr ParameterNames gateNames{"mlp.gate", "mlp.gate.weight", "mlp.gate.lora_A", "mlp.gate.lora_B"};
constexpr ParameterNames gateUpNames{"mlp.experts", "mlp.experts.gate_up_proj", "mlp.experts.lora_A", "mlp.experts.lora_B"};
constexpr ParameterNames downNames{"mlp.experts", "mlp.experts.down_proj", "mlp.experts.lora_A", "mlp.experts.lora_B"};
constexpr ParameterNames graniteGateUpNames{"block_sparse_moe.experts", "block_sparse_moe.experts.gate_up_proj",
                                            "block_sparse_moe.experts.lora_A", "block_sparse_moe.experts.lora_B"};
constexpr ParameterNames graniteDownNames{"block_sparse_moe.experts", "block_sparse_moe.experts.down_proj",
                                          "block_sparse_moe.experts.lora_A", "block_sparse_moe.experts.lora_B"};

} // namespace

const LinearNames sharedExpertGateNames = HEADROOM_LINEAR_NAMES("mlp.shared_expert_gate");

Routing chooseExperts(Tensor probabilities, std::int64_t perToken, bool normalises, std::optional<DType> dtype)
{
    TopK largest = topK(probabilities, perToken);
    probabilities.reset();
    if (normalises) {
        const Tensor sum = sumOver(largest.values, 1, true);
        divideInPlace(largest.values, sum);
    }
    if (dtype && !halted(largest.values))
        largest.values = to(largest.values, *dtype);
    return {std::move(largest.values), std::move(largest.indices), {}};
}

TopKRouter::TopKRouter(const Builder &builder, const ModelConfig &c)
    : perToken(c.expertsPerToken)
    , normalises(c.normalisesExperts)
    , castsBack(c.modelType != "mixtral")
{
    Tape::Scope scope(builder.tape(), "mlp.gate");
    weight.names = gateNames;
    weight.weight = builder.parameter({c.experts, c.hiddenSize}, castsBack ? "aten.zeros.default" : "aten.empty.memory_format");
}

Routing TopKRouter::forward(const Tensor &hidden) const
{
    if (halted(hidden))
        return {};
    ActiveParameter active(weight);
    Tape::Scope scope(*hidden->tape, "mlp.gate");
    const Tensor logits = linear(reshape(hidden, hidden.sizes()), active.weight());
    // Mixtral casts before the softmax, the others within it: autocast needs no copy for that. The probabilities stay to the end.
    const Tensor probabilities = castsBack ? softmax(logits, DType::Float32) : softmax(to(logits, DType::Float32));
    Routing routing = chooseExperts(probabilities, perToken, normalises, castsBack ? std::optional(logits.dtype()) : std::nullopt);
    routing.logits = logits;
    return routing;
}

Experts::Experts(const Builder &builder, const ModelConfig &c)
    : activation{activationOf(c.hiddenActivation).value_or(Activation::Silu)}
{
    const bool granite = c.modelType.starts_with("granitemoe");
    gateUp.names = granite ? graniteGateUpNames : gateUpNames;
    down.names = granite ? graniteDownNames : downNames;
    activationName = granite ? "block_sparse_moe.experts.act_fn" : "mlp.experts.act_fn";
    Tape::Scope scope(builder.tape(), gateUp.names.module);
    const std::int64_t width = c.expertIntermediateSize, both = checkedMultiply(2, width);
    if (c.modelType != "gpt_oss") {
        gateUp.weight = builder.parameter({c.experts, both, c.hiddenSize});
        down.weight = builder.parameter({c.experts, c.hiddenSize, width});
        return;
    }
    gateUp.transposed = down.transposed = true;
    gateUp.weight = builder.parameter({c.experts, c.hiddenSize, both});
    gateUpBias = builder.parameter({c.experts, both});
    down.weight = builder.parameter({c.experts, width, c.hiddenSize});
    downBias = builder.parameter({c.experts, c.hiddenSize});
}

void Experts::visit(ModuleVisitor &visitor)
{
    const char *module = gateUp.names.module;
    visitor.parameter(gateUp.weight, module);
    if (gateUpBias)
        visitor.parameter(gateUpBias, module);
    visitor.parameter(down.weight, module);
    if (downBias)
        visitor.parameter(downBias, module);
    visitor.adaptable(gateUp);
    visitor.adaptable(down);
    if (!gateUp.transposed)
        visitor.activation(activation);
}

namespace {

/// _grouped_linear
Tensor groupedLinear(const Tensor &x, const Tensor &weight, const Tensor &bias, const Tensor &offsets, bool transposed)
{
    if (halted(x) || !weight)
        return {};
    Tensor out = groupedMm(to(x, weight.dtype()), transposed ? weight : transpose(weight, 1, 2), offsets);
    if (bias)
        addInPlace(out, bias);
    return out;
}

} // namespace

/// _apply_gate: act_fn(gate) * up; gpt-oss: (up + 1) * gate * sigmoid(alpha * gate), both clamped
Tensor Experts::gated(const Tensor &states) const
{
    if (halted(states))
        return {};
    if (gateUpBias) {
        Tensor gate = everySecond(states), up = everySecond(states);
        gate = clamp(gate, false);
        up = clamp(up, true);
        Tensor product;
        {
            const Tensor opened = sigmoid(mulNumber(gate));
            product = mul(gate, opened);
        }
        const Tensor shifted = addNumber(up);
        return mul(shifted, product);
    }
    const std::vector<Tensor> halves = chunkLast(states, 2);
    Tensor activated;
    if (!halted(halves[0])) {
        Tape::Scope inActivation(*states->tape, activationName);
        activated = activate(activation.function, halves[0]);
    }
    return mul(activated, halves[1]);
}

Tensor Experts::forward(const Tensor &hidden, const Routing &routing) const
{
    if (halted(hidden) || !routing.weights || !routing.indices)
        return {};
    Tape &tape = *hidden->tape;
    ActiveParameter activeDown(down), activeGateUp(gateUp); // the wrapper made last is the outermost
    Tape::Scope scope(tape, gateUp.names.module);
    if (activation.liger)
        return ligerForward(hidden, routing, activeGateUp, activeDown);
    const std::int64_t tokens = hidden.size(0), perToken = routing.indices.size(1), pairs = checkedMultiply(tokens, perToken);
    const std::int64_t experts = gateUp.experts();

    const Tensor weights = reshape(routing.weights, {pairs});
    const Tensor sortedIds = tape.empty({pairs}, DType::Int64, "aten.sort.default");
    const Tensor order = tape.empty({pairs}, DType::Int64, "aten.sort.default");
    Tensor selected; // hidden_states[perm // num_top_k]
    {
        const Tensor token = tape.empty({pairs}, DType::Int64, "aten.floor_divide.default");
        selected = indexRows(hidden, token);
    }
    const Tensor sortedWeights = indexRows(weights, order);
    if (halted(sortedWeights))
        return {};
    const Tensor counted = tape.empty({pairs}, DType::Int32, "aten._to_copy.default");
    const Tensor perExpert = tape.empty({experts}, DType::Int32, "aten.histc.default");
    const Tensor offsets = tape.empty({experts}, DType::Int32, "aten.cumsum.default");

    Tensor biases = gateUpBias ? indexRows(gateUpBias, sortedIds) : Tensor(); // a row of its expert's for every pair
    Tensor states = groupedLinear(selected, activeGateUp.weight(), biases, offsets, gateUp.transposed);
    states = gated(states);
    if (downBias)
        biases = indexRows(downBias, sortedIds);
    states = groupedLinear(states, activeDown.weight(), biases, offsets, down.transposed);
    Tensor weighted = mul(states, halted(states) ? Tensor() : unsqueeze(sortedWeights, 1));
    if (halted(weighted))
        return {};
    const Tensor inverse = tape.empty({pairs}, DType::Int64, "aten.empty_like.default");
    {
        const Tensor range = tape.empty({pairs}, DType::Int64, "aten.arange.default");
    }
    weighted = indexRows(weighted, inverse);
    if (halted(weighted))
        return {};
    const Tensor summed = sumOver(view(weighted, {tokens, perToken, hidden.size(1)}), 1, false);
    return to(summed, hidden.dtype());
}

/// LigerExperts.forward
Tensor Experts::ligerForward(const Tensor &hidden, const Routing &routing, ActiveParameter &activeGateUp, ActiveParameter &activeDown) const
{
    const Tensor rows = view(hidden, hidden.sizes());
    const Tensor indices = to(view(routing.indices, routing.indices.sizes()), DType::Int32);
    const Tensor weights = view(routing.weights, routing.weights.sizes());
    const Tensor &gateUpWeight = activeGateUp.weight(), &downWeight = activeDown.weight();
    const Tensor out = ligerExperts(rows, gateUpWeight, downWeight, weights, indices);
    return halted(out) ? Tensor() : view(out, hidden.sizes());
}

} // namespace headroom::network
