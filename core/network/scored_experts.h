// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/network/experts.h"

namespace headroom::network {

/// Glm4MoeTopkRouter, DeepseekV3TopkRouter: experts are scored by a sigmoid, chosen by score and bias within the best groups, and
/// weighted by score alone.
class ScoringRouter
{
public:
    ScoringRouter(const Builder &builder, const ModelConfig &config);
    Routing forward(const Tensor &hidden) const; ///< [B, S, hidden]
    void visit(ModuleVisitor &visitor);

private:
    /// Which experts a token goes to: of those in the best groups the ones with the largest sums of score and bias.
    Tensor choose(const Tensor &scores, std::array<Tensor, 6> &kept) const;

    AdaptableParameter m_weight; ///< [experts, hidden], in fp32 always
    Tensor m_bias;               ///< e_score_correction_bias, [experts]
    std::int64_t m_experts, m_perToken, m_groups, m_bestGroups;
    bool m_normalises;
};

/// Glm4MoeMoE, DeepseekV3MoE: routed experts and one for every token.
class ScoredMoeBlock
{
public:
    ScoredMoeBlock(const Builder &builder, const ModelConfig &config);
    Tensor forward(const Tensor &input) const;
    void visit(ModuleVisitor &visitor);

private:
    Experts m_experts;
    ScoringRouter m_router;
    LlamaMlp m_shared;
};

} // namespace headroom::network
