// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/network/modules.h"

namespace headroom::network {

/// Makes modules with their parameters on the device, one tensor after the other as from_config() does.
class Builder
{
public:
    Builder(Tape &tape, DType weights)
        : m_tape(tape)
        , m_weights(weights)
    {}

    Tape &tape() const { return m_tape; }
    DType weights() const { return m_weights; }

    Tensor parameter(const Dims &sizes, const char *op = "aten.empty.memory_format") const;
    /// A buffer: counted with the weights, never trained.
    Tensor buffer(const Dims &sizes, DType dtype, const char *op) const;
    Linear linear(const LinearNames &names, std::int64_t in, std::int64_t out, bool bias) const;
    RmsNorm norm(const char *name, std::int64_t width) const;
    Embedding embedding(const char *name, std::int64_t count, std::int64_t width) const;

private:
    Tape &m_tape;
    DType m_weights;
};

} // namespace headroom::network
