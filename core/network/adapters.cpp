// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// PEFT: peft/mapping_func.py, tuners/lora/model.py, utils/other.py (0.21).
#include "core/network/adapters.h"

#include "core/network/adapter_targets.h"
#include "core/network/decoder_model.h"
#include "core/network/dora.h"

#include <algorithm>

namespace headroom::network {

using namespace autograd;

namespace {

/// PEFT's rule for modules_to_save: any module whose full name ends so (peft/utils/other.py: _set_trainable).
bool isSaved(std::string_view module, const std::vector<std::string> &names)
{
    return std::any_of(names.begin(), names.end(), [&](const std::string &name) { return module.ends_with(name); });
}

/// The modules of a model by name, each name once.
class NameCollector : public ModuleVisitor
{
public:
    std::vector<std::string_view> linears, embeddings, others;
    std::vector<std::string_view> holders; ///< modules of their own kind that hold parameters: routers, experts

    void linear(Linear &module) override { add(linears, module.names.self); }
    void norm(RmsNorm &module) override { add(others, module.name); }
    void layerNorm(LayerNorm &module) override { add(others, module.name); }
    void embedding(Embedding &module) override { add(embeddings, module.name); }
    void parameter(Tensor &, const char *module) override { add(holders, module); }

private:
    static void add(std::vector<std::string_view> &names, std::string_view name)
    {
        if (std::find(names.begin(), names.end(), name) == names.end())
            names.push_back(name);
    }
};

/// "q_proj, k_proj, ... or lm_head": what follows each name's last dot.
std::string listed(const std::vector<std::string_view> &modules)
{
    std::string text;
    for (std::string_view module : modules)
        text += (text.empty() ? "" : ", ") + std::string(module.substr(module.rfind('.') + 1));
    return text;
}

bool anyOf(const std::vector<std::string_view> &modules, const std::function<bool(std::string_view)> &rule)
{
    return std::any_of(modules.begin(), modules.end(), rule);
}

Issue issue(const char *where, std::string what, std::string hint) { return {{}, 0, where, std::move(what), std::move(hint)}; }

} // namespace

std::optional<Issue> checkAdapters(const ModelConfig &config, const Method &method, Version transformers)
{
    if (method.kind == MethodKind::Full)
        return {};
    NameCollector modules;
    try {
        Tape tape;
        // Equal layers have modules of the same names.
        const ModelConfig built = config.uniformLayers() ? config.withLayers(1) : config;
        const std::unique_ptr<DecoderModel> model = makeDecoderModel(built, AttentionKind::Eager, transformers);
        model->build(Builder(tape, DType::BFloat16));
        model->visit(modules);
        modules.linears.push_back("lm_head");
    } catch (const SizeOverflow &) {
        return {}; // building the model proper says so
    }

    const AdapterTargets targets(config, method.targets, transformers);
    if (!targets.parameters().empty() && (method.dora || method.dropout > 0.0))
        return issue(method.dora ? "method.dora" : "method.dropout",
                     method.dora ? "PEFT has no DoRA over experts that are one tensor, and stops"
                                 : "PEFT has no dropout over experts that are one tensor, and stops",
                     R"(unset it, or name the projections of attention alone: ["q_proj", "k_proj", "v_proj", "o_proj"])");
    for (const ParameterTarget &target : targets.parameters())
        if (!target.complete)
            return issue("method.targets",
                         "PEFT cannot adapt one of the projections that are joined in " + std::string(target.name) + ", and stops",
                         config.modelType == "mixtral" ? "name w1 and w3 together" : "name gate_proj and up_proj together");
    for (const std::string &name : method.targets.allLinear ? std::vector<std::string>{} : method.targets.names) {
        if (targets.meansParameter(name))
            continue;
        const auto matches = [&](std::string_view module) { return namesModule(module, name); };
        const bool embedding = anyOf(modules.embeddings, matches);
        if (embedding && method.dora)
            return issue("method.dora", "DoRA on an embedding is not executed yet",
                         "leave " + listed(modules.embeddings) + " out, or set method.dora to false");
        if (!embedding && !anyOf(modules.linears, matches))
            return issue("method.targets", "the model has no Linear called \"" + name + "\"", "use names among " + listed(modules.linears));
    }
    if (!method.targets.allLinear && method.targets.names.empty())
        return issue("method.targets", "the list of target modules is empty",
                     "write \"all-linear\" or at least one name, for example [\"" +
                         std::string(modules.linears.front().substr(modules.linears.front().rfind('.') + 1)) + "\"]");
    for (const std::string &name : method.modulesToSave) {
        const auto matches = [&](std::string_view module) { return isSaved(module, {name}); };
        if (!name.empty() && anyOf(modules.holders, matches))
            return issue("method.modules_to_save",
                         "copies of \"" + name + "\", a module of its own kind, are not executed by this version's engine yet",
                         "name Linears, embeddings or norms, for example lm_head");
        if (name.empty() || !(anyOf(modules.linears, matches) || anyOf(modules.embeddings, matches) || anyOf(modules.others, matches)))
            return issue("method.modules_to_save", "the model has no module whose name ends in \"" + name + "\"",
                         "use for example " + listed(modules.embeddings) + ", lm_head or " + listed({modules.others.back()}));
        if (anyOf(modules.linears, [&](std::string_view module) { return matches(module) && targets.takes(module); }) ||
            anyOf(modules.embeddings, [&](std::string_view module) { return matches(module) && targets.takesEmbedding(module); }))
            return issue("method.modules_to_save", "\"" + name + "\" is both a LoRA target and a module to save",
                         "name it in one of the two lists only");
        const auto quantised = [&](std::string_view module) { return module != "lm_head" && matches(module); };
        if (method.kind == MethodKind::Qlora && anyOf(modules.linears, quantised))
            return issue("method.modules_to_save", "\"" + name + "\" is quantised and cannot be trained whole",
                         "name modules that stay unquantised: " + listed(modules.embeddings) + ", lm_head or norms");
    }
    return {};
}

namespace {

constexpr const char *embeddingAdapter = "lora_embedding";

class AdapterMaker : public ModuleVisitor
{
public:
    AdapterMaker(Tape &tape, const Method &method, const AdapterTargets &targets)
        : m_tape(tape)
        , m_method(method)
        , m_targets(targets)
    {}

    void linear(Linear &module) override
    {
        if (!m_targets.takes(module.names.self))
            return;
        LoraAdapter adapter;
        adapter.dropout = m_method.dropout;
        const std::int64_t in = module.inFeatures(), out = module.outFeatures();
        const DType dtype = baseDtype(module);
        {
            Tape::Scope scope(m_tape, module.names.a);
            adapter.a = m_tape.empty({m_method.rank, in}, dtype, "aten._to_copy.default");
        }
        {
            Tape::Scope scope(m_tape, module.names.b);
            adapter.b = m_tape.empty({out, m_method.rank}, dtype, "aten._to_copy.default");
        }
        module.lora = std::move(adapter);
        if (m_method.dora) {
            Tape::Scope scope(m_tape, module.names.magnitude);
            module.lora->magnitude = initialMagnitude(m_tape, module);
        }
    }

    void embedding(Embedding &module) override
    {
        if (!m_targets.takesEmbedding(module.name))
            return;
        LoraAdapter adapter;
        Tape::Scope scope(m_tape, embeddingAdapter);
        adapter.a = m_tape.empty({m_method.rank, module.weight.size(0)}, module.weight.dtype(), "aten._to_copy.default");
        adapter.b = m_tape.empty({module.weight.size(1), m_method.rank}, module.weight.dtype(), "aten._to_copy.default");
        module.lora = std::move(adapter);
    }

private:
    /// tuners_utils.py: _get_base_layer_device_and_dtype; an integer dtype is not taken over.
    static DType baseDtype(const Linear &module)
    {
        if (!module.quantized)
            return module.weight.dtype();
        if (module.quantized->gptq()) // AutoGPTQ's module has a qweight only, GPTQModel's says the dtype of its scales
            return module.quantized->library == GptqLibrary::AutoGptq ? DType::Float32 : module.quantized->scales.dtype();
        return module.quantized->fourBit() ? module.quantized->compute : DType::Float32;
    }

    Tape &m_tape;
    const Method &m_method;
    const AdapterTargets &m_targets;
};

/// target_parameters, after all modules.
class ParameterAdapterMaker : public ModuleVisitor
{
public:
    ParameterAdapterMaker(Tape &tape, std::int64_t rank, const AdapterTargets &targets)
        : m_tape(tape)
        , m_rank(rank)
        , m_targets(targets)
    {}

    void adaptable(AdaptableParameter &parameter) override
    {
        const ParameterTarget *target = m_targets.parameter(parameter.names.name);
        if (target == nullptr)
            return;
        const std::int64_t ranks = checkedMultiply(checkedMultiply(m_rank, target->ranks), parameter.experts());
        parameter.a = make({ranks, parameter.inFeatures()}, parameter, parameter.names.a);
        parameter.b = make({parameter.outFeatures(), ranks}, parameter, parameter.names.b);
    }

private:
    Tensor make(const Dims &sizes, const AdaptableParameter &parameter, const char *name)
    {
        Tape::Scope scope(m_tape, name);
        return m_tape.empty(sizes, parameter.weight.dtype(), "aten._to_copy.default");
    }

    Tape &m_tape;
    std::int64_t m_rank;
    const AdapterTargets &m_targets;
};

/// modules_to_save: the module is copied, the copy trained, the original kept.
class SavedCopies : public ModuleVisitor
{
public:
    SavedCopies(Tape &tape, const std::vector<std::string> &names)
        : m_tape(tape)
        , m_names(names)
    {}

    void linear(Linear &module) override
    {
        if (!isSaved(module.names.self, m_names))
            return;
        module.saved = copyOf(module.weight, module.names.self);
        module.savedBias = copyOf(module.bias, module.names.self);
    }
    void norm(RmsNorm &module) override
    {
        if (isSaved(module.name, m_names))
            module.saved = copyOf(module.weight, module.name);
    }
    void layerNorm(LayerNorm &module) override
    {
        if (!isSaved(module.name, m_names))
            return;
        module.saved = copyOf(module.weight, module.name);
        module.savedBias = copyOf(module.bias, module.name);
    }
    void embedding(Embedding &module) override
    {
        if (!isSaved(module.name, m_names))
            return;
        module.saved = copyOf(module.weight, module.name);
        module.savedScale = copyOf(module.scale, module.name);
        if (module.savedScale)
            module.savedScale->requiresGrad = false; // a buffer
    }

private:
    Tensor copyOf(const Tensor &original, const char *name)
    {
        if (!original)
            return {};
        Tape::Scope scope(m_tape, name);
        Tensor copy = m_tape.make(original.sizes(), original.strides(), original.dtype(), "aten.clone.default");
        m_tape.setRole(copy, Role::Parameter);
        copy->requiresGrad = true;
        return copy;
    }

    Tape &m_tape;
    const std::vector<std::string> &m_names;
};

/// autocast_adapter_dtype.
class AdapterCast : public ModuleVisitor
{
public:
    AdapterCast(Tape &tape, DType dtype)
        : m_tape(tape)
        , m_dtype(dtype)
    {}

    void linear(Linear &module) override
    {
        if (!module.lora)
            return;
        cast(module.lora->a, module.names.a);
        cast(module.lora->b, module.names.b);
        if (module.lora->magnitude)
            cast(module.lora->magnitude, module.names.magnitude);
    }
    void embedding(Embedding &module) override
    {
        if (!module.lora)
            return;
        cast(module.lora->a, embeddingAdapter);
        cast(module.lora->b, embeddingAdapter);
    }
    void adaptable(AdaptableParameter &parameter) override
    {
        if (!parameter.a)
            return;
        cast(parameter.a, parameter.names.a);
        cast(parameter.b, parameter.names.b);
    }

private:
    void cast(Tensor &t, const char *name)
    {
        Tape::Scope scope(m_tape, name);
        if (t.dtype() != m_dtype)
            t = m_tape.empty(t.sizes(), m_dtype, "aten._to_copy.default");
        m_tape.setRole(t, Role::Parameter);
        t->requiresGrad = true;
    }

    Tape &m_tape;
    DType m_dtype;
};

} // namespace

void addAdapters(Tape &tape, const std::function<void(ModuleVisitor &)> &visit, const Method &method, const ModelConfig &config,
                 Version transformers)
{
    const AdapterTargets targets(config, method.targets, transformers);
    AdapterMaker maker(tape, method, targets);
    visit(maker);
    ParameterAdapterMaker parameters(tape, method.rank, targets);
    visit(parameters);
    SavedCopies copies(tape, method.modulesToSave);
    visit(copies);
    AdapterCast cast(tape, method.adapterDtype);
    visit(cast);
}

} // namespace headroom::network
