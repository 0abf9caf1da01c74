// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Running the model: LlamaForCausalLM.forward and what it calls (transformers 5.24). Building it is in build.cpp.
#include "core/network/causal_lm.h"

#include <algorithm>

namespace headroom::network {

using namespace autograd;

namespace {

/// masking_utils.py: find_packed_sequence_indices. Runs whenever no attention mask is given; nothing of it stays.
void findPackedSequences(Tape &tape, std::int64_t batch, std::int64_t length)
{
    Tensor first = tape.empty({batch, 1}, DType::Int64, "aten.sub.Tensor");
    Tensor extended = tape.empty({batch, length + 1}, DType::Int64, "aten.cat.default");
    Tensor difference = tape.empty({batch, length}, DType::Int64, "aten.sub.Tensor");
    extended.reset();
    Tensor breaks = tape.empty({batch, length}, DType::Bool, "aten.ne.Scalar");
    Tensor indices = tape.empty({batch, length}, DType::Int64, "aten.cumsum.default");
    breaks.reset();
}

} // namespace

/// create_causal_mask, create_sliding_window_causal_mask: for sdpa none where is_causal says enough, else boolean; for
/// eager additive in the hidden states' dtype.
Tensor CausalLm::causalMask(std::int64_t batch, std::int64_t length, DType dtype, bool sliding)
{
    findPackedSequences(m_tape, batch, length);
    const bool eager = m_options.attention == AttentionKind::Eager;
    if (m_options.attention == AttentionKind::FlashAttention2)
        return {};
    if (!eager && (!sliding || length < *m_config.slidingWindow))
        return {};
    Tensor visible;
    {
        Tensor batches = m_tape.empty({batch}, DType::Int64, "aten.arange.default");
        Tensor heads = m_tape.empty({1}, DType::Int64, "aten.arange.default");
        const auto positions = [&] {
            Tensor range = m_tape.empty({length}, DType::Int64, "aten.arange.default");
            return m_tape.empty({length}, DType::Int64, "aten.add.Tensor");
        };
        Tensor queries = positions(), keys = positions();
        const Dims square{1, 1, length, length};
        if (sliding) {
            Tensor all = m_tape.empty({}, DType::Bool, "aten.new_ones.default");
            Tensor shifted = m_tape.empty({1, 1, length, 1}, DType::Int64, "aten.sub.Tensor");
            Tensor near = m_tape.empty(square, DType::Bool, "aten.gt.Tensor");
            shifted.reset();
            Tensor inWindow = m_tape.empty(square, DType::Bool, "aten.bitwise_and.Tensor");
            near.reset();
            all.reset();
            Tensor causal = m_tape.empty(square, DType::Bool, "aten.le.Tensor");
            visible = m_tape.empty(square, DType::Bool, "aten.bitwise_and.Tensor");
        } else {
            visible = m_tape.empty(square, DType::Bool, "aten.le.Tensor");
        }
    }
    if (!eager)
        return expand(visible, {batch, 1, length, length});
    Tensor zero = m_tape.empty({}, dtype, "aten.zeros.default");
    Tensor lowest = m_tape.empty({}, dtype, "aten.scalar_tensor.default");
    return m_tape.empty({batch, 1, length, length}, dtype, "aten.where.self");
}

/// Positions, masks and rotary embedding, shared by all layers.
LayerContext CausalLm::prepare(const Tensor &embedded, Tensor &slidingMask)
{
    const std::int64_t batch = embedded.size(0), length = embedded.size(1);
    LayerContext context;
    {
        Tensor range = m_tape.empty({length}, DType::Int64, "aten.arange.default");
        context.positionIds = unsqueeze(m_tape.empty({length}, DType::Int64, "aten.add.Tensor"), 0);
    }
    const bool anySliding = std::any_of(m_config.slidingLayers.begin(), m_config.slidingLayers.end(), [](bool s) { return s; });
    const bool mistral = m_config.modelType == "mistral"; // one mask for all layers; qwen2 and qwen3 make one a kind
    if (!mistral || !anySliding)
        context.mask = causalMask(batch, length, embedded.dtype(), false);
    if (anySliding)
        slidingMask = causalMask(batch, length, embedded.dtype(), true);

    // LlamaRotaryEmbedding.forward: in fp32, then in the hidden states' dtype
    Tape::Scope scope(m_tape, "model.rotary_emb");
    Tensor positions = toCopy(unsqueeze(context.positionIds, 2), DType::Float32);
    Tensor frequencies = m_tape.empty({1, length, m_config.headDim / 2}, DType::Float32, "aten.mul.Tensor");
    positions.reset();
    const Tensor angles = catLast(frequencies, frequencies);
    Tensor raw = unary(angles, "aten.cos.default");
    const Tensor cos = unary(raw, "aten.mul.Tensor");
    raw.reset();
    raw = unary(angles, "aten.sin.default");
    const Tensor sin = unary(raw, "aten.mul.Tensor");
    raw.reset();
    context.cos = to(cos, embedded.dtype());
    context.sin = to(sin, embedded.dtype());
    return context;
}

/// loss_utils.py: ForCausalLMLoss
Tensor CausalLm::loss(const Tensor &logits, const Tensor &labels)
{
    const Tensor upcast = to(logits, DType::Float32);
    const std::int64_t batch = labels.size(0), length = labels.size(1);
    Tensor padded = m_tape.empty({batch, length + 1}, DType::Int64, "aten.constant_pad_nd.default");
    // labels[..., 1:].contiguous(): a copy wherever a row has a neighbour or was shifted
    Dims strides = contiguousStrides({batch, length + 1});
    Tensor shifted = contiguous(m_tape.view(padded, {batch, length}, strides));
    const Tensor flat = view(upcast, {checkedMultiply(batch, length), upcast.size(-1)});
    const Tensor target = view(shifted, {checkedMultiply(batch, length)});
    return nllLoss(logSoftmax(flat), target);
}

CausalLmOutput CausalLm::forward(const Tensor &inputIds, const Tensor &labels)
{
    Tensor hidden;
    { // LlamaModel.forward
        Tape::Scope scope(m_tape, "model");
        Tensor embedded = m_embedding.forward(inputIds);
        if (m_options.checkpointing == Checkpointing::Full && !embedded.requiresGrad())
            embedded->requiresGrad = true; // gradient_checkpointing_enable() calls enable_input_require_grads()
        Tensor slidingMask;
        const LayerContext context = prepare(embedded, slidingMask);
        hidden = embedded;
        for (const DecoderLayer &layer : m_layers) {
            LayerContext own = context;
            if (slidingMask && m_config.slidingLayers[static_cast<std::size_t>(layer.index)])
                own.mask = slidingMask;
            const auto run = [&layer, own](const Tensor &input) { return layer.forward(input, own); };
            if (m_options.checkpointing != Checkpointing::Full)
                hidden = run(hidden);
            else if (m_options.reentrant)
                hidden = m_tape.checkpointReentrant(run, hidden);
            else
                hidden = m_tape.checkpoint(run, hidden);
        }
        hidden = m_norm.forward(hidden);
    }
    CausalLmOutput output;
    m_tape.mark(TracePhase::Loss);
    output.logits = m_head.forward(hidden);
    output.loss = loss(output.logits, labels);
    return output;
}

} // namespace headroom::network
