// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/outside.h"

#include "core/units/version.h"

namespace headroom {

std::vector<OutsideItem> outsideOfPyTorch(const TrainingPlan &plan, const Gpu *gpu)
{
    std::vector<OutsideItem> items;
    if (gpu && gpu->vendor != "NVIDIA")
        items.push_back(
            {"driver context and libraries (unknown for this vendor)", mib(500), mib(300), mib(500), "assumption; no measurement known"});
    else if (gpu && gpu->capacity < gib(38))
        items.push_back({"CUDA context, kernels loaded lazily", mib(390), mib(100), mib(120),
                         "386 MiB on a 24 GB card with torch 2.10 and CUDA 12.8, 471 MiB on an RTX 4090, 287 MB in pytorch/pytorch#86509"});
    else
        items.push_back({"CUDA context, kernels loaded lazily", mib(420), mib(100), mib(250),
                         "414 MiB on 80 GB cards (out-of-memory reports), 426 MiB on RTX 6000 Ada with torch 2.10 and CUDA 13.0"});
    if (plan.parallel.data > 1)
        items.push_back({"NCCL, one communicator", plan.parallel.data == 2 ? mib(342) : mib(392), mib(150), mib(150),
                         "342 MiB for 2 ranks, 392 MiB for 4 to 8 (ai-dynamo/aiconfigurator)"});
    return items;
}

Bytes total(const std::vector<OutsideItem> &items)
{
    Bytes sum;
    for (const OutsideItem &item : items)
        sum += item.bytes;
    return sum;
}

std::int64_t cublasWorkspaceBytes(const TrainingPlan &plan, const Gpu *gpu)
{
    if (plan.runtime.cublasWorkspaceBytes)
        return *plan.runtime.cublasWorkspaceBytes;
    const int major = gpu ? gpu->computeMajor : 8, minor = gpu ? gpu->computeMinor : 0;
    const bool hopper = major == 9 && minor == 0;
    const bool blackwell = (major == 10 || major == 12) && parseVersion(plan.runtime.torch) >= Version{2, 12};
    return hopper || blackwell ? 8 * (4096 << 10) : 2 * (4096 << 10) + 8 * (16 << 10);
}

} // namespace headroom
