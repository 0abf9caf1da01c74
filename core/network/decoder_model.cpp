// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// LlamaModel (transformers 5.24, models/llama/modeling_llama.py), which most families share.
#include "core/network/decoder_model.h"

#include "core/autograd/module_hooks.h"

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

bool DecoderModel::anySliding() const
{
    return std::any_of(m_config.slidingLayers.begin(), m_config.slidingLayers.end(), [](bool sliding) { return sliding; });
}

bool DecoderModel::anyFull() const
{
    return m_config.slidingLayers.empty() ||
           std::any_of(m_config.slidingLayers.begin(), m_config.slidingLayers.end(), [](bool sliding) { return !sliding; });
}

Embedding DecoderModel::makeEmbedding(const Builder &builder) const
{
    return builder.embedding("model.embed_tokens", m_config.vocabSize, m_config.hiddenSize);
}

void DecoderModel::build(const Builder &builder)
{
    m_embedding = makeEmbedding(builder);
    buildLayers(builder);
    buildNorm(builder);
    if (!rotaryByKind() || anyFull())
        buildRotary(builder);
    if (rotaryByKind() && anySliding())
        buildRotary(builder, true);
}

void DecoderModel::buildLayers(const Builder &builder)
{
    m_layers.reserve(static_cast<std::size_t>(m_config.layers));
    for (std::int64_t i = 0; i < m_config.layers; ++i) {
        Tape::Scope scope(builder.tape(), "", static_cast<std::int16_t>(i));
        m_layers.push_back(makeLayer(builder, i));
    }
}

void DecoderModel::buildRotary(const Builder &builder, bool sliding)
{
    m_rotary.push_back(std::make_unique<RotaryEmbedding>(builder, sliding ? m_config.slidingRopeType : m_config.ropeType,
                                                         m_config.rotaryDim, m_config.maxPositions));
}

Tensor DecoderModel::causalMask(Tape &tape, std::int64_t batch, std::int64_t length, DType dtype, bool sliding) const
{
    if (masksSeePositions())
        findPackedSequences(tape, batch, length);
    const bool eager = m_attention == AttentionKind::Eager;
    if (m_attention == AttentionKind::FlashAttention2)
        return {};
    // transformers 4.53 to 4.57 take the position ids they made themselves for those of a packed batch, and then build
    // a mask for sdpa too; later versions see that nothing is packed (masking_utils.py: find_packed_sequence_indices).
    const bool takenForPacked = m_transformers >= Version{4, 53} && m_transformers <= Version{4, 57};
    if (!eager && !takenForPacked && !alwaysMasks() && (!sliding || length < m_config.slidingWindow.value_or(0)))
        return {};
    Tensor visible;
    {
        Tensor batches = tape.empty({batch}, DType::Int64, "aten.arange.default");
        Tensor heads = tape.empty({1}, DType::Int64, "aten.arange.default");
        const auto positions = [&] {
            Tensor range = tape.empty({length}, DType::Int64, "aten.arange.default");
            return tape.empty({length}, DType::Int64, "aten.add.Tensor");
        };
        Tensor queries = positions(), keys = positions();
        const Dims square{1, 1, length, length};
        if (sliding) {
            Tensor all = tape.empty({}, DType::Bool, "aten.new_ones.default");
            Tensor shifted = tape.empty({1, 1, length, 1}, DType::Int64, "aten.sub.Tensor");
            Tensor near = tape.empty(square, DType::Bool, "aten.gt.Tensor");
            shifted.reset();
            Tensor inWindow = tape.empty(square, DType::Bool, "aten.bitwise_and.Tensor");
            near.reset();
            all.reset();
            Tensor causal = tape.empty(square, DType::Bool, "aten.le.Tensor");
            visible = tape.empty(square, DType::Bool, "aten.bitwise_and.Tensor");
        } else {
            visible = tape.empty(square, DType::Bool, "aten.le.Tensor");
        }
    }
    if (!eager)
        return expand(visible, {batch, 1, length, length});
    Tensor zero = tape.empty({}, dtype, "aten.zeros.default");
    Tensor lowest = tape.empty({}, dtype, "aten.scalar_tensor.default");
    return tape.empty({batch, 1, length, length}, dtype, "aten.where.self");
}

void DecoderModel::rotaryEmbedding(LayerContext &context, const Tensor &hidden, bool sliding) const
{
    Tape &tape = *context.positionIds->tape;
    Tape::Scope scope(tape, "model.rotary_emb");
    ModuleHooks *hooks = tape.moduleHooks();
    const ModuleKey key{"model.rotary_emb", -1, Whole};
    if (hooks)
        hooks->before(key, hidden);
    RotaryEmbedding &rotary = sliding ? *m_rotary.back() : *m_rotary.front();
    rotary.forward(context, rotaryAngles(), rotaryDtype(hidden.dtype()));
    if (hooks) {
        hooks->after(key);
        context.cos = hooks->result(key, context.cos);
        context.sin = hooks->result(key, context.sin);
    }
}

LayerContexts DecoderModel::positionsAndMasks(const Tensor &embedded) const
{
    Tape &tape = *embedded->tape;
    const std::int64_t batch = embedded.size(0), length = embedded.size(1);
    LayerContexts contexts;
    {
        Tensor range = tape.empty({length}, DType::Int64, "aten.arange.default");
        contexts.full.positionIds = unsqueeze(tape.empty({length}, DType::Int64, "aten.add.Tensor"), 0);
        contexts.sliding.positionIds = contexts.full.positionIds;
    }
    const Masks made = masks();
    if (made.full)
        contexts.full.mask = causalMask(tape, batch, length, embedded.dtype(), false);
    if (made.sliding)
        contexts.sliding.mask = causalMask(tape, batch, length, embedded.dtype(), true);
    return contexts;
}

LayerContexts DecoderModel::prepare(const Tensor &embedded) const
{
    LayerContexts contexts = positionsAndMasks(embedded);
    if (!rotaryByKind()) {
        rotaryEmbedding(contexts.full, embedded);
        contexts.sliding.cos = contexts.full.cos;
        contexts.sliding.sin = contexts.full.sin;
        return contexts;
    }
    if (anyFull())
        rotaryEmbedding(contexts.full, embedded);
    if (anySliding())
        rotaryEmbedding(contexts.sliding, embedded, true);
    return contexts;
}

Tensor DecoderModel::runLayers(Tensor hidden, const LayerContexts &contexts, const LayerCall &call, Tensor *outputs) const
{
    for (std::size_t i = 0; i < m_layers.size(); ++i) {
        Tape::Scope inLayer(*hidden->tape, "", static_cast<std::int16_t>(i));
        LayerContext own = isSliding(i) ? contexts.sliding : contexts.full;
        own.core = call.core;
        const bool returnsMore = call.cache != nullptr || outputs != nullptr;
        const auto run = [layer = m_layers[i].get(), own, returnsMore](const Tensor &input, Tensor &besides) {
            if (!returnsMore)
                return layer->forward(input, own);
            LayerContext context = own;
            context.besides = &besides;
            return layer->forward(input, context);
        };
        Tensor besides;
        // GradientCheckpointingLayer checkpoints forward, so that hooks stay outside.
        hidden = callModule(*hidden->tape, "layer", Whole, hidden, [&](const Tensor &input) { return call.run(run, input, besides); });
        if (call.cache)
            call.cache->push_back(std::move(besides));
        else if (outputs)
            *outputs = std::move(besides);
    }
    return hidden;
}

Tensor DecoderModel::forward(const Tensor &inputIds, const LayerCall &call, bool inputsRequireGrad)
{
    Tape &tape = *inputIds->tape;
    Tape::Scope scope(tape, "model");
    ModuleHooks *hooks = tape.moduleHooks();
    const ModuleKey key{"model", -1, Whole};
    if (hooks)
        hooks->before(key, {});
    Tensor embedded = m_embedding.forward(inputIds, inputsRequireGrad);
    embedded = scaleEmbedding(std::move(embedded));
    const LayerContexts contexts = prepare(embedded);
    // inputs_embeds lives as long as this function, and so do the contexts
    Tensor hidden = normalize(runLayers(embedded, contexts, call));
    if (hooks) {
        hooks->after(key);
        hidden = hooks->result(key, hidden);
    }
    return hidden;
}

void DecoderModel::visit(ModuleVisitor &visitor)
{
    visitor.embedding(m_embedding);
    if (m_embedding.scale)
        visitor.buffer(m_embedding.scale, m_embedding.name);
    visitLayers(visitor);
    visitNorm(visitor);
    visitRotary(visitor);
}

void DecoderModel::visitLayers(ModuleVisitor &visitor)
{
    for (std::size_t i = 0; i < m_layers.size(); ++i) {
        Tape::Scope scope(*m_embedding.weight->tape, "", static_cast<std::int16_t>(i));
        m_layers[i]->visit(visitor);
    }
}

void DecoderModel::visitRotary(ModuleVisitor &visitor)
{
    for (const std::unique_ptr<RotaryEmbedding> &rotary : m_rotary)
        rotary->visit(visitor);
}

} // namespace headroom::network
