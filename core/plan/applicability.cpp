// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/applicability.h"

namespace headroom::applicability {

namespace {

std::string reasonIf(bool applies, std::string_view reason) { return applies ? std::string() : std::string(reason); }

} // namespace

std::string noAdapters(const TrainingPlan &plan)
{
    return reasonIf(plan.method.kind != MethodKind::Full, HEADROOM_TR("full fine-tuning has no adapters"));
}
std::string notQuantised(const TrainingPlan &plan)
{
    return reasonIf(plan.method.kind == MethodKind::Qlora, HEADROOM_TR("only QLoRA quantises the base"));
}
std::string noMoments(const TrainingPlan &plan)
{
    return reasonIf(plan.optimizer.kind != OptimizerKind::Sgd, HEADROOM_TR("plain SGD keeps no moments"));
}
std::string notTorchOptimizer(const TrainingPlan &plan)
{
    return reasonIf(plan.optimizer.kind <= OptimizerKind::SgdMomentum,
                    HEADROOM_TR("only torch's AdamW, Adam and SGD come in several implementations"));
}
std::string steppedInBackward(const TrainingPlan &plan)
{
    return reasonIf(!plan.optimizer.inBackward, HEADROOM_TR("stepping inside backward frees each gradient at once"));
}
std::string nothingCheckpointed(const TrainingPlan &plan)
{
    return reasonIf(plan.checkpointing != Checkpointing::None, HEADROOM_TR("nothing is checkpointed"));
}
std::string nothingSelected(const TrainingPlan &plan)
{
    return reasonIf(plan.checkpointing == Checkpointing::Selective, HEADROOM_TR("checkpointing is not selective"));
}
std::string oneGpu(const TrainingPlan &plan)
{
    return reasonIf(plan.parallel.engine != Engine::None, HEADROOM_TR("one GPU: choose an engine first"));
}
std::string doesNotShard(const TrainingPlan &plan)
{
    if (plan.parallel.engine == Engine::Ddp)
        return std::string(HEADROOM_TR("DDP shards nothing"));
    return oneGpu(plan);
}
std::string noModelParallelism(const TrainingPlan &plan)
{
    if (plan.parallel.engine == Engine::Ddp || plan.parallel.engine == Engine::DeepSpeed || plan.parallel.engine == Engine::Fsdp1)
        return std::string(HEADROOM_TR("only Megatron-LM and FSDP 2 split the model this way"));
    return oneGpu(plan);
}
std::string noTensorParallelism(const TrainingPlan &plan)
{
    return reasonIf(plan.parallel.tensor > 1, HEADROOM_TR("needs tensor parallelism"));
}
std::string noPipeline(const TrainingPlan &plan) { return reasonIf(plan.parallel.pipeline > 1, HEADROOM_TR("needs pipeline parallelism")); }
std::string notDeepSpeed(const TrainingPlan &plan)
{
    return reasonIf(plan.parallel.engine == Engine::DeepSpeed, HEADROOM_TR("a setting of DeepSpeed"));
}
std::string noExplicitBucket(const TrainingPlan &plan)
{
    if (plan.parallel.engine == Engine::DeepSpeed && plan.parallel.bucketSizes == BucketSizes::Auto)
        return std::string(HEADROOM_TR("bucket sizes come from the hidden size"));
    return notDeepSpeed(plan);
}
std::string noGatherBucket(const TrainingPlan &plan)
{
    if (plan.parallel.engine == Engine::DeepSpeed && plan.parallel.zeroStage == 3)
        return std::string(HEADROOM_TR("stage 3 gathers parameter by parameter"));
    return notDeepSpeed(plan);
}
std::string notStage3(const TrainingPlan &plan)
{
    return reasonIf(plan.parallel.engine == Engine::DeepSpeed && plan.parallel.zeroStage == 3,
                    HEADROOM_TR("a setting of DeepSpeed's stage 3"));
}
std::string notStage3OrAuto(const TrainingPlan &plan)
{
    const std::string reason = notStage3(plan);
    return reason.empty() ? noExplicitBucket(plan) : reason;
}
std::string noOverlap(const TrainingPlan &plan)
{
    return reasonIf(plan.parallel.engine == Engine::DeepSpeed || plan.parallel.engine == Engine::Megatron,
                    HEADROOM_TR("a setting of DeepSpeed and Megatron-LM"));
}
std::string notFsdp(const TrainingPlan &plan)
{
    return reasonIf(plan.parallel.engine == Engine::Fsdp1 || plan.parallel.engine == Engine::Fsdp2, HEADROOM_TR("a setting of FSDP"));
}
std::string notFsdp2(const TrainingPlan &plan)
{
    return reasonIf(plan.parallel.engine == Engine::Fsdp2, HEADROOM_TR("a setting of FSDP 2"));
}
std::string notDdp(const TrainingPlan &plan) { return reasonIf(plan.parallel.engine == Engine::Ddp, HEADROOM_TR("a setting of DDP")); }
std::string nothingAccumulated(const TrainingPlan &plan)
{
    if (plan.batch.gradientAccumulation == 1)
        return std::string(HEADROOM_TR("nothing is accumulated: every micro-batch is reduced"));
    return oneGpu(plan);
}
std::string expandable(const TrainingPlan &plan)
{
    return reasonIf(!plan.runtime.expandableSegments, HEADROOM_TR("expandable segments grow instead of being split"));
}

} // namespace headroom::applicability
