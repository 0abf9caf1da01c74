// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Lets PyTorch run autograd over fake CUDA tensors on a machine without a GPU: a device guard that does nothing, and hooks
// that say that one CUDA device exists. dry_run/guard.py compiles and loads it; it is of no use elsewhere.
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace {

struct FakeCudaGuard final : c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::CUDA> {
    c10::DeviceIndex deviceCount() const noexcept override { return 1; }
    c10::Device getDevice() const override { return {c10::DeviceType::CUDA, 0}; }
    c10::Stream getStream(c10::Device) const noexcept override { return stream(); }
    c10::Stream getDefaultStream(c10::Device) const override { return stream(); }
    c10::Stream exchangeStream(c10::Stream given) const noexcept override { return given; }
    void record(void **, const c10::Stream &, const c10::DeviceIndex, const c10::EventFlag) const override {}
    void block(void *, const c10::Stream &) const override {}
    bool queryEvent(void *) const override { return true; }
    void destroyEvent(void *, const c10::DeviceIndex) const noexcept override {}

private:
    static c10::Stream stream() { return c10::Stream(c10::Stream::DEFAULT, c10::Device(c10::DeviceType::CUDA, 0)); }
};

} // namespace

// Called once PyTorch is imported: a build with CUDA has put its own guard there by then, which finds no device.
extern "C" void headroom_use_fake_cuda_guard()
{
    static const FakeCudaGuard guard;
    static const c10::impl::DeviceGuardImplRegistrar registrar(c10::DeviceType::CUDA, &guard);
}

namespace at {

struct FakeCudaHooks final : CUDAHooksInterface {
    explicit FakeCudaHooks(CUDAHooksArgs) {}
    void init() const override {}
    bool hasCUDA() const override { return true; }
    bool isAvailable() const override { return true; }
    bool isBuilt() const override { return true; }
    DeviceIndex deviceCount() const override { return 1; }
    DeviceIndex getCurrentDevice() const override { return 0; }
    bool hasPrimaryContext(DeviceIndex) const override { return true; }
};

// Preferred over the hooks that a build with CUDA registers later under the same name.
C10_REGISTER_CLASS_WITH_PRIORITY(CUDAHooksRegistry, CUDAHooks, c10::REGISTRY_PREFERRED, FakeCudaHooks)

} // namespace at
