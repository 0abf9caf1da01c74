// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/network/builder.h"
#include "core/network/llama.h"
#include "core/network/visitor.h"

#include "core/model/model_config.h"

namespace headroom::network {

/// Which experts a token goes to, and with which weights.
struct Routing {
    Tensor weights; ///< [n, experts per token]
    Tensor indices; ///< [n, experts per token]
    Tensor logits;  ///< [n, experts]
};

/// Of the probabilities of all experts, [n, experts] in fp32, the largest are kept; then the probabilities are let go.
/// `normalises`: the weights are divided by their sum; `dtype`: what they are cast to.
Routing chooseExperts(Tensor probabilities, std::int64_t perToken, bool normalises, std::optional<DType> dtype);

/// Qwen2MoeSparseMoeBlock's expert for every token.
extern const MlpNames sharedExpertNames;
extern const LinearNames sharedExpertGateNames;

/// MixtralTopKRouter, Qwen2MoeTopKRouter ...: a softmax over all experts, of which the largest are kept.
struct TopKRouter {
    AdaptableParameter weight; ///< [experts, hidden]
    std::int64_t perToken;
    bool normalises; ///< the kept weights are divided by their sum
    bool castsBack;  ///< and returned in the logits' dtype (all but Mixtral)

    TopKRouter(const Builder &builder, const ModelConfig &config);
    Routing forward(const Tensor &hidden) const; ///< [n, hidden]
};

/// MixtralExperts and its likes as transformers runs them by default on CUDA: sorted by expert, one grouped product for
/// all (integrations/moe.py: grouped_mm_experts_forward). What it allocates does not depend on how tokens are routed.
struct Experts {
    AdaptableParameter gateUp;   ///< [experts, 2 * width, hidden]; gpt-oss: [experts, hidden, 2 * width]
    AdaptableParameter down;     ///< [experts, hidden, width]; gpt-oss: [experts, width, hidden]
    Tensor gateUpBias, downBias; ///< gpt-oss: [experts, 2 * width], [experts, hidden]; else undefined
    GatedActivation activation;
    const char *activationName = nullptr; ///< "mlp.experts.act_fn"

    Experts(const Builder &builder, const ModelConfig &config);
    Tensor forward(const Tensor &hidden, const Routing &routing) const; ///< [n, hidden] -> [n, hidden]

    void visit(ModuleVisitor &visitor);

private:
    Tensor gated(const Tensor &states) const;
    Tensor ligerForward(const Tensor &hidden, const Routing &routing, ActiveParameter &activeGateUp, ActiveParameter &activeDown) const;
};

} // namespace headroom::network
