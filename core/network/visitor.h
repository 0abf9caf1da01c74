// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/network/attention.h"
#include "core/network/modules.h"
#include "core/network/parameter_adapter.h"

namespace headroom::network {

/// Sees the modules of a model in the order of named_modules(). What a visitor does not care for it leaves as it is.
class ModuleVisitor
{
public:
    virtual ~ModuleVisitor() = default;
    virtual void linear(Linear &) {}
    virtual void norm(RmsNorm &) {}
    virtual void layerNorm(LayerNorm &) {}
    virtual void embedding(Embedding &) {}
    /// A parameter that a module of its own kind holds.
    virtual void parameter(Tensor &, const char * /*module*/) {}
    /// A parameter that PEFT can adapt; parameter() has seen its weight before.
    virtual void adaptable(AdaptableParameter &) {}
    virtual void buffer(Tensor &, const char * /*module*/) {}
    /// What is no module but may be replaced in one: an attention's rotation, a gated MLP's activation.
    virtual void rotation(Rotation &) {}
    virtual void activation(GatedActivation &) {}
};

} // namespace headroom::network
