// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// transformers 5.24: modeling_rope_utils.py, models/llama/modeling_llama.py: LlamaRotaryEmbedding.
#include "core/network/rotary.h"

namespace headroom::network {

using namespace autograd;

namespace {

/// The functions that compute inverse frequencies, result by result. All are [dim / 2] in fp32.
class Frequencies
{
public:
    Frequencies(Tape &tape, std::int64_t dim)
        : m_tape(tape)
        , m_half{dim / 2}
    {}

    Tensor compute(std::string_view kind) const
    {
        if (kind == "longrope")
            return longRope();
        if (kind == "default") // each class's own compute_default_rope_parameters
            return inverse(after(make("aten.arange.start_step"), "aten.div.Tensor"));
        // "linear" divides in place; "dynamic" changes the base, a number, while sequences are not longer than foreseen.
        if (kind == "yarn")
            return yarn(exponent());
        return kind == "llama3" ? llama3(inverse(exponent())) : inverse(exponent());
    }

    /// _compute_longrope_parameters: ext_factors come from the host.
    Tensor longRope() const
    {
        const Tensor factors = make("aten._to_copy.default");
        const Tensor shape = exponent();
        const Tensor product = after(make("aten.pow.Scalar"), "aten.mul.Tensor");
        return reciprocal();
    }

    /// _compute_dynamic_ntk_parameters of a length beyond the foreseen, a tensor on the device, and so is the base then.
    Tensor dynamic() const
    {
        Tensor most = scalar("aten._to_copy.default", DType::Int64);
        const Tensor length = scalar("aten.maximum.default", DType::Int64);
        most.reset();
        Tensor base = scalar("aten.mul.Tensor", DType::Float32);
        for (const char *op : {"aten.div.Tensor", "aten.sub.Tensor", "aten.pow.Tensor_Scalar", "aten.mul.Tensor"})
            base = scalar(op, DType::Float32);
        const Tensor power = after(after(make("aten._to_copy.default"), "aten.div.Tensor"), "aten.pow.Tensor_Tensor");
        return reciprocal();
    }

private:
    Tensor make(const char *op, DType dtype = DType::Float32) const { return m_tape.empty(m_half, dtype, op); }
    Tensor scalar(const char *op, DType dtype) const { return m_tape.empty({}, dtype, op); }
    /// The result of an operator whose operand is no variable.
    Tensor after(Tensor operand, const char *op, DType dtype = DType::Float32) const
    {
        Tensor result = make(op, dtype);
        operand.reset();
        return result;
    }
    /// torch.arange(0, dim, 2).to(torch.float) / dim
    Tensor exponent() const
    {
        return after(after(make("aten.arange.start_step", DType::Int64), "aten._to_copy.default"), "aten.div.Tensor");
    }
    /// 1.0 / x
    Tensor reciprocal() const { return after(make("aten.reciprocal.default"), "aten.mul.Tensor"); }
    /// 1.0 / (base ** exponent)
    Tensor inverse(Tensor exponent) const
    {
        const Tensor power = after(std::move(exponent), "aten.pow.Scalar");
        return reciprocal();
    }

    Tensor yarn(Tensor exponent) const
    {
        const Tensor positions = after(std::move(exponent), "aten.pow.Scalar");
        const Tensor extrapolated = reciprocal();
        Tensor interpolated;
        {
            const Tensor scaled = make("aten.mul.Tensor");
            interpolated = reciprocal();
        }
        Tensor ramp = make("aten.arange.default"); // linear_ramp_factor
        for (const char *op : {"aten.sub.Tensor", "aten.div.Tensor", "aten.clamp.default", "aten.rsub.Scalar"})
            ramp = make(op);
        const Tensor low = after(make("aten.rsub.Scalar"), "aten.mul.Tensor");
        const Tensor high = make("aten.mul.Tensor");
        return make("aten.add.Tensor");
    }

    Tensor llama3(const Tensor & /*frequencies*/) const
    {
        const Tensor wavelength = reciprocal();
        Tensor scaled;
        {
            const Tensor isLow = make("aten.gt.Scalar", DType::Bool);
            const Tensor divided = make("aten.div.Tensor");
            scaled = make("aten.where.self");
        }
        const Tensor smooth = after(after(reciprocal(), "aten.sub.Tensor"), "aten.div.Tensor");
        Tensor smoothed;
        {
            const Tensor low = after(after(make("aten.rsub.Scalar"), "aten.mul.Tensor"), "aten.div.Tensor");
            const Tensor high = make("aten.mul.Tensor");
            smoothed = make("aten.add.Tensor");
        }
        Tensor isMedium;
        {
            const auto isNot = [&](const char *op) { return after(make(op, DType::Bool), "aten.bitwise_not.default", DType::Bool); };
            const Tensor notHigh = isNot("aten.lt.Scalar"), notLow = isNot("aten.gt.Scalar");
            isMedium = make("aten.mul.Tensor", DType::Bool);
        }
        return make("aten.where.self");
    }

    Tape &m_tape;
    Dims m_half;
};

constexpr const char *moduleName = "model.rotary_emb";

} // namespace

RotaryEmbedding::RotaryEmbedding(const Builder &builder, std::string kind, std::int64_t dim, std::int64_t maxPositions)
    : m_kind(std::move(kind))
    , m_dim(dim)
    , m_maxPositions(maxPositions)
{
    Tape &tape = builder.tape();
    Tape::Scope scope(tape, moduleName);
    const Dims half{dim / 2};
    if (builder.fromHost()) { // computed there
        m_frequencies = builder.buffer(half, DType::Float32, "aten._to_copy.default");
        m_original = builder.buffer(half, DType::Float32, "aten._to_copy.default");
        return;
    }
    m_frequencies = Frequencies(tape, dim).compute(m_kind);
    tape.setRole(m_frequencies, Role::Parameter);
    m_original = builder.buffer(half, DType::Float32, "aten.clone.default");
}

/// The wrapper of dynamic_rope_update.
void RotaryEmbedding::updateFrequencies(const Tensor &positionIds)
{
    if (m_kind != "dynamic" && m_kind != "longrope")
        return;
    Tape &tape = *positionIds->tape;
    Tensor length; // torch.max(position_ids) + 1
    {
        const Tensor last = tape.empty({}, DType::Int64, "aten.max.default");
        length = tape.empty({}, DType::Int64, "aten.add.Tensor");
    }
    const auto compare = [&](const char *op) { return tape.empty({}, DType::Bool, op); };
    if (m_kind == "dynamic") {
        compare(m_longest ? "aten.gt.Tensor" : "aten.gt.Scalar");
        if (!m_longest && positionIds.size(1) > m_maxPositions)
            growDynamic(tape, length);
        compare("aten.lt.Scalar");
        return;
    }
    if (!m_long)
        m_long = Frequencies(tape, m_dim).longRope();
    const Tensor isLong = compare("aten.gt.Scalar");
    const Tensor chosen = tape.empty({m_dim / 2}, DType::Float32, "aten.where.self");
}

void RotaryEmbedding::growDynamic(Tape &tape, Tensor length)
{
    m_frequencies = Frequencies(tape, m_dim).dynamic();
    tape.setRole(m_frequencies, Role::Parameter);
    m_longest = std::move(length);
}

void RotaryEmbedding::forward(LayerContext &context, RotaryAngles kind, DType dtype)
{
    // in fp32, then in the dtype that the layers compute in
    Tape &tape = *context.positionIds->tape;
    updateFrequencies(context.positionIds);
    Tensor positions = toCopy(unsqueeze(context.positionIds, 2), DType::Float32);
    const Tensor frequencies = tape.empty({1, context.positionIds.size(1), m_dim / 2}, DType::Float32, "aten.mul.Tensor");
    positions.reset();
    const Tensor angles = kind == RotaryAngles::Doubled       ? catLast(frequencies, frequencies)
                          : kind == RotaryAngles::Interleaved ? repeatInterleaveLast(frequencies, 2)
                                                              : frequencies;
    Tensor raw = unary(angles, "aten.cos.default");
    const Tensor cos = unary(raw, "aten.mul.Tensor");
    raw.reset();
    raw = unary(angles, "aten.sin.default");
    const Tensor sin = unary(raw, "aten.mul.Tensor");
    raw.reset();
    context.cos = to(cos, dtype);
    context.sin = to(sin, dtype);
}

void RotaryEmbedding::visit(ModuleVisitor &visitor)
{
    visitor.buffer(m_frequencies, moduleName);
    visitor.buffer(m_original, moduleName);
}

} // namespace headroom::network
