// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/shape.h"
#include "core/units/dtype.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace headroom::autograd {

/// Index of a storage in the trace.
using StorageId = std::uint32_t;
inline constexpr StorageId noStorage = UINT32_MAX;

/// What a storage is kept for. Decided when it becomes known: a gradient is born as an operator's output.
enum class Role : std::uint8_t { Temporary, Parameter, Gradient, OptimizerState, Input, EngineBuffer };

/// The parts of the loop, in the tracer's words.
enum class TracePhase : std::uint8_t { Load, Forward, Loss, Backward, Optimizer, Idle };

/// Sizes as a record keeps them: half as large as Dims, for there are many records. A size beyond 32 bits is cut to their
/// highest number; nothing is computed from it, it is shown to people.
class ShortDims
{
public:
    ShortDims() = default;
    ShortDims(const Dims &dims)
        : m_rank(static_cast<std::uint8_t>(dims.rank()))
    {
        for (int i = 0; i < Dims::capacity; ++i) // beyond the rank there are zeros
            m_values[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(std::min<std::int64_t>(dims[i], UINT32_MAX));
    }
    operator Dims() const
    {
        Dims dims;
        for (int i = 0; i < m_rank; ++i)
            dims.append(m_values[static_cast<std::size_t>(i)]);
        return dims;
    }
    int rank() const { return m_rank; }
    bool operator==(const ShortDims &) const = default;

private:
    std::array<std::uint32_t, Dims::capacity> m_values{};
    std::uint8_t m_rank = 0;
};

/// Everything known about one allocation. `op` and `module` are string literals and need no owner.
struct StorageRecord {
    std::int64_t bytes = 0;  ///< as requested, not rounded
    ShortDims shape;         ///< of the first tensor on it
    const char *op = "";     ///< the operator that made it, by PyTorch's name: "aten.mm.default"
    const char *module = ""; ///< the module that ran, within its layer: "self_attn.q_proj"
    std::int16_t layer = -1; ///< decoder layer; -1: outside the layers
    DType dtype = DType::Float32;
    Role role = Role::Temporary;
    TracePhase phase = TracePhase::Load; ///< of its birth
    std::uint8_t stream = 0;             ///< CUDA stream whose pool it comes from; 0: the default stream
    bool recomputed = false;             ///< born in backward with gradients enabled: checkpointing's second forward
    bool kept = false;                   ///< an operator's result that selective checkpointing keeps
};

/// The operator's name of what cuBLAS takes for itself, by whichever product comes first on a thread (CublasHandlePool.cpp). Told by its
/// address, which is one for all files: that of a literal need not be.
extern const char *const workspaceName;
inline bool isBlasWorkspace(const StorageRecord &storage) { return storage.op == workspaceName; }

/// An allocation or a release, in program order.
struct Event {
    StorageId storage : 31;
    std::uint32_t release : 1;
};

/// Where a stretch of the loop begins.
struct Mark {
    std::uint32_t event = 0;
    TracePhase phase = TracePhase::Load;
    std::int16_t step = 0; ///< 0-based
    std::int32_t microBatch = 0;
};

/// Floating-point operations of one micro-batch, by decoder layer.
struct FlopsByLayer {
    struct Counts {
        std::vector<double> layers; ///< by layer + 1: the first is what lies outside the layers
        void add(int layer, double flops)
        {
            const auto index = static_cast<std::size_t>(layer + 1);
            if (layers.size() <= index)
                layers.resize(index + 1);
            layers[index] += flops;
        }
        void clear() { std::fill(layers.begin(), layers.end(), 0.0); }
    };
    Counts forward, again; ///< again: checkpointing's second forward
};

/// The ordered allocations and releases of loading and of some steps.
struct Trace {
    std::vector<StorageRecord> storages;
    std::vector<Event> events;
    std::vector<Mark> marks;
    std::vector<std::uint32_t> cacheReleases; ///< torch.cuda.empty_cache() ran before these events, in order
};

} // namespace headroom::autograd
