// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// PEFT: peft/mapping_func.py, tuners/lora/model.py, utils/other.py (0.21).
#include "core/network/adapters.h"

#include "core/model/parameters.h"
#include "core/network/adapter_targets.h"
#include "core/network/decoder_model.h"
#include "core/network/dora.h"

#include <algorithm>

namespace headroom::network {

using namespace autograd;

namespace {

template<typename Name>
bool anyOf(const std::vector<Name> &names, const std::function<bool(std::string_view)> &rule)
{
    return std::any_of(names.begin(), names.end(), rule);
}

/// The modules of a model by name, each name once.
class NameCollector : public ModuleVisitor
{
public:
    std::vector<std::string_view> linears, embeddings, others;
    std::vector<std::string_view> holders; ///< modules of their own kind that hold parameters: routers, experts
    std::vector<std::string> containers;   ///< what holds the layers: "model", "model.layers"

    /// Whether `rule` holds for a module that PEFT does not adapt: a norm, a module that holds others, one without parameters.
    bool anyOther(const std::function<bool(std::string_view)> &rule) const
    {
        constexpr std::string_view withoutParameters[] = {"rotary_emb", "act_fn", "activation", "act", "attn_dropout", "resid_dropout"};
        if (std::any_of(std::begin(withoutParameters), std::end(withoutParameters), rule) || anyOf(containers, rule))
            return true;
        for (const std::vector<std::string_view> *names : {&others, &holders, &linears, &embeddings})
            for (std::string_view name : *names) {
                if ((names == &others || names == &holders) && rule(name))
                    return true;
                for (std::size_t dot = name.rfind('.'); dot != std::string_view::npos; dot = name.rfind('.')) {
                    name = name.substr(0, dot);
                    if (rule(name))
                        return true;
                }
            }
        return false;
    }

    /// Whether `rule` holds for a Linear, an embedding or a norm.
    bool names(const std::function<bool(std::string_view)> &rule) const
    {
        return anyOf(linears, rule) || anyOf(embeddings, rule) || anyOf(others, rule);
    }

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

Issue issue(const char *where, std::string what, std::string hint) { return {{}, 0, where, std::move(what), std::move(hint)}; }

/// The modules that hold a parameter, by their whole paths, the innermost first: "model.layers.0.mlp", "model.layers.0", ...
/// Ends where `visit` returns true, and says whether it did.
template<typename Visit>
bool anyHolder(const Parameter &parameter, Visit visit)
{
    std::string_view path = parameter.name;
    for (std::size_t dot = path.rfind('.'); dot != std::string_view::npos; dot = path.rfind('.')) {
        path = path.substr(0, dot);
        if (visit(path))
            return true;
    }
    return false;
}

/// Whether a name that no module has by itself means modules of single layers: PEFT compares it with whole paths.
bool namesOneLayer(const ModelConfig &config, const std::string &name, const std::function<bool(std::string_view)> &rule)
{
    if (name.find_first_of("0123456789") == std::string::npos)
        return false;
    const std::vector<Parameter> parameters = parameterInventory(config);
    return std::any_of(parameters.begin(), parameters.end(),
                       [&](const Parameter &parameter) { return parameter.layer >= 0 && anyHolder(parameter, rule); });
}

/// Nothing where the model is too large to be built, which building it proper says.
std::optional<NameCollector> namesOf(const ModelConfig &config, Version transformers)
{
    NameCollector modules;
    try {
        Tape tape;
        // Equal layers have modules of the same names.
        const ModelConfig built = config.uniformLayers() ? config.withLayers(1) : config;
        const std::unique_ptr<DecoderModel> model = makeDecoderModel(built, AttentionKind::Eager, transformers);
        model->build(Builder(tape, DType::BFloat16));
        model->visit(modules);
        modules.linears.push_back("lm_head");
        // What lies above the number of a layer.
        const std::vector<Parameter> parameters = parameterInventory(config.withLayers(1));
        const auto layered = std::find_if(parameters.begin(), parameters.end(), [](const Parameter &p) { return p.layer >= 0; });
        if (layered != parameters.end()) {
            const std::size_t number = layered->name.find(".0.");
            anyHolder(*layered, [&](std::string_view path) {
                if (path.size() <= number)
                    modules.containers.emplace_back(path);
                return false;
            });
        }
    } catch (const SizeOverflow &) {
        return {};
    }
    return modules;
}

/// The Linears and embeddings that targets name; PEFT stops where there is none, and where one names another kind of module.
std::optional<Issue> checkTargets(const NameCollector &modules, const ModelConfig &config, const Method &method,
                                  const AdapterTargets &targets)
{
    for (const std::string &name : method.targets.allLinear ? std::vector<std::string>{} : method.targets.names) {
        const auto matches = [&](std::string_view module) { return namesModule(module, name); };
        if (targets.meansParameter(name))
            continue;
        if (!modules.names(matches) && namesOneLayer(config, name, matches))
            return issue("method.targets",
                         "\"" + name + "\" names modules of one layer, which is not executed by this version's engine yet",
                         "name modules that every layer has: " + listed(modules.linears));
        if (modules.anyOther(matches))
            return issue("method.targets", "\"" + name + "\" is neither a Linear nor an embedding: PEFT cannot adapt it, and stops",
                         "use names among " + listed(modules.linears));
    }
    if (!method.targets.allLinear && method.targets.names.empty())
        return issue("method.targets", "the list of target modules is empty",
                     "write \"all-linear\" or at least one name, for example [\"" +
                         std::string(modules.linears.front().substr(modules.linears.front().rfind('.') + 1)) + "\"]");
    if (!targets.parameters().empty() || anyOf(modules.linears, [&](std::string_view module) { return targets.takes(module); }) ||
        anyOf(modules.embeddings, [&](std::string_view module) { return targets.takesEmbedding(module); }))
        return {};
    const bool saved = method.targets.allLinear || anyOf(modules.linears, [&](std::string_view module) {
                           return std::any_of(method.targets.names.begin(), method.targets.names.end(),
                                              [&](const std::string &name) { return namesModule(module, name); });
                       });
    return issue("method.targets",
                 saved ? "every module that is named is one to save: PEFT finds nothing to adapt, and stops"
                       : "the model has no Linear called \"" + method.targets.names.front() + "\"",
                 "use names among " + listed(modules.linears));
}

} // namespace

PassedNames namesPassedBy(const ModelConfig &config, const Method &method, Version transformers)
{
    PassedNames passed;
    const bool named = !method.targets.allLinear || !method.modulesToSave.empty();
    const std::optional<NameCollector> modules = method.kind == MethodKind::Full || !named ? std::nullopt : namesOf(config, transformers);
    if (!modules)
        return passed;
    const AdapterTargets targets(config, method, transformers);
    for (const std::string &name : method.targets.allLinear ? std::vector<std::string>{} : method.targets.names)
        if (!targets.meansParameter(name) && !modules->names([&](std::string_view module) { return namesModule(module, name); }))
            passed.targets.push_back(name);
    for (const std::string &name : method.modulesToSave)
        if (!modules->names([&](std::string_view module) { return isSaved(module, {name}); }))
            passed.modulesToSave.push_back(name);
    return passed;
}

std::optional<Issue> checkAdapters(const ModelConfig &config, const Method &method, Version transformers)
{
    if (method.kind == MethodKind::Full)
        return {};
    const std::optional<NameCollector> collected = namesOf(config, transformers);
    if (!collected)
        return {};
    const NameCollector &modules = *collected;
    const AdapterTargets targets(config, method, transformers);
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
    if (std::optional<Issue> wrong = checkTargets(modules, config, method, targets))
        return wrong;
    for (const std::string &name : method.modulesToSave) {
        const auto matches = [&](std::string_view module) { return isSaved(module, {name}); };
        if (!name.empty() && anyOf(modules.holders, matches))
            return issue("method.modules_to_save",
                         "copies of \"" + name + "\", a module of its own kind, are not executed by this version's engine yet",
                         "name Linears, embeddings or norms, for example lm_head");
        const bool found = modules.names(matches);
        if (!found && namesOneLayer(config, name, matches))
            return issue("method.modules_to_save",
                         "\"" + name + "\" names modules of one layer, which is not executed by this version's engine yet",
                         "name Linears, embeddings or norms that every layer has");
        if (name.empty() || (!found && modules.anyOther(matches)))
            return issue("method.modules_to_save", "there is no Linear, embedding or norm whose name ends in \"" + name + "\"",
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

} // namespace headroom::network
