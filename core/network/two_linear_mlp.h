// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/network/builder.h"
#include "core/network/modules.h"
#include "core/network/visitor.h"

#include "core/model/model_config.h"

namespace headroom::network {

/// GPT2MLP, GPTBigCodeMLP, GPTNeoMLP, GPTNeoXMLP, PhiMLP, FalconMLP, PersimmonMLP, NanoChatMLP (transformers 5.24,
/// models/gpt2/modeling_gpt2.py ...): dropout(out(act(in(x)))).
struct TwoLinearMlp {
    Linear in, out;
    const char *activationName; ///< "mlp.act"
    Activation activation;
    double dropout = 0.0; ///< of the output; GPT-2, GPT-BigCode and GPT-Neo

    Tensor forward(const Tensor &x) const;
    void visit(ModuleVisitor &visitor);
};

/// ArceeMLP, NemotronMLP: down_proj(act_fn(up_proj(x))).
struct UpDownMlp : TwoLinearMlp {
    UpDownMlp(const Builder &builder, const ModelConfig &config);
};

} // namespace headroom::network
