// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/network/experts.h"
#include "core/network/llama.h"
#include "core/units/version.h"

namespace headroom::network {

/// How a block of experts goes over them.
enum class ExpertLoop : std::uint8_t {
    Every,       ///< `for expert_idx in range(self.num_experts)`: up to transformers 4.51, and OLMoE
    ListOfHit,   ///< the numbers of those that tokens go to: 4.52
    TensorOfHit, ///< the same as a tensor, which indexes the mask: from 4.53 on
};

ExpertLoop expertLoop(const ModelConfig &config, Version transformers);

/// MixtralSparseMoeBlock, Qwen2MoeSparseMoeBlock, Qwen3MoeSparseMoeBlock, OlmoeSparseMoeBlock as transformers 4 has them: each
/// expert is a module with Linears of its own and computes the rows of the tokens that go to it. How many those are is up
/// to the router. Routing is taken to be balanced: all experts get the same number of rows, up to one.
class ExpertList
{
public:
    ExpertList(const Builder &builder, const ModelConfig &config, ExpertLoop loop);
    /// `routerLogits`: the second of what the block returns.
    Tensor forward(const Tensor &input, Tensor &routerLogits) const; ///< [B, S, h] -> [B, S, h]
    void visit(ModuleVisitor &visitor);

private:
    Tensor compute(const Tensor &hidden, const Routing &routing) const;
    Tensor addShared(Tensor output, const Tensor &hidden) const;

    const char *m_name;
    ExpertLoop m_loop;
    std::int64_t m_perToken;
    bool m_normalises;
    Linear m_gate;
    std::vector<LlamaMlp> m_experts;
    std::optional<LlamaMlp> m_shared;
    Linear m_sharedGate;
};

} // namespace headroom::network
