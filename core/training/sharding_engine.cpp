// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/training/sharding_engine.h"

#include "core/training/deepspeed_zero0.h"
#include "core/training/deepspeed_zero12.h"
#include "core/training/deepspeed_zero3.h"

namespace headroom::training {

bool hasShardingEngine(const TrainingPlan &plan)
{
    const bool masterRecipe = plan.precision.recipe == Recipe::Bf16Master || plan.precision.recipe == Recipe::Fp16Master;
    return plan.parallel.engine == Engine::DeepSpeed || (plan.parallel.engine == Engine::None && masterRecipe);
}

std::unique_ptr<ShardingEngine> makeShardingEngine(autograd::Tape &tape, const TrainingPlan &plan, const ModelConfig &model)
{
    if (!hasShardingEngine(plan))
        return nullptr;
    const deepspeed::Options options = deepspeed::optionsOf(plan, model);
    const int stage = plan.parallel.engine == Engine::DeepSpeed ? plan.parallel.zeroStage.value_or(0) : 0;
    if (stage == 0)
        return std::make_unique<deepspeed::ZeroStage0>(tape, options);
    if (stage == 3)
        return std::make_unique<deepspeed::ZeroStage3>(tape, options);
    return std::make_unique<deepspeed::ZeroStage12>(tape, options, stage, plan.runtime.rank);
}

} // namespace headroom::training
