// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/plan/fields.h"

/// Why a field has no effect in a plan, for people; empty where it has one. Each is named for what keeps the field from it.
namespace headroom::applicability {

std::string noAdapters(const TrainingPlan &plan);
std::string notQuantised(const TrainingPlan &plan);
std::string noMoments(const TrainingPlan &plan);
std::string notTorchOptimizer(const TrainingPlan &plan);
std::string steppedInBackward(const TrainingPlan &plan);
std::string nothingCheckpointed(const TrainingPlan &plan);
std::string nothingSelected(const TrainingPlan &plan);
std::string oneGpu(const TrainingPlan &plan);
std::string doesNotShard(const TrainingPlan &plan);
std::string noModelParallelism(const TrainingPlan &plan);
std::string noTensorParallelism(const TrainingPlan &plan);
std::string noPipeline(const TrainingPlan &plan);
std::string notDeepSpeed(const TrainingPlan &plan);
std::string noExplicitBucket(const TrainingPlan &plan);
std::string noGatherBucket(const TrainingPlan &plan);
std::string notStage3(const TrainingPlan &plan);
std::string notStage3OrAuto(const TrainingPlan &plan);
std::string noOverlap(const TrainingPlan &plan);
std::string notFsdp(const TrainingPlan &plan);
std::string notFsdp2(const TrainingPlan &plan);
std::string notDdp(const TrainingPlan &plan);
std::string nothingAccumulated(const TrainingPlan &plan);
std::string expandable(const TrainingPlan &plan);

} // namespace headroom::applicability
