// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/network/selective.h"

#include "core/plan/choices.h"

#include <algorithm>
#include <array>
#include <bitset>

namespace headroom::network {

namespace {

/// Fused attention: torchtitan's list (pytorch/torchtitan, torchtitan/models/llama3/infra/parallelize.py:
/// _op_sac_save_list) has these and others that nothing here runs. What the math kernel is made of is seen by itself.
bool isFusedAttention(std::string_view op)
{
    return op == "aten._scaled_dot_product_flash_attention.default" || op == "aten._scaled_dot_product_efficient_attention.default";
}

bool isLinear(std::string_view op)
{
    return op == "aten.mm.default" || op == "aten.addmm.default" || op == "bitsandbytes.gemm_4bit.default";
}

bool isExperts(std::string_view op) { return op == "aten._grouped_mm.default"; }

bool isActivation(std::string_view op)
{
    return op == "aten.silu.default" || op == "aten.gelu.default" || op == "aten.relu.default" || op == "aten.tanh.default";
}

/// The names of a plan's operators, in the order of choices::savedOperators.
class NamedOperators : public autograd::KeptResultPolicy
{
public:
    explicit NamedOperators(const std::vector<std::string> &names)
    {
        for (std::size_t i = 0; i < choices::savedOperators.size(); ++i)
            m_named[i] = std::find(names.begin(), names.end(), choices::savedOperators[i].value) != names.end();
    }

    bool considers(std::string_view op) const override { return keepsAnywhere(op) || (named(SavedOperator::Mlp) && isProduct(op)); }
    bool keeps(std::string_view op, std::string_view module) override
    {
        return keepsAnywhere(op) || module.starts_with("mlp") || module.starts_with("block_sparse_moe");
    }

private:
    static bool isProduct(std::string_view op) { return isLinear(op) || isExperts(op); }
    bool named(SavedOperator which) const { return m_named[static_cast<std::size_t>(which)]; }
    bool keepsAnywhere(std::string_view op) const
    {
        return (named(SavedOperator::Attention) && isFusedAttention(op)) || (named(SavedOperator::Linear) && isLinear(op)) ||
               (named(SavedOperator::Experts) && isExperts(op)) || (named(SavedOperator::Bmm) && op == "aten.bmm.default") ||
               (named(SavedOperator::Softmax) && (op == "aten._softmax.default" || op == "aten._safe_softmax.default")) ||
               (named(SavedOperator::Activation) && isActivation(op));
    }

    std::bitset<choices::savedOperators.size()> m_named;
};

/// torchtitan's selective_ac_option "op" (torchtitan/distributed/activation_checkpoint.py: _apply_op_sac): attention, and
/// every second aten.mm of a layer, the first among them.
class TorchtitanPolicy : public autograd::KeptResultPolicy
{
public:
    bool considers(std::string_view op) const override { return op == product || isFusedAttention(op); }
    bool keeps(std::string_view op, std::string_view) override { return op != product || ++m_products % 2 != 0; }

private:
    static constexpr std::string_view product = "aten.mm.default";
    int m_products = 0;
};

} // namespace

bool checkpointsLayers(Checkpointing checkpointing, const Selective &selective)
{
    return checkpointing == Checkpointing::Full ||
           (checkpointing == Checkpointing::Selective && selective.policy != SelectivePolicy::Megatron);
}

bool isCheckpointed(Checkpointing checkpointing, const Selective &selective, std::int64_t layer)
{
    return checkpointsLayers(checkpointing, selective) && layer % selective.every.value_or(1) == 0;
}

std::unique_ptr<autograd::KeptResultPolicy> makeKeptResultPolicy(const Selective &selective)
{
    if (selective.policy == SelectivePolicy::Torchtitan)
        return std::make_unique<TorchtitanPolicy>();
    if (!selective.operators.empty())
        return std::make_unique<NamedOperators>(selective.operators);
    return nullptr;
}

} // namespace headroom::network
