// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/module_hooks.h"
#include "core/training/deepspeed_coordinator.h"

namespace headroom::training::deepspeed {

/// What ZeRO-3 registers on every module (parameter_offload.py: DeepSpeedZeRoOffload): its parameters are gathered before
/// its forward and released after it; results pass through a function that gathers them again when their gradient comes
/// in backward, inputs through one that releases them when theirs is computed.
class ModuleWrapper : public autograd::ModuleHooks
{
public:
    ModuleWrapper(Tape &tape, ParameterCoordinator &coordinator)
        : m_tape(tape)
        , m_coordinator(coordinator)
    {}

    /// Shows the wrapper which parameters are whose.
    void assign(network::CausalLm &model, const std::unordered_map<autograd::TensorImpl *, int> &ids);

    Tensor before(const autograd::ModuleKey &module, const Tensor &input) override;
    void after(const autograd::ModuleKey &module) override;
    Tensor result(const autograd::ModuleKey &module, const Tensor &output) override;
    void access(const Tensor &parameter) override;
    Tensor linear(const Tensor &x, const Tensor &weight, const Tensor &bias) override;

    void startOfBackward(int module);
    void endOfBackward(int module);
    /// Gathers a partitioned weight; whether it had to.
    bool gatherForBackward(const Tensor &weight);
    void partitionAgain(const Tensor &weight);

private:
    struct KeyHash {
        std::size_t operator()(const autograd::ModuleKey &key) const
        {
            return std::hash<const void *>()(key.name) * 31 + static_cast<std::size_t>(key.layer + 1) * 8 + key.part;
        }
    };
    struct State {
        int pendingOutputs = 0;     ///< applied_pre_backward_ref_cnt
        int gradientsRemaining = 0; ///< ds_grads_remaining
    };

    int idOf(const autograd::ModuleKey &module);
    int idOf(const Tensor &parameter) const;
    Tensor pass(const autograd::Operator &op, int module, const Tensor &tensor);
    State &state(int module) { return m_states[static_cast<std::size_t>(module)]; }

    Tape &m_tape;
    ParameterCoordinator &m_coordinator;
    std::unordered_map<autograd::ModuleKey, int, KeyHash> m_ids;
    std::unordered_map<autograd::TensorImpl *, int> m_parameterIds;
    std::vector<State> m_states;
    std::vector<int> m_running; ///< FWD_MODULE_STACK
    int m_root = -1;            ///< the model itself
};

} // namespace headroom::training::deepspeed
