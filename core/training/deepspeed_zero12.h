// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/training/deepspeed_common.h"
#include "core/training/deepspeed_partition.h"

#include <unordered_map>

namespace headroom::training::deepspeed {

/// ZeRO stages 1 and 2 (deepspeed/runtime/zero/stage_1_and_2.py): whole 16-bit parameters in one flat buffer a group;
/// fp32 master copies and moments of the rank's partition; gradients reduced through buckets, in stage 2 as soon as they
/// are ready, in stage 1 after the last micro-batch's backward (or during it with overlapped communication).
class ZeroStage12 : public ShardingEngine
{
public:
    /// `rank`: runtime.rank; the worst is that whose partition touches most.
    ZeroStage12(Tape &tape, const Options &options, int stage, std::string rank);

    void load(network::CausalLm &model) override;
    void backward(const Tensor &loss, bool last) override;
    void step() override;

private:
    struct Group {
        explicit Group(const std::vector<Tensor> &ofParameters, std::int64_t ranks)
            : parameters(ofParameters)
            , partitioning(ofParameters, ranks)
        {}

        std::vector<Tensor> parameters;
        Partitioning partitioning;
        std::vector<std::size_t> owned; ///< parameters that the rank's partition touches
        Tensor flat;                    ///< all parameters, padded
        Tensor master;                  ///< the partition in fp32
        std::unique_ptr<Optimizer> optimizer;
        std::vector<Tensor> accumulated; ///< all_grad_tensors: of the owned parameters, between micro-batches
        std::vector<Tensor> averaged;    ///< what the step uses: of the owned parameters, then padding
        std::int64_t averagedPadding = 0;
    };
    struct Place {
        std::size_t group = 0, parameter = 0;
    };

    std::int64_t chooseRank(const std::string &rank) const;
    void flatten(Group &group);
    void gradientReady(const Tensor &parameter);
    void addToBucket(const Tensor &parameter, Place place);
    void reduceBucket();
    void average();
    void keepOwned(const Tensor &parameter);
    void afterBackward();
    void checkOverflow();
    Tensor gradientNorm(const Group &group);
    void stepGroup(Group &group);

    Tape &m_tape;
    Options m_options;
    bool m_partitionGradients;
    std::string m_rankChoice;
    std::int64_t m_rank = 0;
    std::vector<Group> m_groups;
    std::unordered_map<autograd::TensorImpl *, Place> m_places;

    bool m_last = true;            ///< gradient accumulation boundary
    std::vector<Tensor> m_buffers; ///< one IPG bucket, or two with overlapped communication
    std::size_t m_current = 0;     ///< the one being filled
    std::int64_t m_bucketElements = 0;
    std::vector<Place> m_bucket;   ///< whose gradients are in it
    Tensor m_gradientsInPartition; ///< grads_in_partition
    Tensor m_globalNorm;
};

} // namespace headroom::training::deepspeed
