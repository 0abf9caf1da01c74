// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/network/decoder_model.h"

namespace headroom::network {

/// A model like Llama's whose last norm is a LayerNorm.
class LayerNormModel : public DecoderModel
{
public:
    LayerNormModel(const ModelConfig &config, AttentionKind attention, Version transformers, LayerNormKind kind = LayerNormKind::Kernel)
        : DecoderModel(config, attention, transformers)
        , m_kind(kind)
    {}

protected:
    void buildNorm(const Builder &builder) override { m_layerNorm = builder.norm("model.norm", m_config.hiddenSize, m_kind); }
    Tensor normalize(const Tensor &hidden) const override { return m_layerNorm.forward(hidden); }
    void visitNorm(ModuleVisitor &visitor) override { visitor.layerNorm(m_layerNorm); }

    LayerNormKind m_kind;

private:
    LayerNorm m_layerNorm{"model.norm", {}, {}, {}, {}};
};

} // namespace headroom::network
