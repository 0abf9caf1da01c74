// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/rules_sharding.h"

#include "core/estimate/rules_common.h"
#include "core/training/deepspeed_common.h"

namespace headroom {

using namespace autograd;
using namespace rules;
namespace ds = training::deepspeed;

namespace {

constexpr const char *group = "DeepSpeed";
constexpr const char *stage12 = "deepspeedai/DeepSpeed 0.19, runtime/zero/stage_1_and_2.py";
constexpr const char *stage3 = "deepspeedai/DeepSpeed 0.19, runtime/zero/stage3.py";
constexpr const char *partition = "deepspeedai/DeepSpeed 0.19, runtime/zero/partition_parameters.py";
constexpr const char *coordinator = "deepspeedai/DeepSpeed 0.19, runtime/zero/partitioned_param_coordinator.py";

TensorRule weight(std::string_view op)
{
    if (op == "aten.cat.default")
        return {group, "flat 16-bit parameters", "All parameters of a group are copied into one padded buffer and become views of it.",
                stage12};
    if (op == "aten._to_copy.default")
        return {group, "this rank's part of the parameters", "ZeRO-3 keeps a padded part of every trained parameter, all in one buffer.",
                stage3};
    if (op == ds::gatherName)
        return {group, "small parameters, kept whole", "Parameters up to the persistence threshold are gathered after each step and stay.",
                partition};
    return {group, "this rank's part of a frozen parameter", "ZeRO-3 cuts frozen parameters too, each into a buffer of its own.",
            partition};
}

TensorRule gradient(std::string_view op)
{
    if (op == "aten.zeros.default")
        return {group, "this rank's part of the gradients", "ZeRO-3 keeps one buffer for its parts of all gradients, for the whole run.",
                stage3};
    return {group, "gradients of this rank's partition",
            "ZeRO-1 and ZeRO-2 keep the averaged gradients of every parameter that their partition touches, whole, until the step has used "
            "them.",
            stage12};
}

TensorRule optimizer(const StorageRecord &s)
{
    const std::string_view op = s.op;
    if (op == "aten.zeros.default")
        return {"step counts", "step", "Fused Adam keeps a step count on the device: one 512-byte block for every tensor it updates.",
                adam};
    if (s.phase == TracePhase::Load && op != "aten.zeros_like.default")
        return {"master weights", "fp32 master copy",
                "The optimizer updates an fp32 copy of the trained parameters: of this rank's partition from ZeRO-1 on.", stage12};
    if (op == "aten.clone.default")
        return {"momentum", "momentum buffer", "SGD with momentum keeps one buffer as large as the master copy.", sgd};
    return {"moments", "exp_avg and exp_avg_sq", "Adam keeps two fp32 moments as large as the master copy, from the first step on.", adam};
}

TensorRule temporary(const StorageRecord &s)
{
    const std::string_view op = s.op;
    if (op == ds::bucketName)
        return {group, "gradient bucket",
                "Gradients are collected in a bucket of reduce_bucket_size elements, however small the model; two with overlapped "
                "communication.",
                stage12};
    if (op == ds::reductionName)
        return {group, "copy of the bucket for the reduction", "What is in the bucket is copied together once more to be reduced.",
                stage12};
    if (op == ds::gatherName)
        return {group, "gathered parameters",
                "Modules' parameters are gathered before use and ahead of it, up to stage3_prefetch_bucket_size elements.", coordinator};
    if (op == ds::gatherCopyName)
        return {group, "gathered parameters, copied out",
                "Parameters that were gathered together are each copied out of the common buffer when the first is needed.", partition};
    if (s.phase == TracePhase::Optimizer && s.dtype == DType::Float64)
        return {group, "gradients in fp64 for the norm", "The norm of each gradient is taken in fp64, one after the other.", stage12};
    if (s.phase == TracePhase::Optimizer && s.dtype == DType::Float32 && s.shape.rank() > 0)
        return {group, "fp32 gradients of the step", "The optimizer steps on an fp32 copy of the group's gradients.", stage12};
    if (s.phase == TracePhase::Optimizer && s.shape.rank() > 0)
        return {group, "gradients of the step, laid together",
                "The group's gradients are copied into one buffer before they are cast to fp32.", stage12};
    return {group, "norms and flags", "Numbers of a few bytes: loss scale, norms, overflow flags.", stage12};
}

} // namespace

bool madeByEngine(const StorageRecord &storage) { return std::string_view(storage.module) == ds::moduleName; }

TensorRule deepSpeedRule(const StorageRecord &s, Component component)
{
    switch (component) {
    case Component::Weights: return weight(s.op);
    case Component::Gradients: return gradient(s.op);
    case Component::Optimizer: return optimizer(s);
    case Component::Activations:
    case Component::Temporary: break;
    }
    return temporary(s);
}

} // namespace headroom
