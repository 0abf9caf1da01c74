// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The part of Phi-3 that GLM takes over.
#pragma once

#include "core/network/llama.h"

namespace headroom::network {

/// Phi3MLP: gate and up in one projection, whose output is split.
struct Phi3Mlp {
    Linear gateUp, down;
    GatedActivation activation;

    Phi3Mlp(const Builder &builder, const ModelConfig &config);
    Tensor forward(const Tensor &hidden) const;
    void visit(ModuleVisitor &visitor);
};

} // namespace headroom::network
