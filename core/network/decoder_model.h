// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model_config.h"
#include "core/network/attention.h"
#include "core/network/builder.h"
#include "core/network/rotary.h"
#include "core/network/visitor.h"
#include "core/units/version.h"

#include <functional>
#include <memory>
#include <vector>

namespace headroom::network {

/// A decoder layer.
class Block
{
public:
    virtual ~Block() = default;
    virtual Tensor forward(const Tensor &input, const LayerContext &context) const = 0;
    virtual void visit(ModuleVisitor &visitor) = 0;
};

/// A decoder layer as it is called; `besides`: what it returns besides its hidden states.
using LayerFunction = std::function<Tensor(const Tensor &input, Tensor &besides)>;

/// How layers are called: plainly, or under a kind of checkpointing.
struct LayerCall {
    std::function<Tensor(const LayerFunction &layer, const Tensor &input, Tensor &besides)> run;
    std::vector<Tensor> *cache = nullptr; ///< takes what each layer returns besides: use_cache; null: not asked for
    CoreCheckpoint core = CoreCheckpoint::None;
};

/// What layers are called with, by the kind of their attention.
struct LayerContexts {
    LayerContext full, sliding;
};

/// What lies between the token ids and the output head, and what is done to the logits. This class is LlamaModel;
/// families that differ override what differs, and read beside the model code they mirror.
class DecoderModel
{
public:
    DecoderModel(const ModelConfig &config, AttentionKind attention, Version transformers)
        : m_config(config)
        , m_attention(attention)
        , m_transformers(transformers)
    {}
    virtual ~DecoderModel() = default;

    /// Makes all parameters and buffers in module order.
    virtual void build(const Builder &builder);
    /// What CausalLm makes of the head's output: scaled, softcapped ...
    virtual Tensor finishLogits(Tensor logits) const { return logits; }
    /// [B, S] -> [B, S, h]. `inputsRequireGrad`: enable_input_require_grads() makes the embedding's output a leaf that
    /// requires a gradient.
    virtual Tensor forward(const Tensor &inputIds, const LayerCall &call, bool inputsRequireGrad);
    virtual void visit(ModuleVisitor &visitor);

    Tensor &embeddingWeight() { return m_embedding.weight; }
    Embedding &embedding() { return m_embedding; }
    const ModelConfig &config() const { return m_config; }

protected:
    virtual Embedding makeEmbedding(const Builder &builder) const;
    virtual std::unique_ptr<Block> makeLayer(const Builder &builder, std::int64_t index) const = 0;
    /// What the model does to its embeddings before all else.
    virtual Tensor scaleEmbedding(Tensor embedded) const { return embedded; }

    // masks
    struct Masks {
        bool full, sliding;
    };
    /// Which masks the model makes, whether its layers need them or not.
    virtual Masks masks() const { return {true, anySliding()}; }
    /// Whether the model hands its position ids to those functions, which then look for packed sequences in them.
    virtual bool masksSeePositions() const { return true; }
    /// Whether it makes a full mask where is_causal would say enough too (allow_is_causal_skip=False).
    virtual bool alwaysMasks() const { return false; }
    /// create_causal_mask, create_sliding_window_causal_mask: for sdpa none where is_causal says enough, else boolean;
    /// for eager additive in `dtype`.
    Tensor causalMask(Tape &tape, std::int64_t batch, std::int64_t length, DType dtype, bool sliding) const;
    bool anySliding() const;
    bool anyFull() const;
    bool isSliding(std::size_t layer) const { return !m_config.slidingLayers.empty() && m_config.slidingLayers[layer]; }

    // rotary embedding
    /// Whether each kind of layer has frequencies, cosines and sines of its own.
    virtual bool rotaryByKind() const { return false; }
    /// The dtype in which cosines and sines are handed to the layers, where hidden states are of `hidden`.
    virtual DType rotaryDtype(DType hidden) const { return hidden; }
    virtual RotaryAngles rotaryAngles() const { return RotaryAngles::Doubled; }
    /// `sliding`: of the layers of sliding attention, where each kind has its own.
    void buildRotary(const Builder &builder, bool sliding = false);
    void rotaryEmbedding(LayerContext &context, const Tensor &hidden, bool sliding = false) const;

    // the norm after the last layer
    virtual void buildNorm(const Builder &builder) { m_norm = builder.norm("model.norm", m_config.hiddenSize, m_normKind); }
    virtual Tensor normalize(const Tensor &hidden) const { return m_norm.forward(hidden); }
    virtual void visitNorm(ModuleVisitor &visitor) { visitor.norm(m_norm); }

    // what models are made of
    void buildLayers(const Builder &builder);
    void visitLayers(ModuleVisitor &visitor);
    void visitRotary(ModuleVisitor &visitor);
    LayerContexts positionsAndMasks(const Tensor &embedded) const;
    /// Positions, masks and rotary embedding, shared by all layers.
    LayerContexts prepare(const Tensor &embedded) const;
    /// `outputs`: takes what a layer returns besides its hidden states, in place of what the layer before did; null: layers return
    /// hidden states alone. In Python it is the variable of that name, and lives as long as the model's forward().
    Tensor runLayers(Tensor hidden, const LayerContexts &contexts, const LayerCall &call, Tensor *outputs = nullptr) const;

    ModelConfig m_config;
    AttentionKind m_attention;
    Version m_transformers;
    Embedding m_embedding{"model.embed_tokens", {}, {}, {}, {}};
    std::vector<std::unique_ptr<Block>> m_layers;
    RmsNormKind m_normKind = RmsNormKind::Llama;
    RmsNorm m_norm{"model.norm", {}, {}};
    std::vector<std::unique_ptr<RotaryEmbedding>> m_rotary; ///< one, or that of full attention and that of sliding attention
};

/// The model code of a config's model_type, or null where none is known.
std::unique_ptr<DecoderModel> makeDecoderModel(const ModelConfig &config, AttentionKind attention, Version transformers);

} // namespace headroom::network
