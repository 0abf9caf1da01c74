// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Building the model: AutoModelForCausalLM.from_config, then PEFT's get_peft_model, tensor by tensor.
#include "core/network/causal_lm.h"

#include <algorithm>

namespace headroom::network {

using namespace autograd;

namespace {

constexpr LinearNames qNames = HEADROOM_LINEAR_NAMES("self_attn.q_proj");
constexpr LinearNames kNames = HEADROOM_LINEAR_NAMES("self_attn.k_proj");
constexpr LinearNames vNames = HEADROOM_LINEAR_NAMES("self_attn.v_proj");
constexpr LinearNames oNames = HEADROOM_LINEAR_NAMES("self_attn.o_proj");
constexpr LinearNames gateNames = HEADROOM_LINEAR_NAMES("mlp.gate_proj");
constexpr LinearNames upNames = HEADROOM_LINEAR_NAMES("mlp.up_proj");
constexpr LinearNames downNames = HEADROOM_LINEAR_NAMES("mlp.down_proj");
constexpr LinearNames headNames = HEADROOM_LINEAR_NAMES("lm_head");

/// PEFT's rule for target_modules: the name itself or what follows its last dot.
bool isTarget(std::string_view module, const Targets &targets)
{
    if (targets.allLinear)
        return module != "lm_head";
    return std::any_of(targets.names.begin(), targets.names.end(), [&](const std::string &name) {
        return module == name || (module.size() > name.size() && module.ends_with(name) && module[module.size() - name.size() - 1] == '.');
    });
}

/// PEFT's rule for modules_to_save: any module whose full name ends so (peft/utils/other.py: _set_trainable).
bool isSaved(std::string_view module, const std::vector<std::string> &names)
{
    return std::any_of(names.begin(), names.end(), [&](const std::string &name) { return module.ends_with(name); });
}

constexpr std::string_view linearModules[] = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
                                              "mlp.gate_proj",    "mlp.up_proj",      "mlp.down_proj",    "lm_head"};
constexpr std::string_view otherModules[] = {"model.embed_tokens", "input_layernorm", "post_attention_layernorm", "model.norm"};
constexpr std::string_view headNorms[] = {"self_attn.q_norm", "self_attn.k_norm"};

} // namespace

std::optional<Issue> CausalLm::check(const ModelConfig &config, const Method &method)
{
    if (method.kind == MethodKind::Full)
        return {};
    const auto listed = [](auto begin, auto end, const std::string &name, auto rule) { return std::any_of(begin, end, [&](std::string_view m) { return rule(m, name); }); };
    const auto target = [](std::string_view module, const std::string &name) { return isTarget(module, {false, {name}}); };
    const auto saved = [](std::string_view module, const std::string &name) { return isSaved(module, {name}); };
    for (const std::string &name : method.targets.allLinear ? std::vector<std::string>{} : method.targets.names) {
        if (target("model.embed_tokens", name))
            return Issue{{}, 0, "method.targets", "LoRA on the embedding is not executed yet", "leave embed_tokens out, or train it whole with method.modules_to_save"};
        if (!listed(std::begin(linearModules), std::end(linearModules), name, target))
            return Issue{{}, 0, "method.targets", "the model has no Linear called \"" + name + "\"", "use names among q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj, lm_head"};
        if (target("lm_head", name) && config.tiedEmbeddings)
            return Issue{{}, 0, "method.targets", "LoRA on an output head that is tied to the embedding is not executed yet", "leave lm_head out"};
    }
    if (!method.targets.allLinear && method.targets.names.empty())
        return Issue{{}, 0, "method.targets", "the list of target modules is empty", "write \"all-linear\" or at least one name, for example [\"q_proj\", \"v_proj\"]"};
    for (const std::string &name : method.modulesToSave) {
        const bool known = !name.empty() && (listed(std::begin(linearModules), std::end(linearModules), name, saved) || listed(std::begin(otherModules), std::end(otherModules), name, saved)
                           || (config.queryKeyNorm && listed(std::begin(headNorms), std::end(headNorms), name, saved)));
        if (!known)
            return Issue{{}, 0, "method.modules_to_save", "the model has no module whose name ends in \"" + name + "\"", "use for example embed_tokens, lm_head or norm"};
        for (std::string_view module : linearModules)
            if (isSaved(module, {name}) && isTarget(module, method.targets))
                return Issue{{}, 0, "method.modules_to_save", "\"" + name + "\" is both a LoRA target and a module to save", "name it in one of the two lists only"};
    }
    return {};
}

CausalLm::CausalLm(Tape &tape, const ModelConfig &config, const NetworkOptions &options)
    : m_tape(tape)
    , m_config(config)
    , m_options(options)
    , m_norm{"model.norm", {}, {}}
    , m_head{headNames, {}, {}, {}, {}, {}}
{
    buildModel();
    if (m_options.method.kind == MethodKind::Lora)
        addAdapters();
    collectParameters();
}

Tensor CausalLm::parameter(const Dims &sizes, const char *op)
{
    Tensor t = m_tape.empty(sizes, m_options.weights, op);
    m_tape.setRole(t, Role::Parameter);
    return t;
}

Linear CausalLm::makeLinear(const LinearNames &names, std::int64_t in, std::int64_t out, bool bias)
{
    Tape::Scope scope(m_tape, names.self);
    Linear linear{names, {}, {}, {}, {}, {}};
    linear.weight = parameter({out, in}, "aten.empty.memory_format");
    if (bias)
        linear.bias = parameter({out}, "aten.empty.memory_format");
    return linear;
}

void CausalLm::buildModel()
{
    const ModelConfig &c = m_config;
    {
        Tape::Scope scope(m_tape, "model.embed_tokens");
        m_embedding.weight = parameter({c.vocabSize, c.hiddenSize}, "aten.empty.memory_format");
    }
    const auto norm = [&](const char *name, std::int64_t width) {
        Tape::Scope scope(m_tape, name);
        return RmsNorm{name, parameter({width}, "aten.ones.default"), {}};
    };
    const std::int64_t queries = checkedMultiply(c.heads, c.headDim), keys = checkedMultiply(c.keyValueHeads, c.headDim);
    m_layers.reserve(static_cast<std::size_t>(c.layers));
    for (std::int64_t i = 0; i < c.layers; ++i) {
        Tape::Scope scope(m_tape, "", static_cast<std::int16_t>(i));
        DecoderLayer &layer = m_layers.emplace_back();
        layer.index = static_cast<std::int16_t>(i);
        Attention &a = layer.attention;
        a.q = makeLinear(qNames, c.hiddenSize, queries, c.queryKeyValueBias);
        a.k = makeLinear(kNames, c.hiddenSize, keys, c.queryKeyValueBias);
        a.v = makeLinear(vNames, c.hiddenSize, keys, c.queryKeyValueBias);
        a.o = makeLinear(oNames, queries, c.hiddenSize, c.outputBias);
        if (c.queryKeyNorm) {
            a.qNorm = norm("self_attn.q_norm", c.headDim);
            a.kNorm = norm("self_attn.k_norm", c.headDim);
        }
        a.heads = c.heads;
        a.keyValueHeads = c.keyValueHeads;
        a.headDim = c.headDim;
        a.dropout = c.attentionDropout;
        a.kind = m_options.attention;
        layer.mlp.gate = makeLinear(gateNames, c.hiddenSize, c.intermediateSize, c.mlpBias);
        layer.mlp.up = makeLinear(upNames, c.hiddenSize, c.intermediateSize, c.mlpBias);
        layer.mlp.down = makeLinear(downNames, c.intermediateSize, c.hiddenSize, c.mlpBias);
        layer.inputNorm = norm("input_layernorm", c.hiddenSize);
        layer.postAttentionNorm = norm("post_attention_layernorm", c.hiddenSize);
    }
    m_norm = norm("model.norm", c.hiddenSize);
    {
        // inv_freq and original_inv_freq; what other kinds of rope compute on the way is of the same 512 bytes
        Tape::Scope scope(m_tape, "model.rotary_emb");
        const Dims half{c.headDim / 2};
        Tensor range = m_tape.empty(half, DType::Float32, "aten.arange.start_step");
        Tensor exponent = m_tape.empty(half, DType::Float32, "aten.div.Tensor");
        range.reset();
        Tensor power = m_tape.empty(half, DType::Float32, "aten.pow.Scalar");
        exponent.reset();
        Tensor reciprocal = m_tape.empty(half, DType::Float32, "aten.reciprocal.default");
        m_inverseFrequencies = m_tape.empty(half, DType::Float32, "aten.mul.Tensor");
        reciprocal.reset();
        power.reset();
        m_originalInverseFrequencies = m_tape.empty(half, DType::Float32, "aten.clone.default");
        m_tape.setRole(m_inverseFrequencies, Role::Parameter);
        m_tape.setRole(m_originalInverseFrequencies, Role::Parameter);
    }
    // A tied head exists for an instant, before it is given the embedding's weight.
    m_head = makeLinear(headNames, c.hiddenSize, c.vocabSize, false);
    if (c.tiedEmbeddings)
        m_head.weight = m_embedding.weight;
}

/// Calls visitor.linear(), .norm() and .embedding() for every module in the order of named_modules().
template<typename Visitor>
void CausalLm::visitModules(Visitor &&visitor)
{
    visitor(m_embedding, "model.embed_tokens");
    for (DecoderLayer &layer : m_layers) {
        Tape::Scope scope(m_tape, "", layer.index);
        for (Linear *linear : {&layer.attention.q, &layer.attention.k, &layer.attention.v, &layer.attention.o})
            visitor(*linear, linear->names.self);
        if (layer.attention.qNorm) {
            visitor(*layer.attention.qNorm, "self_attn.q_norm");
            visitor(*layer.attention.kNorm, "self_attn.k_norm");
        }
        for (Linear *linear : {&layer.mlp.gate, &layer.mlp.up, &layer.mlp.down})
            visitor(*linear, linear->names.self);
        visitor(layer.inputNorm, "input_layernorm");
        visitor(layer.postAttentionNorm, "post_attention_layernorm");
    }
    visitor(m_norm, "model.norm");
    visitor(m_head, "lm_head");
}

namespace {

template<typename OnLinear>
struct LinearVisitor {
    OnLinear onLinear;
    void operator()(Linear &linear, std::string_view name) { onLinear(linear, name); }
    void operator()(RmsNorm &, std::string_view) {}
    void operator()(Embedding &, std::string_view) {}
};
template<typename OnLinear>
LinearVisitor(OnLinear) -> LinearVisitor<OnLinear>;

/// modules_to_save: the module is copied, the copy trained, the original kept.
struct SavedCopies {
    const std::vector<std::string> &names;
    Tape &tape;

    Tensor copyOf(const Tensor &original)
    {
        if (!original)
            return {};
        Tensor copy = tape.make(original.sizes(), original.strides(), original.dtype(), "aten.clone.default");
        tape.setRole(copy, Role::Parameter);
        copy->requiresGrad = true;
        return copy;
    }
    void operator()(Linear &linear, const char *name)
    {
        if (!isSaved(name, names))
            return;
        Tape::Scope scope(tape, name);
        linear.saved = copyOf(linear.weight);
        linear.savedBias = copyOf(linear.bias);
    }
    void operator()(RmsNorm &norm, const char *name)
    {
        if (isSaved(name, names)) {
            Tape::Scope scope(tape, name);
            norm.saved = copyOf(norm.weight);
        }
    }
    void operator()(Embedding &embedding, const char *name)
    {
        if (isSaved(name, names)) {
            Tape::Scope scope(tape, name);
            embedding.saved = copyOf(embedding.weight);
        }
    }
};

} // namespace

void CausalLm::addAdapters()
{
    const Method &method = m_options.method;
    // Born in the base's dtype ...
    visitModules(LinearVisitor{[&](Linear &linear, std::string_view name) {
        if (!isTarget(name, method.targets))
            return;
        LoraAdapter adapter;
        adapter.dropout = method.dropout;
        const std::int64_t in = linear.weight.size(1), out = linear.weight.size(0);
        {
            Tape::Scope scope(m_tape, linear.names.a);
            adapter.a = m_tape.empty({method.rank, in}, m_options.weights, "aten._to_copy.default");
        }
        {
            Tape::Scope scope(m_tape, linear.names.b);
            adapter.b = m_tape.empty({out, method.rank}, m_options.weights, "aten._to_copy.default");
        }
        linear.lora = std::move(adapter);
    }});
    visitModules(SavedCopies{method.modulesToSave, m_tape});
    // ... then cast, one tensor after another (autocast_adapter_dtype)
    visitModules(LinearVisitor{[&](Linear &linear, std::string_view) {
        if (!linear.lora)
            return;
        const auto cast = [&](Tensor &t, const char *name) {
            Tape::Scope scope(m_tape, name);
            if (t.dtype() != method.adapterDtype)
                t = m_tape.empty(t.sizes(), method.adapterDtype, "aten._to_copy.default");
            m_tape.setRole(t, Role::Parameter);
            t->requiresGrad = true;
        };
        cast(linear.lora->a, linear.names.a);
        cast(linear.lora->b, linear.names.b);
    }});
}

void CausalLm::collectParameters()
{
    const bool full = m_options.method.kind == MethodKind::Full;
    const auto take = [&](Tensor &t, bool trainable) {
        if (!t || std::any_of(m_parameters.begin(), m_parameters.begin() + std::min<std::ptrdiff_t>(1, std::ssize(m_parameters)),
                              [&](const Tensor &p) { return p.impl() == t.impl(); }))
            return; // a tied head is the embedding, the first parameter
        t->requiresGrad = trainable;
        m_parameters.push_back(t);
        m_parameterCount = checkedAdd(m_parameterCount, t.sizes().elements());
        if (trainable) {
            m_trainable.push_back(t);
            m_trainableCount = checkedAdd(m_trainableCount, t.sizes().elements());
        }
    };
    const auto visit = [&](auto &module, const char *) {
        using Module = std::remove_cvref_t<decltype(module)>;
        take(module.weight, full);
        if constexpr (std::is_same_v<Module, Linear>) {
            take(module.bias, full);
            if (module.lora) {
                take(module.lora->a, true);
                take(module.lora->b, true);
            }
            take(module.saved, true);
            take(module.savedBias, true);
        } else {
            take(module.saved, true);
        }
    };
    visitModules(visit);
}

} // namespace headroom::network
