// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/network/causal_lm.h"

#include "core/autograd/module_hooks.h"
#include "core/model/model_families.h"
#include "core/network/adapters.h"
#include "core/network/families.h"
#include "core/network/kbit_preparation.h"
#include "core/network/liger.h"
#include "core/network/losses.h"
#include "core/network/selective.h"

namespace headroom::network {

using namespace autograd;

namespace {

constexpr LinearNames headNames = HEADROOM_LINEAR_NAMES("lm_head");

} // namespace

/// model.parameters(): every parameter in module order, and whether it is trained.
class ParameterCollector : public ModuleVisitor
{
public:
    explicit ParameterCollector(CausalLm &model)
        : m_model(model)
        , m_full(model.m_options.method.kind == MethodKind::Full)
    {}

    void linear(Linear &module) override
    {
        if (module.quantized) // counted by the elements that it had
            m_model.take(module.quantized->codes, false, module.quantized->sizes.elements());
        else
            m_model.take(module.weight, m_full);
        m_model.take(module.bias, m_full);
        if (module.lora) {
            m_model.take(module.lora->a, true);
            m_model.take(module.lora->b, true);
            m_model.take(module.lora->magnitude, true);
        }
        m_model.take(module.saved, true);
        m_model.take(module.savedBias, true);
    }
    void norm(RmsNorm &module) override
    {
        m_model.take(module.weight, m_full);
        m_model.take(module.saved, true);
    }
    void layerNorm(LayerNorm &module) override
    {
        m_model.take(module.weight, m_full);
        m_model.take(module.bias, m_full);
        m_model.take(module.saved, true);
        m_model.take(module.savedBias, true);
    }
    void parameter(Tensor &parameter, const char *) override { m_model.take(parameter, m_full); }
    void adaptable(AdaptableParameter &parameter) override
    {
        m_model.take(parameter.a, true);
        m_model.take(parameter.b, true);
    }
    void embedding(Embedding &module) override
    {
        m_model.take(module.weight, m_full);
        if (module.lora) {
            m_model.take(module.lora->a, true);
            m_model.take(module.lora->b, true);
            m_model.take(module.lora->magnitude, true);
        }
        m_model.take(module.saved, true);
    }

private:
    CausalLm &m_model;
    bool m_full;
};

CausalLm::CausalLm(Tape &tape, const ModelConfig &config, const NetworkOptions &options)
    : m_tape(tape)
    , m_options(options)
    , m_model(makeDecoderModel(config, options.attention, options.transformers))
{
    const auto visitAll = [this](ModuleVisitor &visitor) { visit(visitor); };
    if (options.method.kind == MethodKind::Qlora)
        m_quantizer.emplace(tape, options.method.quantization, options.weights, options.compute, options.gpu,
                            gptqLibrary(options.transformers));
    m_model->build(Builder(tape, options.weights, m_quantizer ? &*m_quantizer : nullptr));
    // The output head stays as it is. A tied one exists for an instant, before it is given the embedding's weight; a
    // quantised model's does so on the host.
    if (config.tiedEmbeddings && m_quantizer)
        m_head.names = headNames;
    else
        m_head = Builder(tape, options.weights).linear(headNames, config.embeddingWidth, config.vocabSize, config.headBias);
    m_head.isHead = true;
    if (config.tiedEmbeddings)
        m_head.weight = m_model->embeddingWeight();
    if (config.tiedEmbeddings && m_head.bias) { // _tie_embedding_weights pads the bias to the embedding's length
        Tape::Scope scope(tape, headNames.self);
        m_head.bias = Builder(tape, options.weights).parameter({config.vocabSize}, "aten.constant_pad_nd.default");
    }
    if (m_quantizer && options.method.kbitPreparation && options.method.quantization != Quantization::GptqInt4)
        prepareForKbitTraining(tape, visitAll);
    // PEFT's preparation checkpoints too, and from transformers 5 on that sets the embedding's hook, before adapters come.
    m_model->embedding().wrappedRequiresGrad = m_quantizer && options.method.kbitPreparation &&
                                               options.checkpointing == Checkpointing::Full && options.transformers >= Version{5, 0};
    if (options.kernels == Kernels::Liger)
        applyLiger(*findLigerPatch(config.modelType), options.gpu.multiprocessors, visitAll);
    if (options.method.kind != MethodKind::Full)
        addAdapters(tape, visitAll, options.method, config, options.transformers);
    ParameterCollector collector(*this);
    visit(collector);
}

void CausalLm::visit(ModuleVisitor &visitor)
{
    m_model->visit(visitor);
    visitor.linear(m_head);
}

void CausalLm::take(const Tensor &parameter, bool trainable, std::int64_t elements)
{
    const bool tied = parameter && !m_parameters.empty() && m_parameters.front().impl() == parameter.impl();
    if (!parameter || tied) // a tied head is the embedding, the first parameter
        return;
    parameter->requiresGrad = trainable;
    m_parameters.push_back(parameter);
    m_parameterElements.push_back(elements);
    m_parameterCount = checkedAdd(m_parameterCount, elements);
    if (trainable) {
        m_trainable.push_back(parameter);
        m_trainableCount = checkedAdd(m_trainableCount, elements);
    }
}

Tensor CausalLm::callLayer(const LayerFunction &layer, const Tensor &input, Tensor &besides)
{
    if (!isCheckpointed(m_options.checkpointing, m_options.selective, m_tape.layer()))
        return layer(input, besides);
    if (m_options.reentrant)
        return m_tape.checkpointReentrant([layer](std::span<const Tensor> inputs, Tensor &more) { return layer(inputs.front(), more); },
                                          {input}, &besides);
    // What the first run returns besides goes out with its output; what the second does goes nowhere.
    const auto firstRun = std::make_shared<Tensor *>(&besides);
    Tensor output = m_tape.checkpoint(
        [layer, firstRun](const Tensor &again) {
            Tensor more;
            Tensor hidden = layer(again, more);
            if (*firstRun)
                **firstRun = std::move(more);
            return hidden;
        },
        input, makeKeptResultPolicy(m_options.selective));
    *firstRun = nullptr;
    return output;
}

/// loss_utils.py: ForCausalLMLoss.
Tensor CausalLm::loss(Tensor &logits, const Tensor &labels)
{
    const std::int64_t batch = labels.size(0), length = labels.size(1);
    if (m_options.transformers <= Version{4, 48} && length > 1)
        return lossOfShiftedLogits(logits, labels);
    const Tensor upcast = to(logits, DType::Float32);
    Tensor padded = m_tape.empty({batch, length + 1}, DType::Int64, "aten.constant_pad_nd.default");
    // labels[..., 1:].contiguous(): a copy wherever a row has a neighbour or was shifted
    Tensor shifted = contiguous(m_tape.view(padded, {batch, length}, contiguousStrides({batch, length + 1})));
    const std::int64_t rows = checkedMultiply(batch, length);
    return nllLoss(logSoftmax(view(upcast, {rows, upcast.size(-1)})), view(shifted, {rows}));
}

/// Up to 4.48 the logits were shifted instead of the labels: one more copy of them, padded again in backward. Up to 4.46 the
/// model itself upcast its logits, and returned them so (LlamaForCausalLM.forward). GPT-2 and its likes did not upcast at all
/// (GPT2LMHeadModel.forward, GPTBigCodeForCausalLM.forward, GPTNeoXForCausalLM.forward).
Tensor CausalLm::lossOfShiftedLogits(Tensor &logits, const Tensor &labels)
{
    const std::int64_t batch = labels.size(0), length = labels.size(1), rows = checkedMultiply(batch, length - 1);
    const Tensor all = findModelFamily(m_model->config().modelType)->upcastsLogits ? to(logits, DType::Float32) : logits;
    if (m_options.transformers <= Version{4, 46})
        logits = all;
    const Tensor shifted = contiguous(sliceRows(all, length - 1));
    const Tensor target = contiguous(m_tape.view(labels, {batch, length - 1}, contiguousStrides({batch, length})));
    const Tensor flat = view(shifted, {rows, shifted.size(-1)});
    // cross_entropy_loss names the logits' own dtype (ATen/native/LossNLL.cpp), which autocast leaves to log_softmax
    // (autocast_mode.h: fp32_set_opt_dtype); nll_loss is on its list of operators in fp32.
    Tensor probabilities = logSoftmax(flat);
    if (m_tape.autocast())
        probabilities = to(probabilities, DType::Float32);
    return nllLoss(std::move(probabilities), view(target, {rows}));
}

CausalLmOutput CausalLm::forward(const Tensor &inputIds, const Tensor &labels)
{
    // From version 5 on gradient_checkpointing_enable() calls enable_input_require_grads(), whatever is trained; before,
    // PEFT did so for reentrant checkpointing, which needs it.
    const bool inputsRequireGrad =
        checkpointsLayers(m_options.checkpointing, m_options.selective) &&
        (m_options.transformers >= Version{5, 0} || (m_options.reentrant && m_options.method.kind != MethodKind::Full));
    // PeftModel and LoraModel around it are modules too.
    ModuleHooks *hooks = m_tape.moduleHooks();
    std::vector<ModuleKey> outer;
    if (hooks && m_options.method.kind != MethodKind::Full)
        outer = {{"PeftModel", -1, Whole}, {"LoraModel", -1, Whole}};
    if (hooks)
        outer.push_back({"CausalLm", -1, Whole});
    for (const ModuleKey &key : outer)
        hooks->before(key, {});
    CausalLmOutput output;
    LayerCall call{[this](const LayerFunction &layer, const Tensor &input, Tensor &besides) { return callLayer(layer, input, besides); }};
    // Under checkpointing every model turns its cache off, but for GPT-BigCode before version 4.53, whose forward does not
    // (modeling_gpt_bigcode.py, 4.48.3, lines 971 to 1010) and which nobody tells to: the Trainer passes no use_cache.
    if (checkpointsLayers(m_options.checkpointing, m_options.selective) && isOldGptBigCode(m_model->config(), m_options.transformers))
        call.cache = &output.cache;
    if (m_options.selective.policy == SelectivePolicy::Megatron)
        call.core = m_options.reentrant ? CoreCheckpoint::Reentrant : CoreCheckpoint::NonReentrant;
    Tensor hidden = m_model->forward(inputIds, call, inputsRequireGrad);
    switch (m_options.loss) {
    case LossKind::Logits:
        output.logits = m_model->finishLogits(m_head.forward(hidden));
        output.loss = loss(output.logits, labels);
        break;
    case LossKind::Chunked: output.loss = chunkedLoss(m_head, hidden, labels); break;
    case LossKind::FusedLinear:
        output.loss = fusedLinearLoss(m_head, hidden, labels, m_options.gpu, findLigerPatch(m_model->config().modelType)->lossBudget);
        break;
    }
    for (auto key = outer.rbegin(); key != outer.rend(); ++key) {
        hooks->after(*key);
        output.loss = hooks->result(*key, output.loss);
        if (output.logits)
            output.logits = hooks->result(*key, output.logits);
    }
    return output;
}

} // namespace headroom::network
