// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/shape.h"
#include "core/autograd/trace.h"
#include "core/units/dtype.h"

#include <cassert>
#include <cstdint>
#include <utility>

/// PyTorch's tensors without data: a tensor has sizes, strides, a dtype and a storage; storages own the bytes.
/// A storage is released when the last tensor on it goes, so a handle's scope in model code mirrors the Python variable's.
namespace headroom::autograd {

class Tape;
struct Node;

/// What at::TensorImpl holds. Shared by handles; owned by the tape.
struct TensorImpl {
    Tape *tape = nullptr;
    std::uint32_t references = 0;
    StorageId storage = noStorage;
    Dims sizes, strides;
    DType dtype = DType::Float32;
    bool requiresGrad = false;
    std::uint8_t outputIndex = 0; ///< which output of gradFunction this is
    Node *gradFunction = nullptr; ///< null for leaves
    Node *accumulator = nullptr;  ///< AccumulateGrad of a leaf while some graph leads to it; not owned
    TensorImpl *base = nullptr;   ///< the tensor that a view looks into; a view keeps it alive
    TensorImpl *grad = nullptr;   ///< .grad of a leaf
};

/// A reference-counted handle, as at::Tensor is. Undefined when default-made.
class Tensor
{
public:
    Tensor() = default;
    explicit Tensor(TensorImpl *impl)
        : m_impl(impl)
    {
        acquire();
    }
    Tensor(const Tensor &other)
        : m_impl(other.m_impl)
    {
        acquire();
    }
    Tensor(Tensor &&other) noexcept
        : m_impl(std::exchange(other.m_impl, nullptr))
    {}
    Tensor &operator=(const Tensor &other)
    {
        Tensor copy(other);
        std::swap(m_impl, copy.m_impl);
        return *this;
    }
    Tensor &operator=(Tensor &&other) noexcept
    {
        release(std::exchange(m_impl, std::exchange(other.m_impl, nullptr)));
        return *this;
    }
    ~Tensor() { release(m_impl); }

    /// Lets go, as Python's `del`.
    void reset() { release(std::exchange(m_impl, nullptr)); }

    bool defined() const { return m_impl != nullptr; }
    explicit operator bool() const { return defined(); }
    TensorImpl *impl() const { return m_impl; }
    TensorImpl *operator->() const { return m_impl; }

    const Dims &sizes() const { return m_impl ? m_impl->sizes : emptyDims(); }
    const Dims &strides() const { return m_impl ? m_impl->strides : emptyDims(); }
    std::int64_t size(int i) const { return sizes()[i < 0 ? sizes().rank() + i : i]; }
    int rank() const { return sizes().rank(); }
    DType dtype() const { return m_impl ? m_impl->dtype : DType::Float32; }
    bool requiresGrad() const { return m_impl && m_impl->requiresGrad; }
    bool isLeaf() const { return m_impl && !m_impl->gradFunction; }

private:
    static const Dims &emptyDims();
    static void release(TensorImpl *impl)
    {
        assert(!impl || impl->references > 0);
        if (impl && --impl->references == 0)
            destroy(impl);
    }
    static void destroy(TensorImpl *impl);
    void acquire()
    {
        if (m_impl)
            ++m_impl->references;
    }

    TensorImpl *m_impl = nullptr;
};

} // namespace headroom::autograd
