// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/training/deepspeed_coordinator.h"
#include "core/training/deepspeed_modules.h"

namespace headroom::training::deepspeed {

/// ZeRO stage 3 (deepspeed/runtime/zero/stage3.py): each rank keeps its part of every parameter, of its gradient, master
/// copy and moments. Modules gather their parameters around their use; gradients go through one permanent bucket.
class ZeroStage3 : public ShardingEngine
{
public:
    ZeroStage3(Tape &tape, const Options &options);
    ~ZeroStage3() override;

    void load(network::CausalLm &model) override;
    void backward(const Tensor &loss, bool last) override;
    void step() override;

private:
    /// Parameters that the optimizer updates at once: at most sub_group_size elements of this rank's parts.
    struct SubGroup {
        std::vector<int> parameters;
        std::int64_t elements = 0; ///< of this rank's parts
        Tensor master;
        std::unique_ptr<Optimizer> optimizer;
    };

    void shard(const Tensor &parameter);
    void makeSubGroups(const std::vector<Tensor> &trainable);
    void gradientReady(const Tensor &parameter);
    void reduceBucket();
    void checkOverflow();
    Tensor gradientNorm(const SubGroup &group);
    void stepGroup(SubGroup &group);
    void gatherPersistent();

    Tape &m_tape;
    Options m_options;
    ParameterCoordinator m_coordinator;
    ModuleWrapper m_modules;
    std::unordered_map<autograd::TensorImpl *, int> m_ids;
    std::vector<SubGroup> m_groups;
    Tensor m_overflowFlag; ///< inf_or_nan_tracker
    Tensor m_flat;         ///< this rank's parts of the trained parameters
    Tensor m_gradients;    ///< this rank's parts of their gradients
    Tensor m_bucket;
    std::int64_t m_bucketElements = 0;
    std::vector<int> m_inBucket;
    Tensor m_globalNorm;
};

} // namespace headroom::training::deepspeed
