// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/network/attention.h"
#include "core/network/builder.h"
#include "core/network/visitor.h"

#include <string>

namespace headroom::network {

/// What a family makes of the angles of half a head before it takes their cosines and sines.
enum class RotaryAngles : std::uint8_t {
    Doubled,     ///< torch.cat((freqs, freqs), dim=-1) (Llama)
    Interleaved, ///< torch.repeat_interleave(freqs, 2, dim=-1) (Cohere)
    Single,      ///< as they are (gpt-oss)
};

/// LlamaRotaryEmbedding and its likes with all kinds of rotary embedding that transformers knows: what is computed while
/// the model is built, and in each forward (transformers 5.24, modeling_rope_utils.py: ROPE_INIT_FUNCTIONS,
/// dynamic_rope_update). Some keep more after the first forward than before.
class RotaryEmbedding
{
public:
    /// `kind`: "default", "linear" ...; `dim`: how many of a head's dimensions rotate; `maxPositions`: max_position_embeddings.
    RotaryEmbedding(const Builder &builder, std::string kind, std::int64_t dim, std::int64_t maxPositions);

    /// Cosines and sines of the positions, [1, S, dim], in `dtype`; single angles: [1, S, dim / 2]. Writes them to the context.
    void forward(LayerContext &context, RotaryAngles angles, DType dtype);
    void visit(ModuleVisitor &visitor);

private:
    void updateFrequencies(const Tensor &positionIds);
    void growDynamic(Tape &tape, Tensor length);

    std::string m_kind;
    std::int64_t m_dim, m_maxPositions;
    Tensor m_frequencies, m_original; ///< inv_freq, original_inv_freq
    Tensor m_long;                    ///< long_inv_freq, from the first forward on (longrope)
    Tensor m_longest;                 ///< max_seq_len_cached, once it is a tensor (dynamic)
};

} // namespace headroom::network
