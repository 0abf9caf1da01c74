// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-probe/driver.h"

#include "core/units/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace headroom::probe {

namespace {

std::string libraryName(const char *variable, const char *name)
{
    const char *given = std::getenv(variable);
    return given != nullptr && *given != '\0' ? given : name;
}

Issue missing(const char *library, const char *function)
{
    return {{}, 0, library, fmt::format("has no function {}", function), "the driver is too old or not NVIDIA's: install a newer one"};
}

constexpr const char *cudaLibrary = "libcuda.so.1";
constexpr const char *nvmlLibrary = "libnvidia-ml.so.1";

// cuda.h: CUresult
constexpr int cudaNoDevice = 100, cudaOutOfMemory = 2, cudaMismatch = 803, cudaCompatNotSupported = 804;
// nvml.h: nvmlReturn_t
constexpr int nvmlDriverNotLoaded = 9, nvmlLibraryMismatch = 18;
// cuda.h: CUdevice_attribute
constexpr int attributeMajor = 75, attributeMinor = 76;

} // namespace

// --- NVML ------------------------------------------------------------------------------------------------------------------

struct Nvml::Functions {
    using Device = void *;
    struct Memory {
        unsigned long long total, free, used; // nvmlMemory_t
    };
    explicit Functions(Library loaded)
        : library(std::move(loaded))
    {}
    Functions(const Functions &) = delete;
    Functions &operator=(const Functions &) = delete;
    ~Functions()
    {
        if (initialised)
            shutdown();
    }

    Issue failed(const char *what, int status) const
    {
        const char *text = errorString != nullptr ? errorString(status) : nullptr;
        std::string hint = "nvidia-smi may say more";
        if (status == nvmlLibraryMismatch)
            hint = "the driver was updated while the system ran: restart the machine";
        else if (status == nvmlDriverNotLoaded)
            hint = "the driver's kernel module is not loaded: is there an NVIDIA GPU in this machine?";
        return {{}, 0, nvmlLibrary, fmt::format("{} failed: {}", what, text != nullptr ? text : fmt::format("error {}", status)), hint};
    }

    Library library;
    bool initialised = false;
    int (*init)() = nullptr;
    int (*shutdown)() = nullptr;
    const char *(*errorString)(int) = nullptr;
    int (*driverVersion)(char *, unsigned) = nullptr;
    int (*count)(unsigned *) = nullptr;
    int (*byIndex)(unsigned, Device *) = nullptr;
    int (*byBusId)(const char *, Device *) = nullptr;
    int (*name)(Device, char *, unsigned) = nullptr;
    int (*memory)(Device, Memory *) = nullptr;
    int (*capability)(Device, int *, int *) = nullptr;
};

Result<Nvml> Nvml::open()
{
    Result<Library> library = Library::load(libraryName("HEADROOM_TEST_NVML_LIBRARY", nvmlLibrary));
    if (!library)
        return library.issue();
    auto functions = std::make_shared<Functions>(*library);
    const char *absent = nullptr;
    const auto find = [&](auto &function, const char *symbol) {
        function = functions->library.find<std::remove_pointer_t<std::remove_reference_t<decltype(function)>>>(symbol);
        if (function == nullptr)
            absent = symbol;
    };
    find(functions->init, "nvmlInit_v2");
    find(functions->shutdown, "nvmlShutdown");
    find(functions->errorString, "nvmlErrorString");
    find(functions->driverVersion, "nvmlSystemGetDriverVersion");
    find(functions->count, "nvmlDeviceGetCount_v2");
    find(functions->byIndex, "nvmlDeviceGetHandleByIndex_v2");
    find(functions->byBusId, "nvmlDeviceGetHandleByPciBusId_v2");
    find(functions->name, "nvmlDeviceGetName");
    find(functions->memory, "nvmlDeviceGetMemoryInfo");
    find(functions->capability, "nvmlDeviceGetCudaComputeCapability");
    if (absent != nullptr)
        return missing(nvmlLibrary, absent);
    if (const int status = functions->init(); status != 0)
        return functions->failed("nvmlInit", status);
    functions->initialised = true;
    std::array<char, 81> version{};
    if (const int status = functions->driverVersion(version.data(), version.size() - 1); status != 0)
        return functions->failed("nvmlSystemGetDriverVersion", status);
    Nvml nvml(std::move(functions));
    nvml.m_driverVersion = version.data();
    return nvml;
}

Result<std::vector<DeviceInfo>> Nvml::devices() const
{
    unsigned count = 0;
    if (const int status = m_functions->count(&count); status != 0)
        return m_functions->failed("nvmlDeviceGetCount", status);
    std::vector<DeviceInfo> devices;
    for (unsigned i = 0; i < std::min(count, 1024U); ++i) {
        Functions::Device device = nullptr;
        if (const int status = m_functions->byIndex(i, &device); status != 0)
            return m_functions->failed("nvmlDeviceGetHandleByIndex", status);
        DeviceInfo info;
        info.index = static_cast<int>(i);
        std::array<char, 97> name{};
        Functions::Memory memory{};
        if (const int status = m_functions->name(device, name.data(), name.size() - 1); status != 0)
            return m_functions->failed("nvmlDeviceGetName", status);
        if (const int status = m_functions->memory(device, &memory); status != 0)
            return m_functions->failed("nvmlDeviceGetMemoryInfo", status);
        if (const int status = m_functions->capability(device, &info.computeMajor, &info.computeMinor); status != 0)
            return m_functions->failed("nvmlDeviceGetCudaComputeCapability", status);
        info.name = excerpt(name.data(), 96);
        info.capacity = Bytes{static_cast<std::int64_t>(memory.total)};
        info.free = Bytes{static_cast<std::int64_t>(memory.free)};
        devices.push_back(std::move(info));
    }
    return devices;
}

Result<Bytes> Nvml::usedOf(const std::string &busId) const
{
    Functions::Device device = nullptr;
    Functions::Memory memory{};
    if (const int status = m_functions->byBusId(busId.c_str(), &device); status != 0)
        return m_functions->failed("nvmlDeviceGetHandleByPciBusId", status);
    if (const int status = m_functions->memory(device, &memory); status != 0)
        return m_functions->failed("nvmlDeviceGetMemoryInfo", status);
    return Bytes{static_cast<std::int64_t>(memory.used)};
}

// --- CUDA ------------------------------------------------------------------------------------------------------------------

struct CudaFunctions {
    explicit CudaFunctions(Library loaded)
        : library(std::move(loaded))
    {}

    Issue failed(const char *what, int status) const
    {
        const char *text = nullptr;
        if (errorString(status, &text) != 0 || text == nullptr)
            text = "unknown error";
        std::string hint = "nvidia-smi may say more";
        if (status == cudaMismatch || status == cudaCompatNotSupported)
            hint = "the driver was updated while the system ran, or does not fit its library: restart the machine";
        else if (status == cudaNoDevice)
            hint = "is CUDA_VISIBLE_DEVICES set, or the GPU not given to this container?";
        else if (status == cudaOutOfMemory)
            hint = "other programs hold the GPU's memory: end them, or choose another GPU with --gpu";
        return {{}, 0, cudaLibrary, fmt::format("{} failed: {} (error {})", what, text, status), hint};
    }

    Library library;
    int (*init)(unsigned) = nullptr;
    int (*errorString)(int, const char **) = nullptr;
    int (*version)(int *) = nullptr;
    int (*count)(int *) = nullptr;
    int (*device)(int *, int) = nullptr;
    int (*name)(char *, int, int) = nullptr;
    int (*total)(std::size_t *, int) = nullptr;
    int (*attribute)(int *, int, int) = nullptr;
    int (*busId)(char *, int, int) = nullptr;
    int (*retain)(void **, int) = nullptr;
    int (*release)(int) = nullptr;
    int (*setCurrent)(void *) = nullptr;
    int (*memoryInfo)(std::size_t *, std::size_t *) = nullptr;
    int (*allocate)(unsigned long long *, std::size_t) = nullptr;
    int (*free)(unsigned long long) = nullptr;
};

Result<Cuda> Cuda::open()
{
    Result<Library> library = Library::load(libraryName("HEADROOM_TEST_CUDA_LIBRARY", cudaLibrary));
    if (!library)
        return library.issue();
    auto functions = std::make_shared<CudaFunctions>(*library);
    const char *absent = nullptr;
    const auto find = [&](auto &function, const char *symbol) {
        function = functions->library.find<std::remove_pointer_t<std::remove_reference_t<decltype(function)>>>(symbol);
        if (function == nullptr)
            absent = symbol;
    };
    find(functions->init, "cuInit");
    find(functions->errorString, "cuGetErrorString");
    find(functions->version, "cuDriverGetVersion");
    find(functions->count, "cuDeviceGetCount");
    find(functions->device, "cuDeviceGet");
    find(functions->name, "cuDeviceGetName");
    find(functions->total, "cuDeviceTotalMem_v2");
    find(functions->attribute, "cuDeviceGetAttribute");
    find(functions->busId, "cuDeviceGetPCIBusId");
    find(functions->retain, "cuDevicePrimaryCtxRetain");
    find(functions->release, "cuDevicePrimaryCtxRelease_v2");
    find(functions->setCurrent, "cuCtxSetCurrent");
    find(functions->memoryInfo, "cuMemGetInfo_v2");
    find(functions->allocate, "cuMemAlloc_v2");
    find(functions->free, "cuMemFree_v2");
    if (absent != nullptr)
        return missing(cudaLibrary, absent);
    if (const int status = functions->init(0); status != 0)
        return functions->failed("cuInit", status);
    Cuda cuda(functions);
    if (const int status = functions->version(&cuda.m_version); status != 0)
        return functions->failed("cuDriverGetVersion", status);
    if (const int status = functions->count(&cuda.m_count); status != 0)
        return functions->failed("cuDeviceGetCount", status);
    return cuda;
}

std::string Cuda::version() const { return fmt::format("{}.{}", m_version / 1000, m_version % 1000 / 10); }

Result<std::unique_ptr<Cuda::Context>> Cuda::context(int index) const
{
    if (index < 0 || index >= m_count)
        return Issue{{},
                     0,
                     fmt::format("--gpu {}", index),
                     m_count == 0 ? "there is no GPU" : fmt::format("there are GPUs 0 to {}", m_count - 1),
                     m_count == 0 ? "is CUDA_VISIBLE_DEVICES set, or the GPU not given to this container?" : "choose one of them"};
    std::unique_ptr<Context> context(new Context);
    context->m_functions = m_functions;
    DeviceInfo &info = context->m_device;
    info.index = index;
    std::array<char, 257> text{};
    std::size_t bytes = 0;
    if (const int status = m_functions->device(&context->m_handle, index); status != 0)
        return m_functions->failed("cuDeviceGet", status);
    if (const int status = m_functions->name(text.data(), static_cast<int>(text.size()) - 1, context->m_handle); status != 0)
        return m_functions->failed("cuDeviceGetName", status);
    info.name = excerpt(text.data(), 96);
    if (const int status = m_functions->total(&bytes, context->m_handle); status != 0)
        return m_functions->failed("cuDeviceTotalMem", status);
    info.capacity = Bytes{static_cast<std::int64_t>(bytes)};
    m_functions->attribute(&info.computeMajor, attributeMajor, context->m_handle);
    m_functions->attribute(&info.computeMinor, attributeMinor, context->m_handle);
    text.fill('\0');
    if (const int status = m_functions->busId(text.data(), static_cast<int>(text.size()) - 1, context->m_handle); status != 0)
        return m_functions->failed("cuDeviceGetPCIBusId", status);
    context->m_busId = text.data();
    return context;
}

std::optional<Issue> Cuda::Context::enter()
{
    void *handle = nullptr;
    if (const int status = m_functions->retain(&handle, m_handle); status != 0)
        return m_functions->failed("cuDevicePrimaryCtxRetain", status);
    m_entered = true;
    if (const int status = m_functions->setCurrent(handle); status != 0)
        return m_functions->failed("cuCtxSetCurrent", status);
    return std::nullopt;
}

Cuda::Context::~Context()
{
    for (const std::uint64_t address : m_alive)
        m_functions->free(address);
    if (m_entered)
        m_functions->release(m_handle);
}

Result<Bytes> Cuda::Context::free() const
{
    std::size_t free = 0, total = 0;
    if (const int status = m_functions->memoryInfo(&free, &total); status != 0)
        return m_functions->failed("cuMemGetInfo", status);
    return Bytes{static_cast<std::int64_t>(free)};
}

Result<std::uint64_t> Cuda::Context::allocate(Bytes bytes)
{
    unsigned long long address = 0;
    if (const int status = m_functions->allocate(&address, static_cast<std::size_t>(bytes.value)); status != 0)
        return m_functions->failed("cuMemAlloc", status);
    m_alive.push_back(address);
    return static_cast<std::uint64_t>(address);
}

std::optional<Issue> Cuda::Context::release(std::uint64_t address)
{
    m_alive.erase(std::remove(m_alive.begin(), m_alive.end(), address), m_alive.end());
    if (const int status = m_functions->free(address); status != 0)
        return m_functions->failed("cuMemFree", status);
    return std::nullopt;
}

} // namespace headroom::probe
