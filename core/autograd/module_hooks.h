// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/tape.h"

namespace headroom::autograd {

/// Which nn.Module: its name within its layer, by the address of the literal that its code passes, the layer, and which
/// of the modules that share the name (those of a PEFT wrapper).
struct ModuleKey {
    const char *name = "";
    std::int16_t layer = -1;
    std::uint8_t part = 0;
    bool operator==(const ModuleKey &) const = default;
};

/// Parts of a module that PEFT wraps.
enum ModulePart : std::uint8_t { Whole, Base, Dropout, AdapterA, AdapterB, Outer };

/// Hooks that a sharding engine registers on every module (register_forward_pre_hook, register_forward_hook), and the
/// F.linear that it may put in place of PyTorch's.
class ModuleHooks
{
public:
    virtual ~ModuleHooks() = default;

    /// Before forward: returns what forward is called with instead of `input`, which is undefined where the module is
    /// called with keyword arguments alone.
    virtual Tensor before(const ModuleKey &module, const Tensor &input) = 0;
    /// After forward, before its results are looked at.
    virtual void after(const ModuleKey &module) = 0;
    /// For each tensor among the results: what the caller gets instead.
    virtual Tensor result(const ModuleKey &module, const Tensor &output) = 0;
    /// A module's parameter is looked up from outside that module.
    virtual void access(const Tensor &parameter) = 0;
    virtual Tensor linear(const Tensor &x, const Tensor &weight, const Tensor &bias) = 0;
};

/// nn.Module.__call__ of a module with one positional input and one result. An exception that ends a recomputation early
/// passes the hooks by.
template<typename Forward>
Tensor callModule(Tape &tape, const char *name, std::uint8_t part, const Tensor &input, Forward &&forward)
{
    ModuleHooks *hooks = tape.moduleHooks();
    if (!hooks)
        return forward(input);
    const ModuleKey key{name, tape.layer(), part};
    const Tensor seen = hooks->before(key, input);
    Tensor output = forward(seen);
    if (tape.stopped())
        return {};
    hooks->after(key);
    return hooks->result(key, output);
}

} // namespace headroom::autograd
