// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A stand-in for libnvidia-ml.so.1, beside stand_in_cuda.cpp: once a context is there, 300 MiB more are used.
//   STAND_IN_GPUS       how many (2)
//   STAND_IN_NVML_INIT  what nvmlInit returns (0)
#include <cstdio>
#include <cstdlib>

namespace {

int number(const char *name, int fallback)
{
    const char *text = std::getenv(name);
    return text != nullptr ? std::atoi(text) : fallback;
}

} // namespace

extern "C" {

struct StandInMemory {
    unsigned long long total, free, used;
};

int nvmlInit_v2() { return number("STAND_IN_NVML_INIT", 0); }
int nvmlShutdown() { return 0; }
const char *nvmlErrorString(int error) { return error == 18 ? "Driver/library version mismatch" : "stand-in error"; }
int nvmlSystemGetDriverVersion(char *text, unsigned length) { return std::snprintf(text, length, "580.65.06"), 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { return *count = static_cast<unsigned>(number("STAND_IN_GPUS", 2)), 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    return *device = reinterpret_cast<void *>(static_cast<unsigned long>(index) + 1), 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char *, void **device) { return *device = reinterpret_cast<void *>(1UL), 0; }
int nvmlDeviceGetName(void *, char *name, unsigned length) { return std::snprintf(name, length, "NVIDIA GeForce RTX 4090"), 0; }
int nvmlDeviceGetMemoryInfo(void *, StandInMemory *memory)
{
    memory->total = 24564ULL << 20;
    memory->used = (std::getenv("STAND_IN_CONTEXT") != nullptr ? 564ULL : 264ULL) << 20;
    memory->free = memory->total - memory->used;
    return 0;
}
int nvmlDeviceGetCudaComputeCapability(void *, int *major, int *minor) { return *major = 8, *minor = 9, 0; }

} // extern "C"
