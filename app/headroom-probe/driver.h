// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/headroom-probe/library.h"
#include "core/units/bytes.h"
#include "core/units/result.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headroom::probe {

// NVIDIA's driver, asked through libcuda.so.1 and libnvidia-ml.so.1, which are loaded at run time: cuda.h and nvml.h say what
// each function takes (CUDA toolkit 12, cuda.h and nvml.h; names with _v2 are what the headers' macros stand for).
// For tests, HEADROOM_TEST_CUDA_LIBRARY and HEADROOM_TEST_NVML_LIBRARY of the environment name stand-ins.

/// A GPU as the driver describes it.
struct DeviceInfo {
    int index = 0; ///< NVML's, the one that nvidia-smi shows
    std::string name;
    Bytes capacity; ///< as nvidia-smi shows it
    Bytes free;
    int computeMajor = 0, computeMinor = 0;
};

/// NVML: what nvidia-smi shows. Ends NVML when it goes.
class Nvml
{
public:
    static Result<Nvml> open();

    const std::string &driverVersion() const { return m_driverVersion; }
    Result<std::vector<DeviceInfo>> devices() const;
    /// What all programs use of the GPU at this place ("0000:01:00.0"), what the driver keeps for itself included.
    Result<Bytes> usedOf(const std::string &busId) const;

private:
    struct Functions;
    explicit Nvml(std::shared_ptr<const Functions> functions)
        : m_functions(std::move(functions))
    {}
    std::shared_ptr<const Functions> m_functions;
    std::string m_driverVersion;
};

/// The driver itself.
class Cuda
{
public:
    static Result<Cuda> open();

    int count() const { return m_count; }
    std::string version() const; ///< of CUDA that the driver supports: "13.0"

    /// A context on one GPU, and memory within it. Everything is given back when it goes.
    class Context
    {
    public:
        ~Context();
        Context(const Context &) = delete;
        Context &operator=(const Context &) = delete;

        const DeviceInfo &device() const { return m_device; } ///< `index`: CUDA's
        const std::string &busId() const { return m_busId; }
        /// Makes the context current; whatever that takes is taken now.
        std::optional<Issue> enter();
        Result<Bytes> free() const;
        /// The address, or what the driver said.
        Result<std::uint64_t> allocate(Bytes bytes);
        std::optional<Issue> release(std::uint64_t address);

    private:
        friend class Cuda;
        Context() = default;
        std::shared_ptr<const struct CudaFunctions> m_functions;
        int m_handle = 0;
        bool m_entered = false;
        std::string m_busId;
        DeviceInfo m_device;
        std::vector<std::uint64_t> m_alive;
    };
    /// The GPU with CUDA's number `index`; nothing is taken from it before enter().
    Result<std::unique_ptr<Context>> context(int index) const;

private:
    explicit Cuda(std::shared_ptr<const struct CudaFunctions> functions)
        : m_functions(std::move(functions))
    {}
    std::shared_ptr<const struct CudaFunctions> m_functions;
    int m_count = 0, m_version = 0;
};

} // namespace headroom::probe
