// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/hardware/gpu.h"
#include "core/plan/training_plan.h"
#include "core/units/bytes.h"

#include <vector>

namespace headroom {

/// One thing that takes memory on the device and never shows in torch.cuda's figures.
struct OutsideItem {
    std::string what;
    Bytes bytes;
    Bytes lower, upper; ///< how far it may be off, downwards and upwards
    std::string source;
};

/// CUDA context and libraries, NCCL's buffers: assumptions from reported figures until a probe has measured them.
/// `gpu` null: an NVIDIA GPU of 40 GB and more.
std::vector<OutsideItem> outsideOfPyTorch(const TrainingPlan &plan, const Gpu *gpu);

Bytes total(const std::vector<OutsideItem> &items);

/// Bytes that one cuBLAS handle takes on this GPU (aten/src/ATen/cuda/CublasHandlePool.cpp: parseChosenWorkspaceSize):
/// 32 MiB on compute capability 9.0 and, from PyTorch 2.12 on, 10 and 12; 8.125 MiB otherwise.
std::int64_t cublasWorkspaceBytes(const TrainingPlan &plan, const Gpu *gpu);

} // namespace headroom
