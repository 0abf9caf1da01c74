// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/training/deepspeed_common.h"

#include <unordered_map>

namespace headroom::training::deepspeed {

/// A parameter of ZeRO-3 (partition_parameters.py). Ids are in the order of model.parameters().
struct ShardedParameter {
    enum class Status : std::uint8_t { NotAvailable, InFlight, Available };

    Tensor tensor;              ///< has data only while it is gathered
    Tensor shard;               ///< ds_tensor: this rank's part
    std::int64_t elements = 0;  ///< ds_numel
    std::int64_t partition = 0; ///< elements of a rank's part, padded
    bool persistent = false;    ///< small enough to stay gathered between uses
    Status status = Status::Available;
    std::vector<int> activeModules; ///< ds_active_sub_modules
};

/// Gathers parameters before a module needs them, fetches ahead along the recorded order of modules, and releases them
/// after use (partitioned_param_coordinator.py: PartitionedParameterCoordinator).
class ParameterCoordinator
{
public:
    ParameterCoordinator(Tape &tape, const Options &options)
        : m_tape(tape)
        , m_options(options)
    {}

    int addParameter(ShardedParameter parameter);
    int addModule(std::vector<int> parameters = {});
    /// A module that reads another module's parameter counts it as its own from then on.
    void addExternal(int module, int parameter);

    ShardedParameter &parameter(int id) { return m_parameters[static_cast<std::size_t>(id)]; }
    std::size_t parameterCount() const { return m_parameters.size(); }

    /// A forward of the whole model begins: the order recorded in the iteration before is used from now on.
    void resetStep();
    /// Before a module runs, in forward (a recomputation's too) or backward.
    void beforeModule(int module, bool forward);
    void afterModule(int module, bool forward);
    /// Modules whose inputs need no gradient have no end of backward: theirs are released now.
    void releaseLeftovers();
    /// Before the optimizer steps everything is partitioned.
    void releaseAll();

    /// param.all_gather() and param.partition() of one parameter, at once.
    void gatherNow(int id);
    void partition(int id);
    /// One rank's part is the whole: no copy is made of it.
    void showShard(int id);

private:
    struct Gather {
        std::vector<int> parameters;
        Tensor flat; ///< of a coalesced gather
        bool complete = false;
    };
    struct Module {
        std::vector<int> parameters;
        std::vector<int> recomputed; ///< ds_recompute_parameters
    };
    struct Use {
        int parameter;
        std::int64_t step;
    };
    enum class Mode : std::uint8_t { Invalid, Record, Complete };

    Module &module(int id) { return m_modules[static_cast<std::size_t>(id)]; }
    void fetch(int module, bool forward);
    void prefetch(const std::vector<int> &current);
    void gather(const std::vector<int> &wanted);
    void wait(Gather &gather);
    void release(int id);
    bool stays(int parameter, std::int64_t step) const;
    void invalidate();
    void cleanInFlight();
    void finishRecording();

    Tape &m_tape;
    Options m_options;
    std::vector<ShardedParameter> m_parameters;
    std::vector<Module> m_modules;

    Mode m_mode = Mode::Invalid;
    std::vector<int> m_order;                        ///< modules in the order of their fetches
    std::vector<Use> m_uses;                         ///< parameters in the order of their use
    std::vector<std::vector<std::int64_t>> m_usesOf; ///< of each parameter: the steps that use it
    std::vector<std::int64_t> m_traversed;           ///< elements of all modules before a step
    std::size_t m_next = 0;                          ///< the fetch queue's head in m_uses
    std::vector<std::int64_t> m_fetchedFor;          ///< most_recent_step_id_param_fetched_for
    std::int64_t m_step = 0;
    std::int64_t m_available = 0; ///< n_available_params
    std::vector<std::pair<int, std::shared_ptr<Gather>>> m_inFlight;
    std::vector<int> m_activeBackward;
    std::vector<int> m_ahead, m_released; ///< of prefetch() and afterModule(): kept for their memory
};

} // namespace headroom::training::deepspeed
