// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A stand-in for libcuda.so.1: GPUs of which the environment says how many and how large. When the context is given back, it
// writes down what was taken from it and what is still held.
//   STAND_IN_GPUS       how many (2)
//   STAND_IN_INIT       what cuInit returns (0)
//   STAND_IN_FREE_MIB   free beside the context (24000)
//   STAND_IN_REFUSE_MIB allocations fail once so much is held, whatever is free
//   STAND_IN_LOG        file for "held N peak N allocations N"
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

namespace {

std::map<unsigned long long, std::size_t> held;
std::size_t sum = 0, peak = 0, allocations = 0;
unsigned long long next = 1 << 20;

long long number(const char *name, long long fallback)
{
    const char *text = std::getenv(name);
    return text != nullptr ? std::atoll(text) : fallback;
}

std::size_t freeBytes() { return static_cast<std::size_t>(number("STAND_IN_FREE_MIB", 24000)) << 20; }

} // namespace

extern "C" {

int cuInit(unsigned) { return static_cast<int>(number("STAND_IN_INIT", 0)); }
int cuGetErrorString(int error, const char **text)
{
    *text = error == 2     ? "out of memory"
            : error == 803 ? "system has unsupported display driver / cuda driver combination"
                           : "stand-in error";
    return 0;
}
int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
int cuDeviceGetCount(int *count) { return *count = static_cast<int>(number("STAND_IN_GPUS", 2)), 0; }
int cuDeviceGet(int *device, int index) { return *device = index, 0; }
int cuDeviceGetName(char *name, int length, int)
{
    return std::snprintf(name, static_cast<std::size_t>(length), "NVIDIA GeForce RTX 4090"), 0;
}
int cuDeviceTotalMem_v2(std::size_t *bytes, int) { return *bytes = std::size_t{24564} << 20, 0; }
int cuDeviceGetAttribute(int *value, int attribute, int) { return *value = attribute == 75 ? 8 : 9, 0; }
int cuDeviceGetPCIBusId(char *text, int length, int device)
{
    return std::snprintf(text, static_cast<std::size_t>(length), "0000:%02d:00.0", device), 0;
}
int cuDevicePrimaryCtxRetain(void **context, int)
{
    *context = &held;
    return setenv("STAND_IN_CONTEXT", "1", 1);
}
int cuDevicePrimaryCtxRelease_v2(int)
{
    if (const char *log = std::getenv("STAND_IN_LOG"))
        if (std::FILE *file = std::fopen(log, "w")) {
            std::fprintf(file, "held %zu peak %zu allocations %zu\n", sum, peak, allocations);
            std::fclose(file);
        }
    return 0;
}
int cuCtxSetCurrent(void *) { return 0; }
int cuMemGetInfo_v2(std::size_t *free, std::size_t *total)
{
    *free = freeBytes() - sum;
    *total = std::size_t{24564} << 20;
    return 0;
}
int cuMemAlloc_v2(unsigned long long *address, std::size_t bytes)
{
    const long long refuse = number("STAND_IN_REFUSE_MIB", -1);
    if (sum + bytes > freeBytes() || (refuse >= 0 && sum + bytes > static_cast<std::size_t>(refuse) << 20))
        return 2;
    *address = next;
    next += bytes;
    held[*address] = bytes;
    sum += bytes;
    peak = std::max(peak, sum);
    ++allocations;
    return 0;
}
int cuMemFree_v2(unsigned long long address)
{
    const auto at = held.find(address);
    if (at == held.end())
        return 1;
    sum -= at->second;
    held.erase(at);
    return 0;
}

} // extern "C"
